-- +goose Up
CREATE TABLE sessions (
	sid         INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so nothing of a deleted session comes back
	app         TEXT NOT NULL,
	usr         TEXT NOT NULL,
	id          TEXT NOT NULL,
	position    INTEGER NOT NULL DEFAULT 0,
	frontier    INTEGER NOT NULL DEFAULT 0,
	created     INTEGER NOT NULL, -- nanoseconds since 1970
	updated     INTEGER NOT NULL,
	turns       INTEGER NOT NULL DEFAULT 0, -- how many there were; the last one's fence is sid << 32 | turns
	lease_until INTEGER NOT NULL DEFAULT 0, -- nanoseconds on lease_clock; 0: nobody has the turn
	lease_wall  INTEGER NOT NULL DEFAULT 0, -- the same on the wall clock
	lease_clock TEXT NOT NULL DEFAULT '',
	UNIQUE (app, usr, id)
);

-- Both end in sid, which is what a page of a list continues after.
CREATE INDEX sessions_app ON sessions (app);
CREATE INDEX sessions_app_usr ON sessions (app, usr);

-- The state that a session was created with.
CREATE TABLE initial (
	sid   INTEGER NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (sid, key)
) WITHOUT ROWID;

-- pos is sid << 32 | seq: one tree, in which a session's events lie next to each other.
CREATE TABLE events (
	pos  INTEGER PRIMARY KEY,
	sec  INTEGER NOT NULL, -- the event's timestamp: seconds since 1970, and nanoseconds
	nsec INTEGER NOT NULL,
	data BLOB NOT NULL     -- the event's JSON, without its position
);

-- Event ids: the 16 bytes of a UUID, or a hash of anything else.
CREATE TABLE ids (
	sid INTEGER NOT NULL,
	id  BLOB NOT NULL,
	seq INTEGER NOT NULL,
	PRIMARY KEY (sid, id)
) WITHOUT ROWID;

-- The spans of the live view (JSON) after each compaction or rewind.
CREATE TABLE marks (
	sid   INTEGER NOT NULL,
	seq   INTEGER NOT NULL,
	spans BLOB NOT NULL,
	PRIMARY KEY (sid, seq)
) WITHOUT ROWID;

-- The sessions' own state keys.
CREATE TABLE state (
	sid   INTEGER NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (sid, key)
) WITHOUT ROWID;

-- What a session's own state key was before the event at seq, NULL if it was not.
CREATE TABLE undo (
	sid INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	key TEXT NOT NULL,
	old BLOB,
	PRIMARY KEY (sid, seq, key)
) WITHOUT ROWID;

-- State keys of apps and users.
CREATE TABLE shared (
	owner TEXT NOT NULL,
	key   TEXT NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (owner, key)
) WITHOUT ROWID;
