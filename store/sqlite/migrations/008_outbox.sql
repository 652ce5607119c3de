-- Replies that are still to be delivered.
CREATE INDEX outbox ON inbox (id) WHERE state = 'answered';
