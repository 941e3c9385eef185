-- +goose Up

-- Each statement here has one index that serves it, and no other that could seem as good to a planner
-- who knows nothing of the tables yet, or knows them as they were when they were empty: a plan is kept,
-- and must be right when they have grown.

-- One row per session. An append updates it, so it is small and has room beside it (HOT updates).
CREATE TABLE plughook_sessions (
    sid            bigint GENERATED ALWAYS AS IDENTITY, -- never reused
    app            text COLLATE "C" NOT NULL,
    usr            text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    head           bigint NOT NULL DEFAULT 0, -- position of the last event
    frontier       bigint NOT NULL DEFAULT 0, -- position of the last compaction or rewind
    epoch          bigint NOT NULL DEFAULT 0, -- fence of the last turn
    lease          timestamptz,               -- until when the turn is held; null: it was given back
    created        timestamptz NOT NULL DEFAULT now(),
    updated        timestamptz NOT NULL DEFAULT now(),
    initial_keys   bytea[] NOT NULL,
    initial_values bytea[] NOT NULL
) WITH (fillfactor = 70);

-- For lists. An expression, lest it serve where the next one should. U+0001 is in no name.
CREATE INDEX plughook_sessions_order ON plughook_sessions ((app || U&'\0001' || usr), sid);
ALTER TABLE plughook_sessions ADD UNIQUE (app, usr, id);
ALTER TABLE plughook_sessions ADD PRIMARY KEY (sid); -- the last one wins where the planner is undecided

-- Fences come from here, so that a session made anew under a deleted one's name has no fence of its.
CREATE SEQUENCE plughook_fences;

-- The log. data is the event's JSON, as it came: jsonb would change it, refuse \u0000, and be slower.
CREATE TABLE plughook_events (
    sid  bigint NOT NULL,
    seq  bigint NOT NULL,
    us   bigint NOT NULL,   -- the event's time, microseconds since 1970
    ns   smallint NOT NULL, -- and nanoseconds beyond
    id   bytea NOT NULL,
    data bytea NOT NULL
);

-- An ID is unique in its session. An expression, as above.
CREATE UNIQUE INDEX plughook_events_ids ON plughook_events ((int8send(sid) || id));
ALTER TABLE plughook_events ADD PRIMARY KEY (sid, seq);

-- The session.Spans after each compaction and rewind, as JSON.
CREATE TABLE plughook_marks (
    sid   bigint NOT NULL,
    seq   bigint NOT NULL,
    spans bytea NOT NULL,
    PRIMARY KEY (sid, seq)
);

-- The sessions' own state keys, values as JSON.
CREATE TABLE plughook_state (
    sid   bigint NOT NULL,
    key   bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (sid, key)
) WITH (fillfactor = 80);

-- What an own key was before the event at seq, null if it was not: a rewind reads these.
CREATE TABLE plughook_undo (
    sid bigint NOT NULL,
    seq bigint NOT NULL,
    key bytea NOT NULL,
    old bytea,
    PRIMARY KEY (sid, seq, key)
);

-- The "app:" and "user:" keys, by session.Owner. value is null only inside a transaction.
CREATE TABLE plughook_shared (
    owner bytea NOT NULL,
    key   bytea NOT NULL,
    value bytea,
    PRIMARY KEY (owner, key)
) WITH (fillfactor = 80);

-- plughook_sum adds a number to a value where both are written alike here and in Go; where they may not
-- be (an exponent, no number at all) it fails, and the append is made the long way.
-- +goose StatementBegin
CREATE FUNCTION plughook_sum(_old bytea, _by float8) RETURNS bytea LANGUAGE plpgsql
SET extra_float_digits = 1
AS $$
DECLARE
    _plain text := '^-?(0|[1-9][0-9]*)([.][0-9]+)?$';
    _was text := coalesce(convert_from(_old, 'UTF8'), '0');
    _sum text;
BEGIN
    IF _was ~ _plain THEN
        _sum := _was::float8 + _by;
        IF _sum ~ _plain THEN
            RETURN convert_to(_sum, 'UTF8');
        END IF;
    END IF;
    RAISE EXCEPTION 'plughook_sum: not here';
END
$$;
-- +goose StatementEnd

-- plughook_append appends events that change state, in one round trip; false if the position or the
-- fence is not right. State is read after the session's row is locked, and shared keys are locked in
-- their order, which is the same in every session. The settings keep plans made for an empty or fresh
-- table from being bad ones later.
-- +goose StatementBegin
CREATE FUNCTION plughook_append(
    _app text, _usr text, _id text, _after bigint, _fence bigint,
    _ids bytea[], _us bigint[], _ns smallint[], _data bytea[],
    _nth bigint[], _keys bytea[], _values bytea[], -- own keys, each with the event that sets it; null deletes
    _owners bytea[], _shared_keys bytea[],         -- shared keys, ascending
    _shared_values bytea[], _adds float8[]         -- what to add, or else the value; null deletes
) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _sid bigint;
BEGIN
    UPDATE plughook_sessions SET head = _after + cardinality(_ids), updated = clock_timestamp()
    WHERE app = _app AND usr = _usr AND id = _id AND head = _after
        AND CASE WHEN _fence = 0 THEN lease IS NULL OR lease <= clock_timestamp()
            ELSE epoch = _fence AND lease IS NOT NULL END
    RETURNING sid INTO _sid;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO plughook_events (sid, seq, us, ns, id, data)
    SELECT _sid, _after + e.n, e.us, e.ns, e.id, e.data
    FROM unnest(_ids, _us, _ns, _data) WITH ORDINALITY AS e(id, us, ns, data, n);
    IF cardinality(_keys) > 0 THEN
        INSERT INTO plughook_undo (sid, seq, key, old)
        SELECT _sid, _after + c.n, c.key, (SELECT s.value FROM plughook_state s WHERE s.sid = _sid AND s.key = c.key)
        FROM unnest(_nth, _keys) AS c(n, key);
        INSERT INTO plughook_state (sid, key, value)
        SELECT _sid, c.key, c.value FROM unnest(_keys, _values) AS c(key, value) WHERE c.value IS NOT NULL
        ON CONFLICT (sid, key) DO UPDATE SET value = excluded.value;
        IF array_position(_values, NULL) IS NOT NULL THEN
            DELETE FROM plughook_state s
            USING unnest(_keys, _values) AS c(key, value)
            WHERE s.sid = _sid AND s.key = c.key AND c.value IS NULL;
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(_shared_keys) LOOP
        IF _adds[i] IS NOT NULL THEN
            INSERT INTO plughook_shared AS s (owner, key, value)
            VALUES (_owners[i], _shared_keys[i], plughook_sum(NULL, _adds[i]))
            ON CONFLICT (owner, key) DO UPDATE SET value = plughook_sum(s.value, _adds[i]);
        ELSIF _shared_values[i] IS NULL THEN
            DELETE FROM plughook_shared WHERE owner = _owners[i] AND key = _shared_keys[i];
        ELSE
            INSERT INTO plughook_shared (owner, key, value)
            VALUES (_owners[i], _shared_keys[i], _shared_values[i])
            ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value;
        END IF;
    END LOOP;
    RETURN true;
END
$$;
-- +goose StatementEnd
