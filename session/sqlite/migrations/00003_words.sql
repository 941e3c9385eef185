-- +goose Up
-- The index of words, for searches. The table words is made when the index is (FTS5, a row for each event, by pos).

-- A row says that there is an index, and how many events of the table unindexed are not in it yet.
CREATE TABLE word_index (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	pending INTEGER NOT NULL
);

-- The sessions with events that are not in the index yet: the positions of the first and the last.
CREATE TABLE unindexed (
	sid   INTEGER PRIMARY KEY,
	first INTEGER NOT NULL,
	last  INTEGER NOT NULL
);
