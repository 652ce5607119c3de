-- Small values of the engine: lasting approvals, tasks.
CREATE TABLE records (
	kind  text NOT NULL,
	key   text NOT NULL,
	value text NOT NULL, -- JSON
	PRIMARY KEY (kind, key)
);
