CREATE TABLE sessions (
	key     TEXT PRIMARY KEY,
	state   TEXT    NOT NULL,           -- session.State as JSON
	created INTEGER NOT NULL,           -- Unix milliseconds
	updated INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_by_update ON sessions (updated DESC, key);

CREATE TABLE messages (
	id      INTEGER PRIMARY KEY,        -- in order of arrival
	session TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
	message TEXT NOT NULL               -- chat.Message as JSON
) STRICT;

CREATE INDEX messages_by_session ON messages (session, id);
