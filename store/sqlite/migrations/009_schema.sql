-- Conversations.
CREATE TABLE sessions (
	key     TEXT PRIMARY KEY,
	state   TEXT    NOT NULL,           -- session.State as JSON
	created INTEGER NOT NULL,           -- Unix milliseconds
	updated INTEGER NOT NULL,
	open    INTEGER NOT NULL DEFAULT 0  -- something is left to do
) STRICT;

CREATE INDEX sessions_by_update ON sessions (updated DESC, key);
-- Few at any time, so that a start finds them without reading the others.
CREATE INDEX open_sessions ON sessions (updated) WHERE open;
-- Those in which a call waits for an approval, as their state says.
CREATE INDEX asking_sessions ON sessions (updated, key) WHERE open AND instr(state, '"for":"approval"') > 0;

-- The columns behind the message are read from it, take no room and cannot differ from it:
-- to find and to erase what is kept of a person, and for those who look into the file.
CREATE TABLE messages (
	id      INTEGER PRIMARY KEY,        -- in order of arrival
	session TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
	message TEXT NOT NULL,              -- chat.Message as JSON
	role    TEXT AS (message ->> '$.role'),
	time    TEXT AS (message ->> '$.time'),
	user    TEXT AS (message ->> '$.user'),
	channel TEXT AS (message ->> '$.channel')
) STRICT;

CREATE INDEX messages_by_session ON messages (session, id);
CREATE INDEX authors ON messages (session, user, channel) WHERE role = 'user';

-- The pictures of messages: each once, as long as a message refers to it.
CREATE TABLE files (
	sha256 TEXT PRIMARY KEY,            -- of data, in hexadecimal
	data   BLOB NOT NULL
) STRICT;

CREATE TABLE message_files (
	message INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	sha256  TEXT    NOT NULL REFERENCES files (sha256),
	PRIMARY KEY (message, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX messages_by_file ON message_files (sha256);

CREATE TRIGGER unused_files AFTER DELETE ON message_files BEGIN
	DELETE FROM files WHERE sha256 = OLD.sha256 AND NOT EXISTS (SELECT 1 FROM message_files WHERE sha256 = OLD.sha256);
END;

-- Messages that were accepted, until they are answered and the reply is delivered; those with
-- a key a day longer.
CREATE TABLE inbox (
	id       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were accepted
	session  TEXT    NOT NULL,
	user     TEXT    NOT NULL,
	key      TEXT,                      -- the idempotency key, with whose it is
	digest   TEXT    NOT NULL,
	priority INTEGER NOT NULL,          -- the lowest comes first
	state    TEXT    NOT NULL,          -- store.State
	reason   TEXT    NOT NULL,
	tries    INTEGER NOT NULL,
	holder   TEXT    NOT NULL,          -- the process that works on it, or will
	message  TEXT,                      -- the engine's record, until it has ended
	result   TEXT,                      -- the engine's record, once it has ended
	accepted INTEGER NOT NULL,          -- Unix milliseconds
	ended    INTEGER
) STRICT;

CREATE UNIQUE INDEX inbox_keys ON inbox (key) WHERE key IS NOT NULL;
CREATE INDEX mailboxes ON inbox (session, priority, id) WHERE state = 'waiting';
CREATE INDEX outbox ON inbox (id) WHERE state = 'answered';
CREATE INDEX ended_items ON inbox (ended) WHERE ended IS NOT NULL;

-- Small values of the engine: lasting approvals, tasks.
CREATE TABLE records (
	kind  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value TEXT NOT NULL,                -- JSON
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
