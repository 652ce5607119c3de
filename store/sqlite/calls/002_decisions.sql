-- Decisions about calls of tools, as package audit describes them.
CREATE TABLE decisions (
  id       INTEGER PRIMARY KEY,
  time     INTEGER NOT NULL, -- milliseconds since 1970
  tool     TEXT NOT NULL,
  user     TEXT NOT NULL,
  allowed  INTEGER NOT NULL,
  decision TEXT NOT NULL
) STRICT;

CREATE INDEX decisions_of_kind ON decisions (allowed, id);
