-- Messages that were accepted, until they are answered; those with a key a day longer.
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
CREATE INDEX ended_items ON inbox (ended) WHERE ended IS NOT NULL;
