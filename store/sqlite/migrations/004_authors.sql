-- Who wrote a user's message, and where it came from, read from the message: to find
-- and to erase what is kept of a person.
ALTER TABLE messages ADD COLUMN user    TEXT AS (message ->> '$.user');
ALTER TABLE messages ADD COLUMN channel TEXT AS (message ->> '$.channel');

CREATE INDEX authors ON messages (session, user, channel) WHERE role = 'user';
