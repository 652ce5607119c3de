-- Calls, and decisions about calls: one chain of hashes, as package audit describes it. The
-- columns beside the record are for finding and dropping it.
CREATE TABLE audit (
	number  INTEGER PRIMARY KEY,
	class   TEXT NOT NULL,              -- call, mark, or the class of a decision
	time    INTEGER NOT NULL,           -- Unix milliseconds
	who     TEXT NOT NULL,
	name    TEXT NOT NULL,              -- of the skill or tool
	outcome TEXT NOT NULL,
	salt    BLOB,
	record  TEXT NOT NULL,              -- JSON
	hash    BLOB
) STRICT;

CREATE INDEX audit_by_time ON audit (time, number);
CREATE INDEX audit_by_user ON audit (class, who, time, number);

-- What was dropped: the entries from the first number to the last, whose hash is kept.
CREATE TABLE audit_gaps (
	begins INTEGER PRIMARY KEY,
	ends   INTEGER NOT NULL,
	hash   BLOB NOT NULL
) STRICT;

-- The newest entry.
CREATE TABLE audit_head (
	number INTEGER NOT NULL,
	hash   BLOB NOT NULL
) STRICT;

INSERT INTO audit_head VALUES (0, zeroblob(32));
