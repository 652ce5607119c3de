-- Calls of skills, as package audit describes them. Each row holds the call as
-- JSON; the other columns are for finding and dropping it.
CREATE TABLE calls (
  id      INTEGER PRIMARY KEY,
  time    INTEGER NOT NULL, -- milliseconds since 1970
  skill   TEXT NOT NULL,
  user    TEXT NOT NULL,
  outcome TEXT NOT NULL,
  call    TEXT NOT NULL
) STRICT;

CREATE INDEX calls_of_skill ON calls (skill, id);
