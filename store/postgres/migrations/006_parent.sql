-- Sub-agents: the session that started one, of the state.
ALTER TABLE sessions ADD COLUMN parent text COLLATE "C" NOT NULL DEFAULT '';
