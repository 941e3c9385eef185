-- +goose Up
LOCK TABLE plughook_migrations, plughook_sessions IN ACCESS EXCLUSIVE MODE;
UPDATE plughook_sessions SET lease = NULL WHERE lease IS NOT NULL;

-- Beside the lease: who holds it, and whether they were asked to end. No index has them, so that an update of
-- a session stays a small one (HOT).
ALTER TABLE plughook_sessions
    ADD COLUMN holder text COLLATE "C" NOT NULL DEFAULT '', -- who holds the lease; '' if nobody does
    ADD COLUMN cancelled boolean NOT NULL DEFAULT false;    -- the holder was asked to end
