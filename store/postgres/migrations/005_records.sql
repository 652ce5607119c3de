-- Processes learn at once that records of a kind have changed.
CREATE FUNCTION tell_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('etui', 'records ' || coalesce(NEW.kind, OLD.kind));
	RETURN NULL;
END $$;

CREATE TRIGGER changed_records AFTER INSERT OR UPDATE OR DELETE ON records FOR EACH ROW EXECUTE FUNCTION tell_records();
