-- Sessions in which a call waits for an approval, as their state says: few of those with
-- something left to do.
CREATE INDEX asking_sessions ON sessions (updated, key) WHERE open AND strpos(state, '"for":"approval"') > 0;
