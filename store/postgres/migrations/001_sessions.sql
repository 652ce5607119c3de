CREATE TABLE sessions (
	key     text COLLATE "C" PRIMARY KEY,
	state   text    NOT NULL,           -- session.State as JSON
	skill   text    NOT NULL,           -- of the state
	sends   integer NOT NULL,           -- how many of the newest messages the next turn needs
	open    boolean NOT NULL,           -- something is left to do
	created bigint  NOT NULL,           -- Unix milliseconds
	updated bigint  NOT NULL
);

CREATE INDEX sessions_by_update ON sessions (updated DESC, key);
CREATE INDEX open_sessions ON sessions (updated) WHERE open;

CREATE TABLE messages (
	id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in order of arrival
	session text COLLATE "C" NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
	role    text NOT NULL,              -- this and the next three are read from the message
	author  text COLLATE "C" NOT NULL,
	channel text COLLATE "C" NOT NULL,
	title   text NOT NULL,              -- the beginning of a user's text
	message text NOT NULL               -- chat.Message as JSON
);

CREATE INDEX messages_by_session ON messages (session, id);
CREATE INDEX authors ON messages (session, author, channel) WHERE role = 'user';

-- The pictures of messages: each once, as long as a message refers to it.
CREATE TABLE files (
	sha256 text COLLATE "C" PRIMARY KEY, -- of data, in hexadecimal
	data   bytea NOT NULL
);

CREATE TABLE message_files (
	message bigint NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	sha256  text COLLATE "C" NOT NULL REFERENCES files (sha256),
	PRIMARY KEY (message, sha256)
);

CREATE INDEX messages_by_file ON message_files (sha256);

CREATE FUNCTION drop_unused_file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM files f WHERE f.sha256 = OLD.sha256 AND NOT EXISTS (SELECT 1 FROM message_files m WHERE m.sha256 = OLD.sha256);
	RETURN NULL;
END $$;

CREATE TRIGGER unused_files AFTER DELETE ON message_files FOR EACH ROW EXECUTE FUNCTION drop_unused_file();

-- Messages that were accepted, until they are answered; those with a key a day longer.
CREATE TABLE inbox (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order in which they were accepted
	session  text COLLATE "C" NOT NULL,
	author   text COLLATE "C" NOT NULL,
	key      text COLLATE "C" NOT NULL UNIQUE, -- the idempotency key, with whose it is, or one of the store's own
	keyed    boolean NOT NULL,          -- the key is the sender's
	digest   text    NOT NULL,
	priority integer NOT NULL,          -- the lowest comes first
	state    text    NOT NULL,          -- store.State
	reason   text    NOT NULL,
	tries    integer NOT NULL,
	holder   text COLLATE "C" NOT NULL, -- the process that works on it, or will
	message  text,                      -- the engine's record, until it has ended
	result   text,                      -- the engine's record, once it has ended
	accepted bigint  NOT NULL,          -- Unix milliseconds
	ended    bigint
);

CREATE INDEX mailboxes ON inbox (session, priority, id) WHERE state = 'waiting';
CREATE INDEX ended_items ON inbox (ended) WHERE ended IS NOT NULL;

-- The processes that use the database. One whose time is over counts as dead.
CREATE TABLE replicas (
	holder  text COLLATE "C" PRIMARY KEY,
	expires timestamptz NOT NULL
);

-- Which process works on which session. A number is never used again, so that whoever has
-- an old one learns that it has lost the session.
CREATE SEQUENCE claim_numbers;

CREATE TABLE claims (
	session text COLLATE "C" PRIMARY KEY,
	holder  text COLLATE "C" NOT NULL DEFAULT '', -- empty: nobody, yet
	number  bigint  NOT NULL DEFAULT 0,
	wanted  boolean NOT NULL DEFAULT false -- another process waits for its release
);

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION alive(h text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
	SELECT EXISTS (SELECT 1 FROM replicas WHERE holder = h AND expires > clock_timestamp())
$$;

-- claim makes a session a process's own, and returns the claim's number: 0 while another
-- process has it, or an item that came before is for another process to answer; -1 when the
-- item does not wait any more. The row of the session is locked meanwhile, as it is by fence
-- and release.
CREATE FUNCTION claim(k text, me text, wanted_item bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c claims;
	i inbox;
BEGIN
	LOOP
		INSERT INTO claims (session) VALUES (k) ON CONFLICT DO NOTHING;
		SELECT * INTO c FROM claims WHERE session = k FOR UPDATE;
		EXIT WHEN FOUND; -- it was released in between
	END LOOP;
	IF wanted_item <> 0 THEN
		SELECT * INTO i FROM inbox WHERE id = wanted_item AND state = 'waiting';
		IF NOT FOUND THEN
			DELETE FROM claims WHERE session = k AND holder = '' AND NOT wanted;
			RETURN -1;
		END IF;
	END IF;
	IF (c.holder IN ('', me) OR NOT alive(c.holder)) AND (wanted_item = 0 OR NOT EXISTS (
		SELECT 1 FROM inbox b WHERE b.session = k AND b.state = 'waiting' AND b.holder <> me AND (b.priority, b.id) < (i.priority, i.id) AND alive(b.holder)
	)) THEN
		UPDATE claims SET holder = me, number = nextval('claim_numbers') WHERE session = k RETURNING number INTO c.number;
		RETURN c.number;
	END IF;
	UPDATE claims SET wanted = true WHERE session = k;
	RETURN 0;
END $$;

-- fence keeps a session's claim as it is until the end of the transaction, and fails where
-- another process has it.
CREATE FUNCTION fence(k text, n bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 FROM claims WHERE session = k AND number = n FOR SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process works on the session' USING ERRCODE = 'ET001';
	END IF;
END $$;

-- release gives a claim up, and wakes those who wait for it.
CREATE FUNCTION release(k text, n bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c claims;
BEGIN
	DELETE FROM claims WHERE session = k AND number = n RETURNING * INTO c;
	IF c.wanted THEN
		PERFORM pg_notify('etui', 'free ' || k);
	END IF;
END $$;

-- finish ends an item, and fails where it has ended.
CREATE FUNCTION finish(item bigint, what text, kept_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i inbox;
BEGIN
	SELECT * INTO i FROM inbox WHERE id = item AND state <> 'done' FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the message has ended' USING ERRCODE = 'ET002';
	END IF;
	IF i.keyed THEN
		UPDATE inbox SET state = 'done', message = NULL, result = what, ended = now_ms() WHERE id = item;
		DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE ended < now_ms() - kept_ms LIMIT 100 FOR UPDATE SKIP LOCKED);
	ELSE
		DELETE FROM inbox WHERE id = item;
	END IF;
END $$;
