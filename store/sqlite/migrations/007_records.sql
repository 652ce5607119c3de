-- Small values of the engine: lasting approvals, tasks.
CREATE TABLE records (
	kind  TEXT NOT NULL,
	key   TEXT NOT NULL,
	value TEXT NOT NULL, -- JSON
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
