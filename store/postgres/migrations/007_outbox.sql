-- Replies that are still to be delivered.
CREATE INDEX outbox ON inbox (id) WHERE state = 'answered';

DROP FUNCTION finish(bigint, text, bigint);

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
