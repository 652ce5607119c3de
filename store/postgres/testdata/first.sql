-- What pg_dump says of a database that etui filled when it had this schema for the first time.
SET check_function_bodies = false;
CREATE SCHEMA etui;

CREATE FUNCTION etui.alive(h text) RETURNS boolean
    LANGUAGE sql
    AS $$
	SELECT EXISTS (SELECT 1 FROM replicas WHERE holder = h AND expires > clock_timestamp())
$$;

CREATE FUNCTION etui.claim(k text, me text, wanted_item bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION etui.delivered(item bigint, kept_ms bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION etui.drop_unused_file() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	DELETE FROM files f WHERE f.sha256 = OLD.sha256 AND NOT EXISTS (SELECT 1 FROM message_files m WHERE m.sha256 = OLD.sha256);
	RETURN NULL;
END $$;

CREATE FUNCTION etui.fence(k text, n bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM 1 FROM claims WHERE session = k AND number = n FOR SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another process works on the session' USING ERRCODE = 'ET001';
	END IF;
END $$;

CREATE FUNCTION etui.finish(item bigint, what text, deliver boolean, kept_ms bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION etui.now_ms() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION etui.release(k text, n bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
	c claims;
BEGIN
	DELETE FROM claims WHERE session = k AND number = n RETURNING * INTO c;
	IF c.wanted THEN
		PERFORM pg_notify('etui', 'free ' || k);
	END IF;
END $$;

CREATE FUNCTION etui.tell_records() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM pg_notify('etui', 'records ' || coalesce(NEW.kind, OLD.kind));
	RETURN NULL;
END $$;

CREATE TABLE etui.audit (
    number bigint NOT NULL,
    class text NOT NULL,
    "time" bigint NOT NULL,
    who text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL,
    salt bytea,
    record text NOT NULL,
    hash bytea
);

CREATE TABLE etui.audit_gaps (
    begins bigint NOT NULL,
    ends bigint NOT NULL,
    hash bytea NOT NULL
);

CREATE TABLE etui.audit_head (
    number bigint NOT NULL,
    hash bytea NOT NULL
);

CREATE SEQUENCE etui.claim_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE etui.claims (
    session text NOT NULL COLLATE pg_catalog."C",
    holder text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    number bigint DEFAULT 0 NOT NULL,
    wanted boolean DEFAULT false NOT NULL
);

CREATE TABLE etui.files (
    sha256 text NOT NULL COLLATE pg_catalog."C",
    data bytea NOT NULL
);

CREATE TABLE etui.inbox (
    id bigint NOT NULL,
    session text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    keyed boolean NOT NULL,
    digest text NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    tries integer NOT NULL,
    holder text NOT NULL COLLATE pg_catalog."C",
    message text,
    result text,
    accepted bigint NOT NULL,
    ended bigint
);

ALTER TABLE etui.inbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME etui.inbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE etui.message_files (
    message bigint NOT NULL,
    sha256 text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE etui.messages (
    id bigint NOT NULL,
    session text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL,
    author text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    message text NOT NULL
);

ALTER TABLE etui.messages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME etui.messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE etui.records (
    kind text NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);

CREATE TABLE etui.replicas (
    holder text NOT NULL COLLATE pg_catalog."C",
    expires timestamp with time zone NOT NULL
);

CREATE TABLE etui.sessions (
    key text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    skill text NOT NULL,
    sends integer NOT NULL,
    open boolean NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    parent text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE etui.turns (
    id bigint NOT NULL,
    "time" bigint NOT NULL,
    agent text NOT NULL,
    sender text NOT NULL,
    turn text NOT NULL
);

ALTER TABLE etui.turns ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME etui.turns_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE etui.version (
    version integer NOT NULL
);

INSERT INTO etui.audit VALUES (1, 'call', 1800000000000, 'ann', 'weather', 'ok', '\x922b0d14eebf74fb135fc7ab53fb8bd5', '{"time":"2027-01-15T08:00:00Z","skill":"weather","user":"ann","arguments":"1","outcome":"ok","took_ms":0}', '\x73b9f3f0bb0ef755105d1f9f082524d5e4c338f8a24f73ba7b726c4e91b7b2c7');

INSERT INTO etui.audit_head VALUES (1, '\x73b9f3f0bb0ef755105d1f9f082524d5e4c338f8a24f73ba7b726c4e91b7b2c7');

INSERT INTO etui.files VALUES ('5e1fann', '\x616e6e');

INSERT INTO etui.inbox OVERRIDING SYSTEM VALUE VALUES (1, 'agent:main:person:ann', 'ann', 'k1ann', true, 'd', 0, 'waiting', '', 0, '', '{"text":"waits"}', NULL, 1795799651728, NULL);
INSERT INTO etui.inbox OVERRIDING SYSTEM VALUE VALUES (2, 'agent:main:person:ann', 'ann', 'k2ann', true, 'd', 0, 'done', '', 0, '', NULL, '{"done":1}', 1795799651729, 1795799651730);
INSERT INTO etui.inbox OVERRIDING SYSTEM VALUE VALUES (3, 'agent:main:person:ann', 'ann', 'LH3FABLJYSKNCBMYP4QECNP4BE', false, '', 0, 'answered', '', 0, '', '{}', '{"reply":1}', 1795799651735, 1795799651736);

INSERT INTO etui.message_files VALUES (1, '5e1fann');

INSERT INTO etui.messages OVERRIDING SYSTEM VALUE VALUES (1, 'agent:main:person:ann', 'user', 'ann', 'web', 'pay ann', '{"role":"user","text":"pay ann","files":[{"name":"a.png","media_type":"image/png","sha256":"5e1fann"}],"user":"ann","channel":"web"}');
INSERT INTO etui.messages OVERRIDING SYSTEM VALUE VALUES (2, 'agent:main:person:ann', 'assistant', '', '', '', '{"role":"assistant","calls":[{"id":"1","name":"pay","written":"{ \"n\":1}"}]}');

INSERT INTO etui.records VALUES ('task', 'ann', '{"text":"look"}');

INSERT INTO etui.replicas VALUES ('7GFBLHDEFDPNI46EAZSNFLL4JD', '2026-11-27 17:14:15.725612+00');

INSERT INTO etui.sessions VALUES ('agent:main:person:ann', '{"skill":"s","awaits":[{"call":"1","tool":"pay","user":"ann","for":"approval","id":"abcann"}]}', 's', 2000, true, 1795799651724, 1795799651724, '');

INSERT INTO etui.turns OVERRIDING SYSTEM VALUE VALUES (1, 1800000000000, 'main', 'ann', '{"time":"2027-01-15T08:00:00Z","agent":"main","user":"ann","text":"hi","tools":["t"]}');

INSERT INTO etui.version VALUES (11);

SELECT pg_catalog.setval('etui.claim_numbers', 1, false);

SELECT pg_catalog.setval('etui.inbox_id_seq', 3, true);

SELECT pg_catalog.setval('etui.messages_id_seq', 2, true);

SELECT pg_catalog.setval('etui.turns_id_seq', 1, true);

ALTER TABLE ONLY etui.audit_gaps
    ADD CONSTRAINT audit_gaps_pkey PRIMARY KEY (begins);

ALTER TABLE ONLY etui.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);

ALTER TABLE ONLY etui.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (session);

ALTER TABLE ONLY etui.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY etui.inbox
    ADD CONSTRAINT inbox_key_key UNIQUE (key);

ALTER TABLE ONLY etui.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etui.message_files
    ADD CONSTRAINT message_files_pkey PRIMARY KEY (message, sha256);

ALTER TABLE ONLY etui.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY etui.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (kind, key);

ALTER TABLE ONLY etui.replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY etui.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (key);

ALTER TABLE ONLY etui.turns
    ADD CONSTRAINT turns_pkey PRIMARY KEY (id);

CREATE INDEX asking_sessions ON etui.sessions USING btree (updated, key) WHERE (open AND (strpos(state, '"for":"approval"'::text) > 0));

CREATE INDEX audit_by_time ON etui.audit USING btree ("time", number);

CREATE INDEX audit_by_user ON etui.audit USING btree (class, who, "time", number);

CREATE INDEX authors ON etui.messages USING btree (session, author, channel) WHERE (role = 'user'::text);

CREATE INDEX ended_items ON etui.inbox USING btree (ended) WHERE (ended IS NOT NULL);

CREATE INDEX mailboxes ON etui.inbox USING btree (session, priority, id) WHERE (state = 'waiting'::text);

CREATE INDEX messages_by_file ON etui.message_files USING btree (sha256);

CREATE INDEX messages_by_session ON etui.messages USING btree (session, id);

CREATE INDEX open_sessions ON etui.sessions USING btree (updated) WHERE open;

CREATE INDEX outbox ON etui.inbox USING btree (id) WHERE (state = 'answered'::text);

CREATE INDEX sessions_by_update ON etui.sessions USING btree (updated DESC, key);

CREATE INDEX turns_by_agent ON etui.turns USING btree (agent, "time", id);

CREATE INDEX turns_by_sender ON etui.turns USING btree (sender);

CREATE INDEX turns_by_time ON etui.turns USING btree ("time", id);

CREATE TRIGGER changed_records AFTER INSERT OR DELETE OR UPDATE ON etui.records FOR EACH ROW EXECUTE FUNCTION etui.tell_records();

CREATE TRIGGER unused_files AFTER DELETE ON etui.message_files FOR EACH ROW EXECUTE FUNCTION etui.drop_unused_file();

ALTER TABLE ONLY etui.message_files
    ADD CONSTRAINT message_files_message_fkey FOREIGN KEY (message) REFERENCES etui.messages(id) ON DELETE CASCADE;

ALTER TABLE ONLY etui.message_files
    ADD CONSTRAINT message_files_sha256_fkey FOREIGN KEY (sha256) REFERENCES etui.files(sha256);

ALTER TABLE ONLY etui.messages
    ADD CONSTRAINT messages_session_fkey FOREIGN KEY (session) REFERENCES etui.sessions(key) ON DELETE CASCADE;
