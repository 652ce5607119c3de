CREATE TABLE turns (
	id    INTEGER PRIMARY KEY,          -- in order of arrival
	time  INTEGER NOT NULL,             -- Unix milliseconds
	agent TEXT    NOT NULL,
	user  TEXT    NOT NULL,
	turn  TEXT    NOT NULL              -- usage.Turn as JSON
) STRICT;

CREATE INDEX turns_by_agent ON turns (agent, id);
CREATE INDEX turns_by_user ON turns (user);
CREATE INDEX turns_by_time ON turns (time);
