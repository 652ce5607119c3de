-- Decisions are bounded by class, and within a class and among the calls by user.
ALTER TABLE decisions ADD COLUMN class TEXT NOT NULL DEFAULT 'refused';
UPDATE decisions SET class = CASE WHEN allowed THEN 'allowed' WHEN decision ->> '$.stage' = 'policy' THEN 'denied' ELSE 'refused' END;
DROP INDEX decisions_of_kind;
CREATE INDEX decisions_of_class ON decisions (class, user, id);
CREATE INDEX calls_of_user ON calls (user, id);
