-- +goose Up
LOCK TABLE plughook_migrations, plughook_sessions IN ACCESS EXCLUSIVE MODE;
UPDATE plughook_sessions SET lease = NULL WHERE lease IS NOT NULL;

-- The index of words, for searches. A row in plughook_index says that there is one, and since when.
CREATE TABLE plughook_index (
    one  integer PRIMARY KEY CHECK (one = 1),
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The sessions with events that are not in the index yet: the positions of the first and the last. An append updates
-- the row of its session, so there is room beside it (HOT updates).
CREATE TABLE plughook_unindexed (
    sid   bigint PRIMARY KEY,
    first bigint NOT NULL,
    last  bigint NOT NULL
) WITH (fillfactor = 50);

-- What each event in the index is found by.
CREATE TABLE plughook_words (
    sid   bigint NOT NULL,
    seq   bigint NOT NULL,
    terms text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (sid, seq)
);

-- New rows wait in a list that each search reads from end to end: it is kept short (kB).
CREATE INDEX plughook_words_terms ON plughook_words USING gin (terms) WITH (gin_pending_list_limit = 512);

-- As it was, but for what it tells the index.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION plughook_append(
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
    INSERT INTO plughook_unindexed (sid, first, last)
    SELECT _sid, _after + 1, _after + cardinality(_ids) FROM plughook_index WHERE one = 1
    ON CONFLICT (sid) DO UPDATE SET last = excluded.last;
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
