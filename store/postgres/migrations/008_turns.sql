-- Past turns of all processes: votes and recommendations come from them.
CREATE TABLE turns (
	id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	time  bigint NOT NULL, -- Unix milliseconds
	agent text   NOT NULL,
	sender text  NOT NULL,
	turn  text   NOT NULL  -- usage.Turn as JSON
);

CREATE INDEX turns_by_agent ON turns (agent, time, id);
CREATE INDEX turns_by_sender ON turns (sender);
CREATE INDEX turns_by_time ON turns (time, id);
