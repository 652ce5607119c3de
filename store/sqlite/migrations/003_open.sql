-- Sessions with a turn that has not ended, or with a call that awaits something: few
-- at any time, so that a start finds them without reading the others.
ALTER TABLE sessions ADD COLUMN open INTEGER NOT NULL DEFAULT 0;

CREATE INDEX open_sessions ON sessions (updated) WHERE open;
