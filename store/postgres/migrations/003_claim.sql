-- claim makes a session a process's own, and returns the claim's number: 0 while another
-- process has it, or has the item that comes first of all; -1 when the item does not wait any
-- more. The row of the session is locked meanwhile, as it is by fence and release.
--
-- A process that has the first item may claim the session with any of its items: others may
-- wait for their turn inside of it, behind that one. Two processes that each waited with a
-- later item for the other's first one would wait for ever.
CREATE OR REPLACE FUNCTION claim(k text, me text, wanted_item bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c claims;
	first inbox;
BEGIN
	LOOP
		INSERT INTO claims (session) VALUES (k) ON CONFLICT DO NOTHING;
		SELECT * INTO c FROM claims WHERE session = k FOR UPDATE;
		EXIT WHEN FOUND; -- it was released in between
	END LOOP;
	IF wanted_item <> 0 THEN
		PERFORM 1 FROM inbox WHERE id = wanted_item AND state = 'waiting';
		IF NOT FOUND THEN
			DELETE FROM claims WHERE session = k AND holder = '' AND NOT wanted;
			RETURN -1;
		END IF;
		SELECT * INTO first FROM inbox b WHERE b.session = k AND b.state = 'waiting' AND (b.id = wanted_item OR b.holder = me)
			ORDER BY b.priority, b.id LIMIT 1;
	END IF;
	IF (c.holder IN ('', me) OR NOT alive(c.holder)) AND (wanted_item = 0 OR NOT EXISTS (
		SELECT 1 FROM inbox b WHERE b.session = k AND b.state = 'waiting' AND b.holder <> me AND (b.priority, b.id) < (first.priority, first.id) AND alive(b.holder)
	)) THEN
		UPDATE claims SET holder = me, number = nextval('claim_numbers') WHERE session = k RETURNING number INTO c.number;
		RETURN c.number;
	END IF;
	UPDATE claims SET wanted = true WHERE session = k;
	RETURN 0;
END $$;
