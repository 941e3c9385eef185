-- +goose Up
ALTER TABLE sessions ADD COLUMN lease_holder TEXT NOT NULL DEFAULT '';       -- who holds the lease; '' if nobody does
ALTER TABLE sessions ADD COLUMN lease_cancelled INTEGER NOT NULL DEFAULT 0; -- 1: the holder was asked to end
