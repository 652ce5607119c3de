-- The audit of all processes: one chain of hashes, as package audit describes it. The
-- columns beside the record are for finding and dropping it.
CREATE TABLE audit (
	number  bigint PRIMARY KEY,
	class   text   NOT NULL,         -- call, mark, or the class of a decision
	time    bigint NOT NULL,         -- Unix milliseconds
	who     text COLLATE "C" NOT NULL,
	name    text COLLATE "C" NOT NULL, -- of the skill or tool
	outcome text   NOT NULL,
	salt    bytea,
	record  text   NOT NULL,         -- JSON
	hash    bytea
);

CREATE INDEX audit_by_time ON audit (time, number);
CREATE INDEX audit_by_user ON audit (class, who, time, number);

-- What was dropped: the entries from the first number to the last, whose hash is kept.
CREATE TABLE audit_gaps (
	begins bigint PRIMARY KEY,
	ends   bigint NOT NULL,
	hash   bytea  NOT NULL
);

-- The newest entry. Who adds one has this row to itself until the end of the transaction.
CREATE TABLE audit_head (
	number bigint NOT NULL,
	hash   bytea  NOT NULL
);

INSERT INTO audit_head VALUES (0, decode(repeat('00', 32), 'hex'));
