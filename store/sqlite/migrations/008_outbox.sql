-- Replies that are still to be delivered.
CREATE INDEX outbox ON inbox (priority, id) WHERE state = 'answered';
