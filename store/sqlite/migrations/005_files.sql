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
