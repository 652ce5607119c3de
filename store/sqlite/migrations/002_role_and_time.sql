-- For those who look into the file: who said it and when. They are read from the
-- message, take no room and cannot differ from it.
ALTER TABLE messages ADD COLUMN role TEXT AS (message ->> '$.role');
ALTER TABLE messages ADD COLUMN time TEXT AS (message ->> '$.time');
