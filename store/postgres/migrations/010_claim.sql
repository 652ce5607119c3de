-- A process takes a session over only from one whose lease ended before its own was last
-- renewed, 4 seconds before it ends: so after the database was away each process gets the
-- time to come back. One query looks at both leases, as they are at one moment.
CREATE OR REPLACE FUNCTION claim(k text, me text, wanted_item bigint) RETURNS bigint LANGUAGE plpgsql AS $$
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
