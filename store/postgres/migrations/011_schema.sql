-- Conversations.
CREATE TABLE sessions (
	key     text COLLATE "C" PRIMARY KEY,
	state   text    NOT NULL,           -- session.State as JSON
	skill   text    NOT NULL,           -- of the state
	parent  text COLLATE "C" NOT NULL DEFAULT '', -- of a sub-agent: the session that started it
	sends   integer NOT NULL,           -- how many of the newest messages the next turn needs
	open    boolean NOT NULL,           -- something is left to do
	created bigint  NOT NULL,           -- Unix milliseconds
	updated bigint  NOT NULL
);

CREATE INDEX sessions_by_update ON sessions (updated DESC, key);
CREATE INDEX open_sessions ON sessions (updated) WHERE open;
-- Those in which a call waits for an approval, as their state says.
CREATE INDEX asking_sessions ON sessions (updated, key) WHERE open AND strpos(state, '"for":"approval"') > 0;

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

-- Messages that were accepted, until they are answered and the reply is delivered; those with
-- a key a day longer.
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
CREATE INDEX outbox ON inbox (id) WHERE state = 'answered';
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
--
-- Items wait for those that came before and that another process will answer, unless one of its
-- own came before those: two messages that come to one process at once may wait there in another
-- order than that of their numbers, and the processes would wait for each other.
--
-- A process takes a session over only from one whose lease ended before its own was last
-- renewed, 4 seconds before it ends: so after the database was away each process gets the
-- time to come back. One query looks at both leases, as they are at one moment.
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
	IF (c.holder IN ('', me) OR EXISTS (
		SELECT 1 FROM replicas r WHERE r.holder = me AND r.expires > clock_timestamp()
		AND NOT EXISTS (SELECT 1 FROM replicas o WHERE o.holder = c.holder AND o.expires > r.expires - interval '4 s')
	)) AND (wanted_item = 0 OR NOT EXISTS (
		SELECT 1 FROM inbox b WHERE b.session = k AND b.state = 'waiting' AND b.holder <> me AND (b.priority, b.id) < (i.priority, i.id) AND alive(b.holder)
		AND NOT EXISTS (SELECT 1 FROM inbox m WHERE m.session = k AND m.state = 'waiting' AND m.holder = me AND (m.priority, m.id) < (b.priority, b.id))
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

-- finish ends an item, or leaves it answered until its reply is delivered. It fails where the
-- item has ended.
CREATE FUNCTION finish(item bigint, what text, deliver boolean, kept_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i inbox;
BEGIN
	SELECT * INTO i FROM inbox WHERE id = item AND state NOT IN ('answered', 'done') FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the message has ended' USING ERRCODE = 'ET002';
	END IF;
	UPDATE inbox SET state = 'answered', reason = '', tries = 0, result = what, ended = now_ms() WHERE id = item;
	IF NOT deliver THEN
		PERFORM delivered(item, kept_ms);
	END IF;
END $$;

-- delivered ends an item that is answered, and fails where there is none.
CREATE FUNCTION delivered(item bigint, kept_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	i inbox;
BEGIN
	SELECT * INTO i FROM inbox WHERE id = item AND state = 'answered' FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'the message has ended' USING ERRCODE = 'ET002';
	END IF;
	IF i.keyed THEN
		UPDATE inbox SET state = 'done', message = NULL, ended = now_ms() WHERE id = item;
		DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE ended < now_ms() - kept_ms AND state = 'done' LIMIT 100 FOR UPDATE SKIP LOCKED);
	ELSE
		DELETE FROM inbox WHERE id = item;
	END IF;
END $$;

-- Small values of the engine: lasting approvals, tasks.
CREATE TABLE records (
	kind  text NOT NULL,
	key   text NOT NULL,
	value text NOT NULL, -- JSON
	PRIMARY KEY (kind, key)
);

-- Processes learn at once that records of a kind have changed.
CREATE FUNCTION tell_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('etui', 'records ' || coalesce(NEW.kind, OLD.kind));
	RETURN NULL;
END $$;

CREATE TRIGGER changed_records AFTER INSERT OR UPDATE OR DELETE ON records FOR EACH ROW EXECUTE FUNCTION tell_records();

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

-- Past turns of all processes: votes and recommendations come from them.
CREATE TABLE turns (
	id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	time  bigint NOT NULL, -- Unix milliseconds
	agent text   NOT NULL,
	sender text  NOT NULL,
	turn  text   NOT NULL  -- usage.Turn as JSON
);

CREATE INDEX turns_by_agent ON turns (agent, time, id);
CREATE INDEX turns_by_sender ON turns (sender);
CREATE INDEX turns_by_time ON turns (time, id);
