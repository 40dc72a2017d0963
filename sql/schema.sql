-- The current reserved tables and functions of one application.
--
-- The script runs with the application's schema first in search_path and the schema of the reserved tables second. It refers
-- to nothing outside them and pg_catalog, and contains neither schema's name:
--
--     CREATE SCHEMA app; CREATE SCHEMA app_internal; SET search_path = app, app_internal, pg_temp; \i schema.sql
--
-- "SET search_path FROM CURRENT" stores that path in each function that needs it, so that current_schema() is the
-- application's schema. The reserved tables are created in that schema, too, and move at the end.

-- Bookkeeping ---------------------------------------------------------------------------------------------------------

CREATE TABLE _migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _migration IS 'The versions that this schema has reached.';
COMMENT ON COLUMN _migration.version IS 'The number of the migration.';
COMMENT ON COLUMN _migration.name IS 'Its name.';
COMMENT ON COLUMN _migration.applied_at IS 'When the schema reached this version.';

CREATE TABLE _meta (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    system_identifier bigint NOT NULL,
    revision_offset bigint NOT NULL,
    timeline bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT '-infinity',
    history uuid NOT NULL DEFAULT gen_random_uuid(),
    former_offsets bigint[] NOT NULL DEFAULT '{}',
    former_until bigint[] NOT NULL DEFAULT '{}',
    start_id bigint NOT NULL DEFAULT ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint,
    former_starts bigint[] NOT NULL DEFAULT '{}',
    former_ends bigint[] NOT NULL DEFAULT '{}',
    home_table oid NOT NULL DEFAULT 0,
    channel text NOT NULL DEFAULT 'skyrow_' || replace(gen_random_uuid()::text, '-', ''),
    files_looked_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _meta IS 'One row: the state of the revision counter, and the cluster that it belongs to.';
COMMENT ON COLUMN _meta.only_row IS 'Always true.';
COMMENT ON COLUMN _meta.system_identifier IS
    'The system identifier of the cluster; if it differs, the database was restored from a dump.';
COMMENT ON COLUMN _meta.revision_offset IS 'What _revision() adds to the transaction id.';
COMMENT ON COLUMN _meta.timeline IS 'The timeline of the cluster; if it differs, there was a failover or a point-in-time recovery.';
COMMENT ON COLUMN _meta.started_at IS 'The start of PostgreSQL from which on the offset is used.';
COMMENT ON COLUMN _meta.history IS 'A random id that every restore from a dump replaces, which invalidates all change tokens.';
COMMENT ON COLUMN _meta.former_offsets IS 'Earlier offsets, with which transactions that are still running may have stamped rows.';
COMMENT ON COLUMN _meta.former_until IS 'For each former offset, the transaction id from which on no transaction has used it.';
COMMENT ON COLUMN _meta.start_id IS 'A random id that every start of PostgreSQL replaces; change tokens contain it.';
COMMENT ON COLUMN _meta.former_starts IS 'The ids of earlier starts whose end is known, at most 256.';
COMMENT ON COLUMN _meta.former_ends IS
    'Where the write-ahead log of each former start ended; a token beyond that position is from a history that this database never had.';
COMMENT ON COLUMN _meta.channel IS
    'The prefix of the channels on which processes are notified of changes; it is random, so that it can be read only here.';
COMMENT ON COLUMN _meta.files_looked_at IS 'When a process last began to look for unreferenced files.';
COMMENT ON COLUMN _meta.home_table IS 'The OID of this table; if it differs, the database was restored from a dump.';

-- Every role that has a channel's name can listen to it, since LISTEN requires no privilege.
CREATE FUNCTION _notify(kind text, notice text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_notify(home.channel || '_' || kind, current_schema() || notice) FROM _meta AS home;
END $$;
COMMENT ON FUNCTION _notify(text, text) IS
    'Notifies every process of the application of a change to its schema, a session or a file: SELECT _notify(''session'', ''/all'').';

-- Row locks, since any role can take an advisory lock, and pg_locks shows them. To lock a row, a role needs a privilege to
-- write it.
CREATE TABLE _lock (
    name text COLLATE "C" PRIMARY KEY
);
COMMENT ON TABLE _lock IS 'Locks for what one transaction at a time may do; the transaction locks the row.';
COMMENT ON COLUMN _lock.name IS
    'schema: changes of record types and reserved tables; roles: roles in roles; sweep: removal of tombstones; relation and a number: relations of users; sequence and an OID: advancing a sequence.';

-- Other rows are created when they are first locked. This one exists from the start, since it is locked without waiting.
INSERT INTO _lock (name) VALUES ('sweep');

CREATE FUNCTION _hold(lock text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM _lock AS known WHERE known.name = lock FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO _lock (name) VALUES (lock) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name;
    END IF;
END $$;
COMMENT ON FUNCTION _hold(text) IS 'Waits until no other transaction holds the lock of this name, and holds it until the current transaction ends.';

CREATE FUNCTION _try_hold(lock text) RETURNS boolean LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM _lock AS known WHERE known.name = lock FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM _lock AS known WHERE known.name = lock) THEN
        RETURN false;
    END IF;
    INSERT INTO _lock (name) VALUES (lock) ON CONFLICT (name) DO NOTHING;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION _try_hold(text) IS 'Does the same as _hold() without waiting; returns whether it holds the lock.';

CREATE TABLE _setting (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
COMMENT ON TABLE _setting IS 'The settings of this application, which skyrow app set changes; the default application has none.';
COMMENT ON COLUMN _setting.name IS 'The name of a setting, as skyrow config lists it.';
COMMENT ON COLUMN _setting.value IS 'Its value, as it is written on a command line.';

CREATE TABLE _secret (
    number smallint PRIMARY KEY CHECK (number BETWEEN 1 AND 255),
    secret bytea NOT NULL CHECK (octet_length(secret) >= 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _secret IS 'Secrets from which the keys that sign cursors are derived. All processes share them.';
COMMENT ON COLUMN _secret.number IS 'The secret with the highest number signs; signatures of all are accepted.';
COMMENT ON COLUMN _secret.secret IS 'The random bytes.';
COMMENT ON COLUMN _secret.created_at IS 'When the secret was created.';

-- A UUID has 122 random bits.
INSERT INTO _secret (number, secret)
VALUES (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

CREATE TABLE _index (
    name text COLLATE "C" PRIMARY KEY,
    type text COLLATE "C" NOT NULL,
    kind text,
    fields text[] NOT NULL DEFAULT '{}',
    is_unique boolean NOT NULL DEFAULT false,
    nulls_equal boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'building' CHECK (state IN ('building', 'ready', 'failed', 'deleting')),
    attempts integer NOT NULL DEFAULT 0,
    has_begun boolean NOT NULL DEFAULT false,
    reason text,
    duplicates bigint,
    sql_state text,
    changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _index IS 'The indexes that were requested for record types, and those that are being deleted.';
COMMENT ON COLUMN _index.name IS 'The name of the index.';
COMMENT ON COLUMN _index.type IS 'The record type.';
COMMENT ON COLUMN _index.kind IS 'What it serves; NULL: it was created by other means and is being deleted.';
COMMENT ON COLUMN _index.fields IS 'Its fields: year desc, title fold.';
COMMENT ON COLUMN _index.is_unique IS 'Whether its values are unique among the records of a database.';
COMMENT ON COLUMN _index.nulls_equal IS 'Whether missing values count as equal.';
COMMENT ON COLUMN _index.state IS 'building until it is ready or failed; deleting until it is gone.';
COMMENT ON COLUMN _index.attempts IS 'How often a build has started, apart from builds that a shutdown stopped.';
COMMENT ON COLUMN _index.has_begun IS 'Whether a build has ever started, so that an index of this name is known to be ours.';
COMMENT ON COLUMN _index.reason IS 'Why it failed; while it is being built, why the last attempt failed.';
COMMENT ON COLUMN _index.duplicates IS 'How many values that should be unique occur in several records.';
COMMENT ON COLUMN _index.sql_state IS 'The SQLSTATE with which PostgreSQL refused it.';
COMMENT ON COLUMN _index.changed_at IS 'When the row was last changed.';

-- Revisions -----------------------------------------------------------------------------------------------------------

-- The offset is part of the body, so that a revision reads no table and the planner inlines the call. PostgreSQL assigns the
-- transaction ids that a crash, a failover or a point-in-time recovery takes back again, so each start has its own offset.
-- The first write after a start uses it at once: if the start is not the one in the body, the body adds as many multiples of
-- 2^32 as _move_revisions() will write there. The offset is at least 2048 for each millisecond from 2020 to the start. A data
-- directory that was copied back therefore stamps no revision that existed before, and a client that compares revisions finds
-- what differs. A revision is exact in a double until 2159.
CREATE FUNCTION _revision() RETURNS bigint LANGUAGE sql STABLE
    RETURN pg_current_xact_id()::text::bigint + 0::bigint;
COMMENT ON FUNCTION _revision() IS
    'The revision of everything that this transaction writes: its id plus an offset that only grows, also across restarts, dumps and restores.';

CREATE FUNCTION _set_revision_offset(new_offset bigint) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    this_transaction bigint := pg_current_xact_id()::text::bigint;
    -- The offset that this transaction would use. Others use it until they see the new one, also some that start later.
    present_offset bigint := _revision() - this_transaction;
    until bigint := this_transaction + 65536;
    oldest bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    home _meta := (SELECT meta FROM _meta AS meta);
    former_offsets bigint[] := '{}';
    former_until bigint[] := '{}';
    system bigint := (SELECT control.system_identifier FROM pg_control_system() AS control);
BEGIN
    IF home.system_identifier = system THEN
        -- A prepared transaction survives a restart.
        SELECT coalesce(array_agg(former.revision_offset ORDER BY former.place), '{}'),
            coalesce(array_agg(former.until ORDER BY former.place), '{}')
        INTO former_offsets, former_until
        FROM unnest(home.former_offsets, home.former_until) WITH ORDINALITY AS former (revision_offset, until, place)
        WHERE former.until > oldest;
        IF home.revision_offset NOT IN (new_offset, present_offset) THEN
            -- Only prepared transactions can still use that offset.
            former_offsets := former_offsets || home.revision_offset;
            former_until := former_until || this_transaction;
        END IF;
    END IF;
    IF present_offset <> new_offset THEN
        former_offsets := former_offsets || present_offset;
        former_until := former_until || until;
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION _revision() RETURNS bigint LANGUAGE sql STABLE '
        'RETURN pg_current_xact_id()::text::bigint + CASE WHEN pg_postmaster_start_time() = %1$L::timestamptz THEN %2$L::bigint '
        'ELSE greatest(%2$L::bigint + (((pg_current_xact_id()::text::bigint + 2147483648) >> 32) + 1 << 32), '
        '(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint - 1577836800000 << 11) END',
        pg_postmaster_start_time(), new_offset
    );
    INSERT INTO _meta (system_identifier, revision_offset, timeline, started_at, former_offsets, former_until, home_table)
    VALUES (
        system, new_offset, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
        pg_postmaster_start_time(), former_offsets, former_until, '_meta'::regclass
    )
    ON CONFLICT (only_row) DO UPDATE
    SET system_identifier = EXCLUDED.system_identifier, revision_offset = EXCLUDED.revision_offset,
        timeline = EXCLUDED.timeline, started_at = EXCLUDED.started_at,
        former_offsets = EXCLUDED.former_offsets, former_until = EXCLUDED.former_until, home_table = EXCLUDED.home_table;
END $$;
COMMENT ON FUNCTION _set_revision_offset(bigint) IS 'Gives _revision() a new offset, from this start of PostgreSQL on.';

CREATE FUNCTION _move_revisions() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    home _meta;
    start_position bigint;
BEGIN
    PERFORM _hold('schema');
    SELECT * INTO home FROM _meta;
    IF home.home_table <> '_meta'::regclass OR home.system_identifier <> (SELECT system_identifier FROM pg_control_system()) THEN
        PERFORM _rebase_revisions();
    ELSIF home.started_at <> pg_postmaster_start_time() THEN
        PERFORM _set_revision_offset(_revision() - pg_current_xact_id()::text::bigint);
        -- The first checkpoint after a start is where the log of the previous start ended; nothing beyond it was ever in this
        -- database. The redo point of a later checkpoint is before its record.
        SELECT checkpoint_lsn - '0/0'::pg_lsn INTO start_position FROM pg_control_checkpoint()
        WHERE checkpoint_lsn = redo_lsn AND current_setting('wal_level') <> 'minimal';
        UPDATE _meta
        SET start_id = DEFAULT,
            former_starts = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_starts || home.start_id)[greatest(cardinality(former_starts) - 254, 1):] END,
            former_ends = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_ends || start_position)[greatest(cardinality(former_ends) - 254, 1):] END;
    END IF;
END $$;
COMMENT ON FUNCTION _move_revisions() IS
    'Raises the revisions of this start of PostgreSQL above all earlier ones; processes call it when they notice a restart.';

-- Transaction ids start again in the cluster to which a dump is restored. The next revision is then the first multiple of
-- 2^32 above all stored ones: a client of the old cluster may have caught up to its last transaction, which is later than its
-- last write.
CREATE FUNCTION _rebase_revisions() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass;
    highest bigint := coalesce((SELECT max(revision) FROM _tombstone), 0);
    highest_here bigint;
BEGIN
    FOR record_table IN
        SELECT attrelid
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = '_revision' AND atttypid = 'bigint'::regtype AND NOT attisdropped
            AND relkind IN ('r', 'p') AND relnamespace IN (
                SELECT oid FROM pg_namespace WHERE nspname = current_schema()
                UNION SELECT relnamespace FROM pg_class WHERE oid = '_meta'::regclass
            )
    LOOP
        EXECUTE format('SELECT coalesce(max(_revision), 0) FROM %s', record_table) INTO highest_here;
        highest := greatest(highest, highest_here);
    END LOOP;
    -- This is also above what the original has stamped since, if this database is a copy.
    PERFORM _set_revision_offset(
        greatest((highest >> 32) + 1 << 32, (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1577836800000 << 11)
        - pg_current_xact_id()::text::bigint
    );
    UPDATE _meta SET history = gen_random_uuid(), start_id = DEFAULT, former_starts = '{}', former_ends = '{}';
END $$;
COMMENT ON FUNCTION _rebase_revisions() IS
    'Keeps revisions growing after a restore into another cluster; the service calls it when it starts there.';

SELECT _set_revision_offset(0);

-- Tombstones ----------------------------------------------------------------------------------------------------------

CREATE TABLE _tombstone (
    type text NOT NULL,
    id text NOT NULL,
    database text NOT NULL,
    owner text,
    access jsonb,
    revision bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT now(),
    kind "char" NOT NULL DEFAULT 'd' CHECK (kind IN ('d', 'h')),
    members jsonb,
    PRIMARY KEY (database, revision, type, id)
);
CREATE INDEX ON _tombstone USING brin (deleted_at);
COMMENT ON TABLE _tombstone IS
    'The records that were deleted or that some users no longer see, for clients that catch up from a change token.';
COMMENT ON COLUMN _tombstone.type IS 'The record type.';
COMMENT ON COLUMN _tombstone.id IS 'The _id that the row had.';
COMMENT ON COLUMN _tombstone.database IS 'The _database that the row had.';
COMMENT ON COLUMN _tombstone.owner IS 'The _owner that the row had.';
COMMENT ON COLUMN _tombstone.access IS 'The _access that the row had, which decides who may learn that it is gone.';
COMMENT ON COLUMN _tombstone.revision IS 'The revision of the deletion or the change.';
COMMENT ON COLUMN _tombstone.deleted_at IS 'When the row was deleted or changed.';
COMMENT ON COLUMN _tombstone.kind IS 'd: the row was deleted or given another _id; h: its owner, access list or database was changed.';
COMMENT ON COLUMN _tombstone.members IS
    'The users in the fields that the class rule for reading names, {"assignee": "ann"}; NULL: no users.';

CREATE FUNCTION _named_fields(type text) RETURNS text[] LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT substr(subject, 7) ORDER BY substr(subject, 7))
        FROM _class_rule AS rule, unnest(rule.allow) AS subject
        WHERE rule.type = _named_fields.type COLLATE "C" AND rule.action = 'read' AND starts_with(subject, 'field:')
    );
END $$;
COMMENT ON FUNCTION _named_fields(text) IS
    'The fields whose users may read the records of a type by its class rule; NULL: no fields.';

CREATE FUNCTION _users_in(row_now jsonb, fields text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(name, row_now -> name) FROM unnest(fields) AS name
    WHERE row_now -> name IS NOT NULL AND row_now -> name <> 'null'
$$;
COMMENT ON FUNCTION _users_in(jsonb, text[]) IS 'The users in some fields of a row, by field name.';

-- These functions run as the owner of the schema, so that a deletion by any role leaves a tombstone.
CREATE FUNCTION _tombstone_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    fields text[] := _named_fields(TG_TABLE_NAME);
BEGIN
    IF fields IS NULL THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision)
        SELECT TG_TABLE_NAME, _id, _database, _owner, _access, _revision() FROM deleted_row
        ON CONFLICT DO NOTHING;
    ELSE
        INSERT INTO _tombstone (type, id, database, owner, access, revision, members)
        SELECT TG_TABLE_NAME, _id, _database, _owner, _access, _revision(), _users_in(to_jsonb(deleted_row), fields)
        FROM deleted_row
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _tombstone_deleted() IS 'Leaves a tombstone for every row that a statement deleted.';

CREATE FUNCTION _tombstone_truncated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'INSERT INTO _tombstone (type, id, database, owner, access, revision, members) '
        'SELECT %L, _id, _database, _owner, _access, _revision(), '
        'CASE WHEN $1 IS NOT NULL THEN _users_in(to_jsonb(record), $1) END FROM %s AS record ON CONFLICT DO NOTHING',
        TG_TABLE_NAME, TG_RELID::regclass
    ) USING _named_fields(TG_TABLE_NAME);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _tombstone_truncated() IS 'Leaves a tombstone for every row of a table that is about to be truncated.';

CREATE FUNCTION _tombstone_renamed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    fields text[] := _named_fields(TG_TABLE_NAME);
BEGIN
    INSERT INTO _tombstone (type, id, database, owner, access, revision, members)
    VALUES (
        TG_TABLE_NAME, OLD._id, OLD._database, OLD._owner, OLD._access, _revision(),
        CASE WHEN fields IS NOT NULL THEN _users_in(to_jsonb(OLD), fields) END
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _tombstone_renamed() IS 'Leaves a tombstone for the old id of a row that was given a new one.';

-- Clients that could read a row with its old owner and list learn from the tombstone that they may no longer see it. If a
-- transaction changes a row several times, only its first state was visible to others.
CREATE FUNCTION _conceal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    fields text[] := _named_fields(TG_TABLE_NAME);
BEGIN
    INSERT INTO _tombstone (type, id, database, owner, access, revision, kind, members)
    VALUES (
        TG_TABLE_NAME, OLD._id, OLD._database, OLD._owner, OLD._access, _revision(), 'h',
        CASE WHEN fields IS NOT NULL THEN _users_in(to_jsonb(OLD), fields) END
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _conceal() IS 'Leaves a tombstone with the old owner, access list and database of a row when one of them changes.';

CREATE FUNCTION _conceal_named() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    fields text[] := _named_fields(TG_TABLE_NAME);
    users jsonb := _users_in(to_jsonb(OLD), fields);
BEGIN
    IF users IS DISTINCT FROM _users_in(to_jsonb(NEW), fields) THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision, kind, members)
        VALUES (TG_TABLE_NAME, OLD._id, OLD._database, OLD._owner, OLD._access, _revision(), 'h', users)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _conceal_named() IS
    'Leaves a tombstone for a row when the users change in the fields that its class rule for reading names.';

-- Only types with such a rule have the trigger. It names no column, so that fields can be added, retyped and deleted.
CREATE FUNCTION _watch_named_fields(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := to_regclass(format('%I', type));
    is_watched boolean := EXISTS (SELECT FROM pg_trigger WHERE tgrelid = record_table AND tgname = '_conceal_named');
    -- The first type is created before the tables of rules.
    is_named boolean := CASE WHEN to_regclass('_class_rule') IS NOT NULL THEN _named_fields(type) IS NOT NULL ELSE false END;
BEGIN
    IF record_table IS NULL OR is_watched = is_named THEN
        RETURN;
    ELSIF is_named THEN
        EXECUTE format(
            'CREATE TRIGGER _conceal_named AFTER UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION _conceal_named()', type
        );
    ELSE
        EXECUTE format('DROP TRIGGER _conceal_named ON %I', type);
    END IF;
END $$;
COMMENT ON FUNCTION _watch_named_fields(text) IS
    'Creates the trigger _conceal_named on a record type whose class rule for reading names fields, and drops it from other types.';

-- Text ----------------------------------------------------------------------------------------------------------------

-- Texts are compared by the bytes of their UTF-8 in every locale, so that all servers and clients have the same order
-- (Documentation/Decisions/text-and-places.md).

-- Not STRICT, since the planner would not inline a strict function. In ICU's lower case, the sigma at the end of a word is
-- another letter.
DO $do$
BEGIN
    EXECUTE format($function$
        CREATE FUNCTION _fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
        RETURN CASE
            WHEN octet_length(value) = length(value) THEN lower(value COLLATE "C") COLLATE "C"
            ELSE translate(lower(value COLLATE %s) COLLATE "C", 'ς', 'σ') COLLATE "C"
        END
        $function$,
        CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN '"und-x-icu"' ELSE '"default"' END
    );
END $do$;
COMMENT ON FUNCTION _fold(text) IS 'A text without differences of case, as queries compare it.';

-- STRICT and never inlined, since the planner matches an index by the call. The bounds keep the words of any text within the
-- limits of a tsvector, 2 kB for a word and 1 MB for all. The function costs a thousand times as much as a comparison. If
-- PostgreSQL did not know that, it would look for the first records with some words in the order of ids, without the index.
CREATE FUNCTION _words(value text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED STRICT COST 1000
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN array_to_tsvector(ARRAY(
        SELECT left(word, 255) FROM unnest((array_remove(regexp_split_to_array(
            left(_fold(value), 250000),
            '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF\u2000-\u206F\u3000-\u303F]+' COLLATE "C"
        ), ''))[1:30000]) AS word
    ));
END $$;
COMMENT ON FUNCTION _words(text) IS 'The words of a text in lower case, as queries look for them.';

-- The bound keeps the stems of any text within the 1 MB of a tsvector: in the worst texts a character takes about 9 bytes.
CREATE FUNCTION _words(language regconfig, value text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED STRICT COST 1000
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN to_tsvector(language, left(value, 100000));
END $$;
COMMENT ON FUNCTION _words(regconfig, text) IS 'The words of a text in a language, as stems with their positions.';

-- Rebuilds indexes but no rows. Triggers prevent a change of the types of their columns, so they are dropped and created
-- again. Columns on which a view, a policy or a computed column depends stay as they are.
CREATE FUNCTION _order_by_bytes(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := format('%I', type)::regclass;
    changes text;
    held record;
    triggers text[] := '{}';
BEGIN
    SELECT string_agg(format('ALTER COLUMN %I TYPE text COLLATE "C"', attname), ', ' ORDER BY attnum) INTO changes
    FROM pg_attribute
    WHERE attrelid = record_table AND attnum > 0 AND NOT attisdropped AND atttypid = 'text'::regtype
        AND attcollation <> 'pg_catalog."C"'::regcollation
        AND NOT EXISTS (
            SELECT FROM pg_depend
            LEFT JOIN pg_attrdef ON classid = 'pg_attrdef'::regclass AND pg_attrdef.oid = objid
            WHERE refclassid = 'pg_class'::regclass AND refobjid = record_table AND refobjsubid = attnum
                AND (classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass) OR adnum <> attnum)
        );
    IF changes IS NULL THEN
        RETURN;
    END IF;
    FOR held IN
        SELECT tgname AS name, pg_get_triggerdef(oid) AS definition, tgenabled AS state FROM pg_trigger
        WHERE tgrelid = record_table AND NOT tgisinternal AND (tgattr::text <> '' OR tgqual IS NOT NULL)
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', held.name, record_table);
        triggers := triggers || held.definition;
        IF held.state <> 'O' THEN
            triggers := triggers || format(
                'ALTER TABLE %s %s TRIGGER %I', record_table,
                CASE held.state WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, held.name
            );
        END IF;
    END LOOP;
    EXECUTE format('ALTER TABLE %s %s', record_table, changes);
    FOREACH changes IN ARRAY triggers LOOP
        EXECUTE changes;
    END LOOP;
END $$;
COMMENT ON FUNCTION _order_by_bytes(text) IS
    'Gives the text columns of a record type the collation "C": SELECT _order_by_bytes(''movie'').';

-- Values inside of JSON -----------------------------------------------------------------------------------------------

-- Not STRICT, since the planner would not inline a strict function.
CREATE FUNCTION _json_text(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'string' THEN value #>> '{}' END $$;
COMMENT ON FUNCTION _json_text(jsonb) IS 'The text of a string inside of JSON; NULL for any other value.';

CREATE FUNCTION _json_number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::numeric END $$;
COMMENT ON FUNCTION _json_number(jsonb) IS 'A number inside of JSON with all its digits; NULL for any other value.';

CREATE FUNCTION _json_boolean(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'boolean' THEN value::boolean END $$;
COMMENT ON FUNCTION _json_boolean(jsonb) IS 'A boolean inside of JSON; NULL for any other value.';

-- Not a cast to timestamptz, which accepts far more texts, depends on settings of the session, and fails for all others. An
-- index needs the same result in every session, and NULL for any other value. The body names nothing outside of pg_catalog.
CREATE FUNCTION _json_instant(value jsonb) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    moment text;
    tail text;
    zone text := '';
    year integer;
    month integer;
    cycle integer;
    the_day date;
    days integer;
    seconds integer;
    microseconds bigint;
    since_midnight bigint;
BEGIN
    moment := CASE jsonb_typeof(value)
        WHEN 'string' THEN value #>> '{}'
        WHEN 'object' THEN CASE
            WHEN value -> '$type' = '"date"' AND jsonb_typeof(value -> '$date') = 'string' THEN value ->> '$date'
        END
    END;
    IF moment IS NULL OR octet_length(moment) > 64 THEN
        RETURN NULL;
    ELSIF moment IN ('infinity', '-infinity') THEN
        RETURN CASE moment WHEN 'infinity' THEN timestamptz 'infinity' ELSE timestamptz '-infinity' END;
    END IF;
    -- Without capturing groups, which take ten times as long.
    IF moment !~ (
        '^(?:[0-9]{4}|[+-][0-9]{6})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'
        '[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$'
    ) COLLATE "C" OR starts_with(moment, '-000000') THEN
        RETURN NULL;
    END IF;
    -- The year has four digits, or a sign and six digits. A hyphen and the rest follow, "02-07T06:42:59.871181+01:00".
    year := left(moment, strpos(substr(moment, 2), '-'));
    tail := substr(moment, strpos(substr(moment, 2), '-') + 2);
    month := left(tail, 2);
    -- The calendar repeats every 400 years, so the day is looked up in the years from 2000 to 2399.
    cycle := floor((year - 2000) / 400.0);
    the_day := make_date(year - 400 * cycle, month, 1) + (substr(tail, 4, 2)::integer - 1);
    days := the_day - date '2000-01-01' + 146097 * cycle;
    -- Days that no offset brings into the range are rejected before their microseconds exceed 64 bits.
    IF date_part('month', the_day) <> month OR days NOT BETWEEN -2451546 AND 106751984 THEN
        RETURN NULL;
    END IF;
    seconds := 3600 * substr(tail, 7, 2)::integer + 60 * substr(tail, 10, 2)::integer + substr(tail, 13, 2)::integer;
    tail := rtrim(substr(tail, 15), 'Zz');
    IF right(tail, 6) ~ '^[+-]' THEN
        zone := right(tail, 6);
        tail := left(tail, -6);
        seconds := seconds - (left(zone, 1) || '1')::integer
            * (3600 * substr(zone, 2, 2)::integer + 60 * right(zone, 2)::integer);
    END IF;
    -- Half a microsecond or more is rounded up.
    microseconds := 86400000000 * days + 1000000::bigint * seconds + rpad(substr(tail, 2, 6), 6, '0')::integer
        + (substr(tail, 8, 1) IN ('5', '6', '7', '8', '9'))::integer;
    -- The range of timestamptz.
    IF microseconds < -211813488000000000 OR microseconds >= 9223371331200000000 THEN
        RETURN NULL;
    END IF;
    -- The day by itself has to be in the range of timestamp, so the rest is counted from its midnight.
    since_midnight := (microseconds % 86400000000 + 86400000000) % 86400000000;
    days := (microseconds - since_midnight) / 86400000000;
    RETURN (timestamp '2000-01-01' + (days * interval '1 day' + since_midnight * interval '1 microsecond'))
        AT TIME ZONE interval '0';
END $$;
COMMENT ON FUNCTION _json_instant(jsonb) IS
    'An instant inside of JSON, a text of RFC 3339 with an offset or {"$type": "date", "$date": text}; NULL for any other value.';

-- Live changes --------------------------------------------------------------------------------------------------------

-- Live queries follow the changes of a publication (Documentation/Decisions/change-feed.md). The names of publications are
-- unique in the whole database, so the name contains that of the schema.
CREATE FUNCTION _publication_name() RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    name text := 'skyrow_' || current_schema();
BEGIN
    RETURN CASE WHEN octet_length(name) <= 63 THEN name ELSE 'skyrow_' || md5(name) END;
END $$;
COMMENT ON FUNCTION _publication_name() IS 'The name of the publication of this schema, such as skyrow_app.';

CREATE FUNCTION _unpublished(only_table regclass DEFAULT NULL) RETURNS SETOF regclass LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT relation.oid::regclass FROM pg_class AS relation
    WHERE (only_table IS NULL OR relation.oid = only_table)
        AND relation.relkind IN ('r', 'p') AND NOT relation.relispartition AND relation.relpersistence = 'p'
        AND (
            relation.oid = '_tombstone'::regclass
            OR relation.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
            AND NOT starts_with(relation.relname, '_') AND 9 = (
                SELECT count(*) FROM pg_attribute
                WHERE attrelid = relation.oid AND attnum > 0 AND NOT attisdropped AND attname IN (
                    '_id', '_database', '_owner', '_access', '_created_at', '_created_by', '_updated_at', '_updated_by',
                    '_revision'
                )
            )
        )
        AND NOT EXISTS (
            SELECT FROM pg_publication JOIN pg_publication_rel AS member ON prpubid = pg_publication.oid
            WHERE pubname = _publication_name() AND prrelid = relation.oid
                -- All of its changes, without a row filter or a column list.
                AND pubinsert AND pubupdate AND pubdelete AND pubtruncate
                AND to_jsonb(member) ->> 'prqual' IS NULL AND to_jsonb(member) ->> 'prattrs' IS NULL
        )
    ORDER BY relation.oid
$$;
COMMENT ON FUNCTION _unpublished(regclass) IS 'The record tables, and _tombstone, whose changes should be published but are not.';

-- A role without the privilege gets no live changes; its caller continues without them.
CREATE FUNCTION _publish(only_table regclass DEFAULT NULL) RETURNS text LANGUAGE plpgsql
SET search_path FROM CURRENT SET client_min_messages = error AS $$
DECLARE
    publication text := _publication_name();
    missing regclass;
    reason text;
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = publication) THEN
            EXECUTE format('CREATE PUBLICATION %I WITH (publish_via_partition_root = true)', publication);
        ELSIF EXISTS (
            SELECT FROM pg_publication
            WHERE pubname = publication AND NOT (pubinsert AND pubupdate AND pubdelete AND pubtruncate AND pubviaroot)
        ) THEN
            EXECUTE format(
                'ALTER PUBLICATION %I SET (publish = ''insert, update, delete, truncate'', publish_via_partition_root = true)',
                publication
            );
        END IF;
    EXCEPTION
        WHEN insufficient_privilege THEN RETURN SQLERRM;
        -- Another session was faster.
        WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    FOR missing IN SELECT _unpublished(only_table) LOOP
        BEGIN
            -- PostgreSQL refuses every UPDATE of a published table without a replica identity.
            IF EXISTS (
                SELECT FROM pg_class
                WHERE oid = missing AND (relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (
                    SELECT FROM pg_index WHERE indrelid = missing AND indisprimary
                ))
            ) THEN
                EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', missing);
            END IF;
            IF EXISTS (
                SELECT FROM pg_publication JOIN pg_publication_rel ON prpubid = pg_publication.oid
                WHERE pubname = publication AND prrelid = missing
            ) THEN
                EXECUTE format('ALTER PUBLICATION %I DROP TABLE %s', publication, missing);
            END IF;
            EXECUTE format('ALTER PUBLICATION %I ADD TABLE %s', publication, missing);
        EXCEPTION
            WHEN insufficient_privilege THEN reason := coalesce(reason, SQLERRM);
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
    RETURN reason;
END $$;
COMMENT ON FUNCTION _publish(regclass) IS
    'Creates the publication and adds the record tables that it lacks; returns an error message if that was not permitted, otherwise NULL.';

-- Record tables -------------------------------------------------------------------------------------------------------

CREATE FUNCTION _stamp() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    -- Filling a column that is still being created changes nothing that clients read.
    IF current_setting('skyrow.keeps_revision', true) = 'on' THEN
        RETURN NEW;
    END IF;
    NEW._revision := _revision();
    IF NEW._updated_at IS NOT DISTINCT FROM OLD._updated_at THEN
        NEW._updated_at := now();
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _stamp() IS 'Gives a row that is updated by hand its new revision and time.';

-- PL/pgSQL functions, not expressions: PostgreSQL parses a check's expression for each statement, and these would take longer
-- to parse than the rest of an insert (Documentation/Decisions/tables-and-values.md).
CREATE FUNCTION _id_fits(id text, database text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE database
        WHEN '_public' THEN octet_length(id) BETWEEN 1 AND 255 AND NOT starts_with(id, '~')
        ELSE starts_with(id, '~' || database || '/') AND octet_length(id) - octet_length(database) BETWEEN 3 AND 257
    END;
END $$;
COMMENT ON FUNCTION _id_fits(text, text) IS
    'Whether the _id of a public row has 1 to 255 bytes and does not begin with ~, and that of a private row is such an id after ~<user id>/.';

CREATE FUNCTION _database_fits(database text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    -- The wire id begins after the first slash, so the user id must not contain one.
    RETURN database = '_public' OR database <> '' AND NOT starts_with(database, '_') AND strpos(database, '/') = 0;
END $$;
COMMENT ON FUNCTION _database_fits(text) IS 'Whether a database is _public or the id of a user, which contains no slash and does not begin with _.';

CREATE FUNCTION _access_fits(access jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    RETURN CASE
        WHEN jsonb_typeof(access) <> 'object' THEN false
        -- A long list slows down every query that reads the row. Settings limit requests further.
        WHEN pg_column_size(access) > 1048576 THEN false
        -- Statements that read test only whether the key exists, so a value that is not a level must not get in. The path is
        -- strict, since a lax one would accept ["read"] as "read".
        ELSE NOT coalesce(access @? 'strict $.* ? (
            (@ == "read" || @ == "update" || @ == "delete" || @ == "write") is unknown
            || !(@ == "read" || @ == "update" || @ == "delete" || @ == "write")
        )', true)
    END;
END $$;
COMMENT ON FUNCTION _access_fits(jsonb) IS
    'Whether an access list is an object of at most 1 MB that gives subjects the levels read, update, delete or write; NULL: no list.';

-- Only statements about types whose lists name a relation have conditions on it, so that other types do not pay for them. This
-- trigger notes the first such entry, also of rows that psql writes.
CREATE FUNCTION _note_relation_entry() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    named text[] := ARRAY(
        SELECT name FROM unnest('{followed,follower,friend}'::text[]) AS name WHERE NEW._access ? ('relation:' || name)
    );
BEGIN
    IF NOT EXISTS (SELECT FROM _class_option AS option WHERE option.type = TG_TABLE_NAME AND option.relations @> named) THEN
        -- A change of the rules locks this row first, too.
        PERFORM FROM _version AS known WHERE known.name = 'rules' FOR UPDATE;
        INSERT INTO _class_option AS option (type, relations) VALUES (TG_TABLE_NAME, named)
        ON CONFLICT (type) DO UPDATE SET relations = ARRAY(
            SELECT DISTINCT name FROM unnest(option.relations || EXCLUDED.relations) AS name ORDER BY name
        );
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_relation_entry() IS
    'Notes which relations of users the access lists of a record type name.';

-- What a record table has besides its columns, with the names by which "skyrow schema apply" creates a part again. There are
-- few indexes, since each of them slows down every insert (Documentation/Decisions/tables-and-values.md).
CREATE FUNCTION _create_type_parts(type text, only_part text DEFAULT NULL, validates boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := format('%I', type)::regclass;
    part record;
BEGIN
    FOR part IN
        SELECT * FROM (VALUES
            ('(_database, _created_at)', 'CREATE INDEX ON %I (_database, _created_at)'),
            ('(_owner, _created_at)', 'CREATE INDEX ON %I (_owner, _created_at) WHERE _owner IS NOT NULL'),
            ('_stamp',
                'CREATE TRIGGER _stamp BEFORE UPDATE ON %I FOR EACH ROW '
                'WHEN (NEW._revision IS NOT DISTINCT FROM OLD._revision) EXECUTE FUNCTION _stamp()'),
            ('_tombstone_deleted',
                'CREATE TRIGGER _tombstone_deleted AFTER DELETE ON %I REFERENCING OLD TABLE AS deleted_row '
                'FOR EACH STATEMENT EXECUTE FUNCTION _tombstone_deleted()'),
            ('_tombstone_truncated',
                'CREATE TRIGGER _tombstone_truncated BEFORE TRUNCATE ON %I '
                'FOR EACH STATEMENT EXECUTE FUNCTION _tombstone_truncated()'),
            ('_tombstone_renamed',
                'CREATE TRIGGER _tombstone_renamed AFTER UPDATE OF _id ON %I FOR EACH ROW '
                'WHEN (NEW._id <> OLD._id) EXECUTE FUNCTION _tombstone_renamed()'),
            ('_conceal',
                'CREATE TRIGGER _conceal AFTER UPDATE OF _owner, _access, _database ON %I FOR EACH ROW '
                'WHEN (NEW._owner IS DISTINCT FROM OLD._owner OR NEW._access IS DISTINCT FROM OLD._access '
                'OR NEW._database <> OLD._database) EXECUTE FUNCTION _conceal()'),
            ('_note_relation_entry',
                'CREATE TRIGGER _note_relation_entry AFTER INSERT OR UPDATE OF _access ON %I FOR EACH ROW '
                'WHEN (NEW._access ?| ''{relation:friend,relation:follower,relation:followed}'') '
                'EXECUTE FUNCTION _note_relation_entry()'),
            ('_id_fits', 'ALTER TABLE %I ADD CONSTRAINT _id_fits CHECK (_id_fits(_id, _database))'),
            ('_database_fits', 'ALTER TABLE %I ADD CONSTRAINT _database_fits CHECK (_database_fits(_database))'),
            ('_access_fits', 'ALTER TABLE %I ADD CONSTRAINT _access_fits CHECK (_access_fits(_access))')
        ) AS parts (name, statement)
        WHERE only_part IS NULL OR name = only_part
    LOOP
        -- There may be a broken part of this name.
        IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = record_table AND tgname = part.name) THEN
            EXECUTE format('DROP TRIGGER %I ON %I', part.name, type);
        END IF;
        IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = record_table AND conname = part.name) THEN
            EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', type, part.name);
        END IF;
        IF part.name LIKE '%\_fits' THEN
            EXECUTE format(part.statement || CASE WHEN validates THEN '' ELSE ' NOT VALID' END, type);
            EXECUTE format(
                'COMMENT ON CONSTRAINT %I ON %I IS %L', part.name, type, CASE part.name
                    WHEN '_id_fits' THEN
                        'The _id of a public record has 1 to 255 bytes and does not begin with ~; in a private database it is ~<user id>/<id>.'
                    WHEN '_database_fits' THEN
                        'The _database is _public, or the id of a user, which contains no slash and does not begin with _.'
                    ELSE 'The _access is an object of at most 1 MB that gives subjects the levels read, update, delete or write.'
                END
            );
        ELSE
            EXECUTE format(part.statement, type);
        END IF;
    END LOOP;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A record table has no part %.', only_part USING ERRCODE = 'undefined_object';
    END IF;
END $$;
COMMENT ON FUNCTION _create_type_parts(text, text, boolean) IS
    'Creates what the table of a record type has besides columns, or replaces one part of it: '
    'SELECT _create_type_parts(''movie'', ''_stamp'').';

-- The table of a record type with everything that Documentation/Concepts.md lists.
CREATE FUNCTION _create_type(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    about record;
BEGIN
    IF type !~ '^[A-Za-z][A-Za-z0-9_]{0,62}$' THEN
        RAISE EXCEPTION 'A record type name must be a letter followed by at most 62 letters, digits or underscores.'
            USING ERRCODE = 'invalid_name';
    END IF;
    EXECUTE format($table$
        CREATE TABLE %I (
            _id text COLLATE "C" PRIMARY KEY DEFAULT gen_random_uuid()::text,
            _database text COLLATE "C" NOT NULL DEFAULT '_public',
            _owner text COLLATE "C",
            _access jsonb,
            _created_at timestamptz NOT NULL DEFAULT now(),
            _created_by text COLLATE "C",
            _updated_at timestamptz NOT NULL DEFAULT now(),
            _updated_by text COLLATE "C",
            _revision bigint NOT NULL DEFAULT _revision()
        )$table$, type);
    PERFORM _create_type_parts(type);
    PERFORM _watch_named_fields(type);
    -- The whole row before a change decides which live queries a record leaves.
    EXECUTE format('ALTER TABLE %I REPLICA IDENTITY FULL', type);
    PERFORM _publish(format('%I', type)::regclass);
    EXECUTE format('COMMENT ON TABLE %I IS %L', type, 'Records of the type ' || type || '.');
    FOR about IN
        SELECT * FROM (VALUES
            ('_id', 'The record''s id; in a private database ~<user id>/<id>.'),
            ('_database', 'The database of the row: _public, or the id of the only user who sees it.'),
            ('_owner', 'The id of the user who owns the record.'),
            ('_access', 'The record''s own access list, {"role:editor": "write"}; NULL: everyone may read it, and its owner may write it.'),
            ('_created_at', 'When the record was created.'),
            ('_created_by', 'The id of the user who created the record.'),
            ('_updated_at', 'When the record was last changed.'),
            ('_updated_by', 'The id of the user who last changed the record.'),
            ('_revision', 'A number that grows with every change; see _revision().')
        ) AS text_of (name, sentence)
    LOOP
        EXECUTE format('COMMENT ON COLUMN %I.%I IS %L', type, about.name, about.sentence);
    END LOOP;
END $$;
COMMENT ON FUNCTION _create_type(text) IS
    'Creates the table of a record type: SELECT _create_type(''movie''); its fields are added with ALTER TABLE.';

-- Sequence fields -----------------------------------------------------------------------------------------------------

-- Runs as the owner of the schema, since a role that may write a row need not have privileges on its sequences. Only tables
-- with a sequence have the trigger, which fires once for a statement. It finds a column by its sequence, so that the column
-- may be renamed.
CREATE FUNCTION _advance_sequences() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    field record;
    highest bigint;
BEGIN
    FOR field IN SELECT name, numbers FROM _sequences(TG_RELID) LOOP
        -- A number beyond 2^53 does not advance the sequence: one save could exhaust it.
        EXECUTE format('SELECT max(%1$I) FROM new_row WHERE %1$I < 9007199254740992', field.name) INTO highest;
        CONTINUE WHEN highest IS NULL OR highest <= coalesce(pg_sequence_last_value(field.numbers), 0);
        IF highest - coalesce(pg_sequence_last_value(field.numbers), 0) <= 10000 THEN
            -- nextval() only moves forward, also while other sessions use the sequence.
            WHILE nextval(field.numbers) < highest LOOP
            END LOOP;
        ELSE
            PERFORM _hold('sequence ' || field.numbers::oid);
            IF highest > coalesce(pg_sequence_last_value(field.numbers), 0) THEN
                PERFORM setval(field.numbers, highest);
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _advance_sequences() IS
    'Advances the sequences of a table to the highest numbers that a statement wrote.';

CREATE FUNCTION _sequences(record_table oid) RETURNS TABLE (name name, number smallint, numbers regclass)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT attname, attnum, pg_get_serial_sequence(attrelid::regclass::text, attname)::regclass
    FROM pg_attribute
    WHERE attrelid = record_table AND attnum > 0 AND NOT attisdropped AND NOT starts_with(attname, '_')
        AND (attidentity <> '' OR atthasdef)
        AND pg_get_serial_sequence(attrelid::regclass::text, attname) IS NOT NULL
$$;
COMMENT ON FUNCTION _sequences(oid) IS 'The sequence fields of a record table, and their sequences.';

-- The index is partial, like that of a reference, so that it is not taken for an index of a schema file.
CREATE FUNCTION _keep_sequences(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := format('%I', type)::regclass;
    field record;
    highest bigint;
BEGIN
    FOR field IN SELECT name, number, numbers FROM _sequences(record_table) LOOP
        IF NOT EXISTS (
            SELECT FROM pg_index
            WHERE indrelid = record_table AND indisunique AND indisvalid AND indnkeyatts = 1
                AND indkey[0] = field.number
                AND coalesce(pg_get_expr(indpred, indrelid) = format('(%I IS NOT NULL)', field.name), true)
        ) THEN
            BEGIN
                EXECUTE format('CREATE UNIQUE INDEX ON %1$I (%2$I) WHERE %2$I IS NOT NULL', type, field.name);
            EXCEPTION WHEN unique_violation THEN
                RAISE WARNING 'The field % of % contains a number twice, so it gets no unique index.',
                    field.name, type;
            END;
        END IF;
        EXECUTE format('SELECT max(%1$I) FROM %2$I WHERE %1$I < 9007199254740992', field.name, type) INTO highest;
        IF highest > coalesce(pg_sequence_last_value(field.numbers), 0) THEN
            PERFORM setval(field.numbers, highest);
        END IF;
    END LOOP;
    IF NOT EXISTS (SELECT FROM _sequences(record_table)) OR EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = record_table AND tgname = '_advance_sequences_by_insert'
    ) THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TRIGGER _advance_sequences_by_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS new_row '
        'FOR EACH STATEMENT EXECUTE FUNCTION _advance_sequences()', type
    );
    EXECUTE format(
        'CREATE TRIGGER _advance_sequences_by_update AFTER UPDATE ON %I REFERENCING NEW TABLE AS new_row '
        'FOR EACH STATEMENT EXECUTE FUNCTION _advance_sequences()', type
    );
END $$;
COMMENT ON FUNCTION _keep_sequences(text) IS
    'Makes the sequence fields of a record type unique, and has their sequences continue after numbers that are written by hand.';

-- Parents -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION _count_above(here regclass, parent text) RETURNS integer LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    above regclass;
    level integer := 0;
BEGIN
    WHILE parent IS NOT NULL AND level < 32 LOOP
        above := (
            SELECT confrelid
            FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
            WHERE conrelid = here AND contype = 'f' AND attname = '_parent'
            ORDER BY conname LIMIT 1
        );
        EXIT WHEN above IS NULL;
        level := level + 1;
        EXIT WHEN NOT EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = above AND attname = '_parent' AND NOT attisdropped
        );
        EXECUTE format('SELECT _parent FROM %s WHERE _id = $1', above) INTO parent USING parent;
        here := above;
    END LOOP;
    RETURN level;
END $$;
COMMENT ON FUNCTION _count_above(regclass, text) IS 'How many records are above a record of a table with that parent.';

-- A level with more than 100,000 records takes too long to search, and counts as too deep.
CREATE FUNCTION _reaches_below(here regclass, ids text[], levels integer) RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    below regclass;
    found_ids text[];
BEGIN
    FOR below IN
        SELECT DISTINCT conrelid::regclass
        FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
        WHERE confrelid = here AND contype = 'f' AND attname = '_parent' AND conparentid = 0
    LOOP
        EXECUTE format('SELECT array_agg(_id) FROM (SELECT _id FROM %s WHERE _parent = ANY ($1) LIMIT 100001) AS child', below)
        INTO found_ids USING ids;
        IF found_ids IS NOT NULL AND (
            levels <= 0 OR cardinality(found_ids) > 100000 OR _reaches_below(below, found_ids, levels - 1)
        ) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;
COMMENT ON FUNCTION _reaches_below(regclass, text[], integer) IS 'Whether some records are more than a number of levels below the given ones.';

-- The way up also follows foreign keys that psql made. The function runs as the owner of the schema, since a role that may
-- write a record need not see those above it. It waits for rows that other transactions are changing: two changes that are
-- valid by themselves could together make a cycle.
CREATE FUNCTION _check_parent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    here regclass := TG_RELID;
    above regclass;
    above_id text := NEW._parent;
    level integer := 0;
    level_before integer;
BEGIN
    IF TG_OP = 'UPDATE' AND OLD._parent IS NOT DISTINCT FROM NEW._parent THEN
        RETURN NULL;
    END IF;
    LOOP
        above := (
            SELECT confrelid
            FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
            WHERE conrelid = here AND contype = 'f' AND attname = '_parent'
            ORDER BY conname LIMIT 1
        );
        EXIT WHEN above IS NULL OR above_id IS NULL;
        level := level + 1;
        IF level > 32 OR above = TG_RELID AND above_id = NEW._id THEN
            RAISE EXCEPTION 'A record cannot be below itself, and at most 32 records can be above it.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_check_parent', TABLE = TG_TABLE_NAME;
        END IF;
        EXIT WHEN NOT EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = above AND attname = '_parent' AND NOT attisdropped
        );
        -- An insert locks nothing: only records of the same statement can refer to a new record.
        EXECUTE format(
            'SELECT _parent FROM %s WHERE _id = $1%s', above, CASE TG_OP WHEN 'UPDATE' THEN ' FOR SHARE' ELSE '' END
        ) INTO above_id USING above_id;
        here := above;
    END LOOP;
    -- The records below a record move with it.
    IF TG_OP = 'UPDATE' THEN
        level_before := _count_above(TG_RELID, OLD._parent);
        IF level > level_before AND _reaches_below(TG_RELID, ARRAY[NEW._id], 32 - level) THEN
            RAISE EXCEPTION 'At most 32 records can be above a record, also above those that are below this one.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_check_parent', TABLE = TG_TABLE_NAME;
        END IF;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_parent() IS 'Refuses a parent that would put a record below itself or below more than 32 others.';

CREATE FUNCTION _keep_parent(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER _check_parent AFTER INSERT OR UPDATE OF _parent ON %I FOR EACH ROW '
        'WHEN (NEW._parent IS NOT NULL) EXECUTE FUNCTION _check_parent()', type
    );
END $$;
COMMENT ON FUNCTION _keep_parent(text) IS 'Creates the trigger that checks the column _parent of a record type: SELECT _keep_parent(''item'').';

-- Relations -----------------------------------------------------------------------------------------------------------

-- A relation is a table with a row for each member. A column without values stands for it in the type's table. A check of the
-- column refers to the table of the members: PostgreSQL stores the object, not its name, so the reference survives renaming.

CREATE FUNCTION _members(type text, field text) RETURNS regclass LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT to_regclass((regexp_match(pg_get_expr(conbin, conrelid), '''([^'']+)''::regclass IS NOT NULL'))[1])
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
    WHERE conrelid = format('%I', type)::regclass AND contype = 'c' AND attname = field
        AND atttypid = 'boolean'::regtype
    ORDER BY conname LIMIT 1
$$;
COMMENT ON FUNCTION _members(text, text) IS 'The table of the members of a relation: SELECT _members(''post'', ''likes'').';

CREATE FUNCTION _members_name(type text, field text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE
        WHEN length(type) + length(field) < 63 THEN type || '.' || field
        ELSE left(type, 24) || '.' || left(field, 24) || '_' || left(md5(type || '.' || field), 12)
    END
$$;
COMMENT ON FUNCTION _members_name(text, text) IS 'The name of the table of the members of a relation; no type has a name with a dot.';

CREATE FUNCTION _describe_relation(type text, field text, target text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'COMMENT ON TABLE %I IS %L', _members_name(type, field), 'relation ' || type || '.' || field || ' -> ' || target
    );
    EXECUTE format(
        'COMMENT ON COLUMN %I.%I IS %L', type, field,
        'Stands for a relation; its members are in a table of their own.'
    );
END $$;
COMMENT ON FUNCTION _describe_relation(text, text, text) IS 'Sets the comments of a relation''s table and column.';

CREATE FUNCTION _create_relation(type text, field text, target text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    members text := _members_name(type, field);
BEGIN
    -- Deferrable, so that records which refer to each other can be saved in one transaction.
    EXECUTE format(
        'CREATE TABLE %1$I (
            _from text COLLATE "C" NOT NULL REFERENCES %2$I (_id) ON DELETE CASCADE DEFERRABLE,
            _to text COLLATE "C" NOT NULL REFERENCES %3$I (_id) ON DELETE CASCADE DEFERRABLE,
            PRIMARY KEY (_from, _to)
        )', members, type, target
    );
    EXECUTE format('CREATE INDEX ON %I (_to, _from)', members);
    -- No row has a value in the column, so the check needs no scan while others wait.
    EXECUTE format(
        'ALTER TABLE %1$I ADD COLUMN %2$I boolean, ADD CHECK (%2$I IS NULL AND %3$L::regclass IS NOT NULL) NOT VALID',
        type, field, quote_ident(members)
    );
    PERFORM _describe_relation(type, field, target);
END $$;
COMMENT ON FUNCTION _create_relation(text, text, text) IS
    'Adds a relation to a record type: SELECT _create_relation(''post'', ''likes'', ''user'').';

CREATE FUNCTION _rename_relation(type text, field text, new_field text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    members regclass := _members(type, field);
    target text := (
        SELECT target.relname
        FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
            JOIN pg_class AS target ON target.oid = confrelid
        WHERE conrelid = members AND contype = 'f' AND attname = '_to'
    );
BEGIN
    IF field <> new_field THEN
        EXECUTE format('ALTER TABLE %I RENAME COLUMN %I TO %I', type, field, new_field);
    END IF;
    EXECUTE format('ALTER TABLE %s RENAME TO %I', members, _members_name(type, new_field));
    PERFORM _describe_relation(type, new_field, target);
END $$;
COMMENT ON FUNCTION _rename_relation(text, text, text) IS
    'Renames a relation: SELECT _rename_relation(''post'', ''likes'', ''fans'').';

CREATE FUNCTION _delete_relation(type text, field text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    members regclass := _members(type, field);
BEGIN
    -- The check of the column depends on the table.
    EXECUTE format('ALTER TABLE %I DROP COLUMN %I', type, field);
    EXECUTE format('DROP TABLE %s', members);
END $$;
COMMENT ON FUNCTION _delete_relation(text, text) IS
    'Deletes a relation, but not the records that are its members: SELECT _delete_relation(''post'', ''likes'').';

-- All relations of a type, by the names of their fields.
CREATE FUNCTION _relations(type text) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT attname::text FROM pg_attribute
    WHERE attrelid = format('%I', type)::regclass AND atttypid = 'boolean'::regtype AND NOT attisdropped
        AND _members(type, attname::text) IS NOT NULL
    ORDER BY attname
$$;
COMMENT ON FUNCTION _relations(text) IS 'The relations of a record type: SELECT _relations(''post'').';

CREATE FUNCTION _rename_relations(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _rename_relation(type, field, field) FROM _relations(type) AS field;
END $$;
COMMENT ON FUNCTION _rename_relations(text) IS 'Renames the tables of a type''s relations after the type was renamed.';

CREATE FUNCTION _delete_relations(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _delete_relation(type, field) FROM _relations(type) AS field;
END $$;
COMMENT ON FUNCTION _delete_relations(text) IS 'Deletes the relations of a record type.';

-- A separate statement, which sees what others added while the statement around it waited for the record's row.
CREATE FUNCTION _unrelate(members regclass, owner text, ids text[]) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE _from = $1 AND _to = ANY ($2)', members) USING owner, ids;
    RETURN true;
END $$;
COMMENT ON FUNCTION _unrelate(regclass, text, text[]) IS 'Removes members from the relation of a record; returns true.';

-- Accounts ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION _decoded_label(label text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    digits text := lower(substr(label, 5) COLLATE "C");
    decoded text := '';
    place integer;
    point bigint := 128;
    index bigint := 0;
    former bigint;
    weight bigint;
    digit bigint;
    bias bigint := 72;
    step bigint;
    threshold bigint;
    size bigint;
BEGIN
    IF length(label) > 63 OR label COLLATE "C" !~* '^xn--[a-z0-9-]*[a-z0-9]$' THEN
        RETURN NULL;
    END IF;
    place := length(digits) - strpos(reverse(digits), '-') + 1;
    IF place <= length(digits) THEN
        decoded := left(digits, place - 1);
        digits := substr(digits, place + 1);
    END IF;
    place := 1;
    WHILE place <= length(digits) LOOP
        former := index;
        weight := 1;
        step := 36;
        LOOP
            IF place > length(digits) THEN
                RETURN NULL;
            END IF;
            digit := ascii(substr(digits, place, 1));
            digit := CASE WHEN digit >= 97 THEN digit - 97 ELSE digit - 22 END;
            place := place + 1;
            index := index + digit * weight;
            threshold := greatest(1, least(26, step - bias));
            EXIT WHEN digit < threshold;
            weight := weight * (36 - threshold);
            IF index > 1000000000 OR weight > 1000000000 THEN
                RETURN NULL;
            END IF;
            step := step + 36;
        END LOOP;
        size := length(decoded) + 1;
        weight := (index - former) / CASE WHEN former = 0 THEN 700 ELSE 2 END;
        weight := weight + weight / size;
        step := 0;
        WHILE weight > 455 LOOP
            weight := weight / 35;
            step := step + 36;
        END LOOP;
        bias := step + 36 * weight / (weight + 38);
        point := point + index / size;
        index := index % size;
        IF point > 1114111 OR point BETWEEN 55296 AND 57343 THEN
            RETURN NULL;
        END IF;
        decoded := left(decoded, index::integer) || chr(point::integer) || substr(decoded, index::integer + 1);
        index := index + 1;
    END LOOP;
    RETURN decoded;
END $$;
COMMENT ON FUNCTION _decoded_label(text) IS 'The Unicode form of a label of an internationalised domain (RFC 3492); NULL for any other label.';

CREATE FUNCTION _login_domain(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    host integer;
    labels text[];
BEGIN
    IF value COLLATE "C" !~* '@[^@]*(xn--|\u3002)' THEN
        RETURN value;
    END IF;
    host := length(value) - strpos(reverse(value), '@') + 2;
    labels := string_to_array(replace(substr(value, host), U&'\3002', '.'), '.');
    FOR place IN 1..cardinality(labels) LOOP
        labels[place] := coalesce(_decoded_label(labels[place]), labels[place]);
    END LOOP;
    RETURN left(value, host - 1) || array_to_string(labels, '.');
END $$;
COMMENT ON FUNCTION _login_domain(text) IS 'A mail address with its internationalised domain in Unicode; any other text unchanged.';

-- Texts that people take for the same login key have one form. NFKC unifies what differs only in form, invisible code points
-- (Unicode's Default_Ignorable_Code_Point, and control characters) are removed, white space becomes one space and is removed
-- at both ends, internationalised domains are in Unicode, and letters are folded. Upper case between two lower cases unifies
-- letters with two lower-case forms, such as the sigmas. ICU folds alike everywhere; PostgreSQL without ICU folds as the
-- locale of the database says.
DO $do$
BEGIN
    EXECUTE format($function$
        CREATE FUNCTION _login_canonical(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN normalize(lower(upper(lower(btrim(regexp_replace(regexp_replace(
            _login_domain(normalize(value, NFKC)),
            '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F'
            '\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB'
            '\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]',
            '', 'g'
        ), '[\u0009-\u000D\u0020\u0085\u1680\u2028\u2029\u2800]+', ' ', 'g')) COLLATE %s))), NFKC)
        $function$,
        CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN '"und-x-icu"' ELSE '"default"' END
    );
END $do$;
COMMENT ON FUNCTION _login_canonical(text) IS 'The form in which login keys are compared.';

SELECT _create_type('user');
SELECT _publish();
ALTER TABLE "user"
    ADD COLUMN username text COLLATE "C",
    ADD COLUMN email text COLLATE "C",
    ADD COLUMN last_login_at timestamptz,
    ADD COLUMN _verified boolean,
    ADD CONSTRAINT _user_is_public CHECK (_database = '_public');
COMMENT ON TABLE "user" IS 'The profiles of accounts, which applications see; credentials are in _user.';
COMMENT ON COLUMN "user".username IS 'A name to log in with.';
COMMENT ON COLUMN "user".email IS 'A mail address to log in with.';
COMMENT ON COLUMN "user".last_login_at IS 'When the user last logged in.';
COMMENT ON COLUMN "user"._verified IS
    'Whether the address is the verified one; NULL: no verification was ever begun. Triggers set it and replace what is written.';
CREATE UNIQUE INDEX _login_key_username ON "user" (_login_canonical(username));
CREATE UNIQUE INDEX _login_key_email ON "user" (_login_canonical(email));

CREATE TABLE _user (
    id text COLLATE "C" PRIMARY KEY REFERENCES "user" (_id) ON DELETE CASCADE,
    password_hash text,
    token_valid_since timestamptz NOT NULL DEFAULT '-infinity',
    disabled boolean NOT NULL DEFAULT false,
    disabled_message text,
    disabled_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_login_at timestamptz,
    last_seen_at timestamptz,
    epoch bigint NOT NULL DEFAULT 0,
    default_access jsonb CHECK (_access_fits(default_access)),
    verified_email text,
    second_factor boolean NOT NULL DEFAULT false,
    password_changed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _user IS 'The credentials of accounts; profiles are in "user".';
COMMENT ON COLUMN _user.id IS 'The id of the account and of its profile.';
COMMENT ON COLUMN _user.password_hash IS 'The hashed password with its parameters; NULL: the account has no password.';
COMMENT ON COLUMN _user.token_valid_since IS 'When the access tokens were last revoked; setting it revokes them.';
COMMENT ON COLUMN _user.disabled IS 'Whether the account is disabled.';
COMMENT ON COLUMN _user.disabled_message IS 'The message for the user of a disabled account.';
COMMENT ON COLUMN _user.disabled_until IS 'When a disabled account is enabled again; NULL: never.';
COMMENT ON COLUMN _user.created_at IS 'When the account was created.';
COMMENT ON COLUMN _user.last_login_at IS 'When the user last logged in.';
COMMENT ON COLUMN _user.last_seen_at IS 'When the user last logged in or called the action me.';
COMMENT ON COLUMN _user.epoch IS 'How often the access tokens were revoked; a session of another epoch has ended.';
COMMENT ON COLUMN _user.default_access IS
    'The access list of new public records that this user saves without one, {"role:editor": "write"}; NULL: that of their type.';
COMMENT ON COLUMN _user.verified_email IS 'The verified address; it counts while the profile has exactly this address.';
COMMENT ON COLUMN _user.second_factor IS 'Whether a log-in requires a second factor; a trigger of _factor sets it.';
COMMENT ON COLUMN _user.password_changed_at IS 'When the password was set.';

-- Whether an address is verified follows from two tables. A verification locks the account and then the profile, as a log-in
-- does. A change of the address has locked the profile and waits for nothing. So the second of two concurrent changes sees
-- what the first one has written.
CREATE FUNCTION _keep_verified() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    NEW._verified := CASE
        WHEN TG_OP = 'UPDATE'
            AND NEW.email = (SELECT account.verified_email FROM _user AS account WHERE account.id = NEW._id) THEN true
        -- Once a verification was begun, the value is never NULL again.
        WHEN NEW._verified IS NOT NULL OR (TG_OP = 'UPDATE' AND OLD._verified IS NOT NULL) THEN false
    END;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _keep_verified() IS 'Sets in a profile whether its address is the verified one.';
CREATE TRIGGER _keep_verified BEFORE INSERT OR UPDATE OF email, _verified ON "user"
    FOR EACH ROW EXECUTE FUNCTION _keep_verified();

CREATE FUNCTION _note_verified() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM "user" AS profile WHERE profile._id = NEW.id FOR NO KEY UPDATE;
    UPDATE "user" AS profile SET _verified = false
    WHERE profile._id = NEW.id AND profile._verified IS DISTINCT FROM coalesce(profile.email = NEW.verified_email, false);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_verified() IS 'Updates _verified of a profile when the verified address of its account changes.';
CREATE TRIGGER _note_verified AFTER UPDATE OF verified_email ON _user FOR EACH ROW
    WHEN (NEW.verified_email IS DISTINCT FROM OLD.verified_email) EXECUTE FUNCTION _note_verified();
CREATE TRIGGER _note_verified_anew AFTER INSERT ON _user FOR EACH ROW
    WHEN (NEW.verified_email IS NOT NULL) EXECUTE FUNCTION _note_verified();

-- In psql, it is enough to set the time.
CREATE FUNCTION _count_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.epoch := OLD.epoch + 1;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _count_epoch() IS 'Revokes the access tokens of an account when only its token_valid_since is set.';
CREATE TRIGGER _count_epoch BEFORE UPDATE OF token_valid_since ON _user FOR EACH ROW
    WHEN (NEW.token_valid_since IS DISTINCT FROM OLD.token_valid_since AND NEW.epoch = OLD.epoch)
    EXECUTE FUNCTION _count_epoch();

CREATE TABLE _session (
    token_hash bytea NOT NULL UNIQUE,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    epoch bigint NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    previous_hash bytea,
    rotated_at timestamptz,
    device_id text,
    device_name text,
    address inet,
    user_agent text,
    created_with text,
    level smallint NOT NULL DEFAULT 1 CHECK (level IN (1, 2)),
    elevated_until timestamptz
);
CREATE INDEX ON _session (user_id);
CREATE INDEX ON _session (expires_at);
CREATE INDEX ON _session (previous_hash) WHERE previous_hash IS NOT NULL;
COMMENT ON TABLE _session IS 'The sessions of users, each with its access token.';
COMMENT ON COLUMN _session.token_hash IS 'SHA-256 of the token; the token itself is not stored.';
COMMENT ON COLUMN _session.user_id IS 'The account.';
COMMENT ON COLUMN _session.created_at IS 'When it was opened.';
COMMENT ON COLUMN _session.expires_at IS 'When it ends; NULL: never.';
COMMENT ON COLUMN _session.epoch IS 'The epoch of the account in which it is valid.';
COMMENT ON COLUMN _session.last_used_at IS 'When it was last used, to the minute.';
COMMENT ON COLUMN _session.id IS 'Identifies it for its user; it grants no access.';
COMMENT ON COLUMN _session.previous_hash IS 'SHA-256 of the previous token, which is accepted for 30 seconds after rotated_at.';
COMMENT ON COLUMN _session.rotated_at IS 'When its token was last replaced; NULL: never.';
COMMENT ON COLUMN _session.device_id IS 'The id of the device, which the application chose.';
COMMENT ON COLUMN _session.device_name IS 'The name of the device, for the user.';
COMMENT ON COLUMN _session.address IS 'The address from which it was opened.';
COMMENT ON COLUMN _session.user_agent IS 'The User-Agent with which it was opened.';
COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password, reset, link, provider, custom_token or master.';
COMMENT ON COLUMN _session.level IS '1: opened with one proof, such as a password; 2: opened with a second factor, too.';
COMMENT ON COLUMN _session.elevated_until IS
    'Until when it may do what requires step-up: ten minutes after a sign-up or auth:stepup; NULL: there was neither.';

CREATE FUNCTION _bind_session() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    NEW.epoch := (SELECT account.epoch FROM _user AS account WHERE account.id = NEW.user_id);
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _bind_session() IS 'Gives a session without an epoch that of its account.';
CREATE TRIGGER _bind_session BEFORE INSERT ON _session FOR EACH ROW
    WHEN (NEW.epoch IS NULL) EXECUTE FUNCTION _bind_session();

CREATE TABLE _password_history (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    hash text NOT NULL,
    replaced_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON _password_history (user_id, id DESC);
COMMENT ON TABLE _password_history IS 'The former passwords of accounts, as many as the setting password-history compares with a new one.';
COMMENT ON COLUMN _password_history.id IS 'A number that is greater for later passwords.';
COMMENT ON COLUMN _password_history.user_id IS 'The account.';
COMMENT ON COLUMN _password_history.hash IS 'The hashed password with its parameters.';
COMMENT ON COLUMN _password_history.replaced_at IS 'When it was replaced.';

CREATE TABLE _factor (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('totp', 'recovery')),
    secret_sealed bytea,
    pending_sealed bytea,
    pending_at timestamptz,
    last_step bigint NOT NULL DEFAULT 0,
    hash bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,
    last_used_at timestamptz,
    pending_attempts integer NOT NULL DEFAULT 0,
    CHECK (kind <> 'recovery' OR hash IS NOT NULL),
    CHECK (kind <> 'totp' OR (confirmed_at IS NULL) = (secret_sealed IS NULL))
);
CREATE UNIQUE INDEX ON _factor (user_id) WHERE kind = 'totp';
CREATE UNIQUE INDEX ON _factor (user_id, hash);
COMMENT ON TABLE _factor IS 'The second factors of accounts: each has at most one secret for time-based codes, and unused recovery codes.';
COMMENT ON COLUMN _factor.id IS 'Identifies it; it proves nothing.';
COMMENT ON COLUMN _factor.user_id IS 'The account.';
COMMENT ON COLUMN _factor.kind IS 'totp: time-based codes (RFC 6238); recovery: a code that can be used once.';
COMMENT ON COLUMN _factor.secret_sealed IS 'The encrypted secret of the codes: the byte 1, the length of a key''s name, this name, a nonce, and the output of AES-256-GCM; NULL until it is confirmed.';
COMMENT ON COLUMN _factor.pending_sealed IS 'A new secret, encrypted in the same way, which replaces it when one of its codes is entered.';
COMMENT ON COLUMN _factor.pending_at IS 'When the new secret was created.';
COMMENT ON COLUMN _factor.last_step IS 'The half minute of the last code that was used; codes of this half minute and earlier ones are no longer accepted.';
COMMENT ON COLUMN _factor.hash IS 'HMAC-SHA-256 of account and recovery code under a key that is derived from _secret.';
COMMENT ON COLUMN _factor.created_at IS 'When it was created.';
COMMENT ON COLUMN _factor.confirmed_at IS 'When it was confirmed; log-ins require it since then.';
COMMENT ON COLUMN _factor.last_used_at IS 'When a code of it was last used.';
COMMENT ON COLUMN _factor.pending_attempts IS 'How often a code of the new secret was tried.';

CREATE FUNCTION _note_factor() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    changed text := CASE TG_OP WHEN 'DELETE' THEN OLD.user_id ELSE NEW.user_id END;
    has boolean;
BEGIN
    has := EXISTS (
        SELECT FROM _factor AS factor
        WHERE factor.user_id = changed AND factor.kind = 'totp' AND factor.confirmed_at IS NOT NULL
    );
    UPDATE _user AS account SET second_factor = has WHERE account.id = changed AND account.second_factor <> has;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_factor() IS 'Sets whether a log-in to an account requires a second factor.';
CREATE TRIGGER _note_factor AFTER INSERT OR DELETE OR UPDATE OF kind, user_id, confirmed_at ON _factor
    FOR EACH ROW EXECUTE FUNCTION _note_factor();

CREATE FUNCTION _note_no_factors() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE _user AS account SET second_factor = false WHERE account.second_factor;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_no_factors() IS 'Notes that no log-in requires a second factor after all factors were removed.';
CREATE TRIGGER _note_no_factors AFTER TRUNCATE ON _factor
    FOR EACH STATEMENT EXECUTE FUNCTION _note_no_factors();

CREATE TABLE _pending_login (
    handle_hash bytea PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    device_id text,
    device_name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _pending_login (user_id);
CREATE INDEX ON _pending_login (expires_at);
COMMENT ON TABLE _pending_login IS 'Log-ins whose first proof was right and that wait for the second factor.';
COMMENT ON COLUMN _pending_login.handle_hash IS 'SHA-256 of the handle that the client got; the handle itself is not stored.';
COMMENT ON COLUMN _pending_login.user_id IS 'The account.';
COMMENT ON COLUMN _pending_login.epoch IS 'The epoch of the account at the first proof; the log-in is void in another epoch.';
COMMENT ON COLUMN _pending_login.attempts IS 'How often a code was tried with it.';
COMMENT ON COLUMN _pending_login.device_id IS 'The id of the device, which the application chose.';
COMMENT ON COLUMN _pending_login.device_name IS 'The name of the device, for the user.';
COMMENT ON COLUMN _pending_login.created_at IS 'When the first proof was given.';
COMMENT ON COLUMN _pending_login.expires_at IS 'When it ends.';

CREATE TABLE _live_ticket (
    token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES _session (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _live_ticket (session_id);
CREATE INDEX ON _live_ticket (expires_at);
COMMENT ON TABLE _live_ticket IS 'Unused tokens of live:ticket, each of which opens one event stream.';
COMMENT ON COLUMN _live_ticket.token_hash IS 'SHA-256 of the token; the token itself is not stored.';
COMMENT ON COLUMN _live_ticket.session_id IS 'The session for which the stream is opened; the ticket ends with it.';
COMMENT ON COLUMN _live_ticket.created_at IS 'When it was issued.';
COMMENT ON COLUMN _live_ticket.expires_at IS 'When it expires, a minute later.';

CREATE TABLE _throttle (
    bucket bytea PRIMARY KEY,
    failures integer NOT NULL,
    window_start timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL
);
COMMENT ON TABLE _throttle IS 'Guesses of passwords, which are counted before they are checked; the service removes old rows.';
COMMENT ON COLUMN _throttle.bucket IS 'HMAC-SHA-256 of what guesses are counted for: a login key or an account with a client, a client alone, or a login key or an account alone.';
COMMENT ON COLUMN _throttle.failures IS 'The number of guesses since window_start.';
COMMENT ON COLUMN _throttle.window_start IS 'When the first of them was made.';
COMMENT ON COLUMN _throttle.blocked_until IS 'When the next guess is accepted.';

CREATE TABLE _known_client (
    bucket bytea PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON _known_client (user_id);
COMMENT ON TABLE _known_client IS
    'The clients from which users logged in within 30 days, so that guesses by others do not lock them out.';
COMMENT ON COLUMN _known_client.bucket IS 'HMAC-SHA-256 of a login key and a client or device.';
COMMENT ON COLUMN _known_client.user_id IS 'The account.';
COMMENT ON COLUMN _known_client.seen_at IS 'When the user last logged in from there.';

-- A guess that is refused anyway takes no lock and creates no row. For any other guess, one statement creates or locks the
-- rows in a fixed order, so that claims wait for each other without deadlocks: ON CONFLICT DO UPDATE also locks the rows that
-- its WHERE excludes. The time is read after waiting; it is not that of the transaction.
CREATE FUNCTION _claim_guess(
    buckets bytea[], pauses boolean[], allowed integer[], seconds integer[], unless_known boolean[], known bytea[],
    OUT wait double precision, OUT is_known boolean
) LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    asked bytea[];
    blocked timestamptz;
    moment timestamptz;
BEGIN
    is_known := EXISTS (
        SELECT FROM _known_client AS client
        WHERE client.bucket = ANY (known) AND client.seen_at > now() - interval '30 days'
    );
    asked := ARRAY(
        SELECT given.bucket FROM unnest(buckets, unless_known) AS given (bucket, unless_known)
        WHERE NOT (given.unless_known AND is_known)
    );
    SELECT max(throttle.blocked_until) INTO blocked FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked);
    moment := clock_timestamp();
    IF blocked > moment THEN
        wait := extract(epoch FROM blocked - moment);
        RETURN;
    END IF;
    INSERT INTO _throttle AS throttle (bucket, failures, window_start, blocked_until)
    SELECT DISTINCT given.bucket, 0, moment, moment FROM unnest(asked) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET failures = throttle.failures WHERE false;
    SELECT max(throttle.blocked_until) INTO blocked FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked);
    moment := clock_timestamp();
    IF blocked > moment THEN
        wait := extract(epoch FROM blocked - moment);
        -- The rows that were created for this guess, and others with a count of 0.
        DELETE FROM _throttle AS throttle WHERE throttle.bucket = ANY (asked) AND throttle.failures = 0;
        RETURN;
    END IF;
    UPDATE _throttle AS throttle
    SET failures = next.failures, window_start = next.window_start,
        blocked_until = CASE
            WHEN next.failures < next.allowed AND next.pauses THEN moment
            WHEN next.failures < next.allowed THEN next.window_start
            WHEN next.pauses THEN moment + least(power(2, least(next.failures - next.allowed, 20)), 900) * interval '1 s'
            ELSE next.window_start + next.seconds * interval '1 s'
        END
    FROM (
        SELECT given.bucket, given.pauses, given.allowed, given.seconds,
            CASE WHEN began.anew THEN 1 ELSE before.failures + 1 END AS failures,
            CASE WHEN began.anew THEN moment ELSE before.window_start END AS window_start
        FROM unnest(buckets, pauses, allowed, seconds) AS given (bucket, pauses, allowed, seconds)
        JOIN _throttle AS before ON before.bucket = given.bucket
        CROSS JOIN LATERAL (
            -- The count of a bucket with pauses is kept for the window's length after a pause.
            SELECT before.failures = 0 OR CASE WHEN given.pauses THEN before.blocked_until ELSE before.window_start END
                <= moment - given.seconds * interval '1 s' AS anew
        ) AS began
        WHERE given.bucket = ANY (asked)
    ) AS next
    WHERE throttle.bucket = next.bucket;
END $$;
COMMENT ON FUNCTION _claim_guess(bytea[], boolean[], integer[], integer[], boolean[], bytea[]) IS
    'Counts a guess in some buckets, or returns for how many seconds it is refused and counts nothing.';

CREATE FUNCTION _settle_guess(buckets bytea[], pauses boolean[], allowed integer[], was_right boolean) RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM _throttle AS throttle WHERE throttle.bucket = ANY (buckets) ORDER BY throttle.bucket FOR UPDATE;
    DELETE FROM _throttle AS throttle USING unnest(buckets, pauses) AS given (bucket, pauses)
    WHERE throttle.bucket = given.bucket AND given.pauses AND was_right;
    UPDATE _throttle AS throttle
    SET failures = greatest(throttle.failures - 1, 0),
        blocked_until = CASE
            WHEN given.pauses THEN clock_timestamp()
            WHEN throttle.failures <= given.allowed THEN throttle.window_start
            ELSE throttle.blocked_until
        END
    FROM unnest(buckets, pauses, allowed) AS given (bucket, pauses, allowed)
    WHERE throttle.bucket = given.bucket;
END $$;
COMMENT ON FUNCTION _settle_guess(bytea[], boolean[], integer[], boolean) IS
    'Takes back a guess that was right or was not checked; a right one also ends the pauses of its client.';

CREATE FUNCTION _remember_client(buckets bytea[], account text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _known_client AS client (bucket, user_id)
    SELECT given.bucket, account FROM unnest(buckets) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET user_id = EXCLUDED.user_id, seen_at = now();
    -- A concurrent log-in of the user may have locked some of them; it deletes the rest.
    DELETE FROM _known_client AS client WHERE client.bucket IN (
        SELECT held.bucket FROM _known_client AS held WHERE held.bucket IN (
            SELECT other.bucket FROM _known_client AS other WHERE other.user_id = account
            ORDER BY other.seen_at DESC, other.bucket OFFSET 50
        )
        FOR UPDATE SKIP LOCKED
    );
END $$;
COMMENT ON FUNCTION _remember_client(bytea[], text) IS
    'Notes that a user logged in from a client; the last 50 rows of each user are kept.';

-- No foreign key: the entries about an account are kept when the account is gone.
CREATE TABLE _audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    event text NOT NULL,
    outcome text NOT NULL,
    user_id text COLLATE "C",
    actor text,
    session_id uuid,
    address inet,
    request_id text,
    data jsonb,
    key_id text COLLATE "C"
);
CREATE INDEX ON _audit (user_id, at);
CREATE INDEX ON _audit (at);
COMMENT ON TABLE _audit IS 'The audit log of accounts: log-ins, refusals, changes of passwords, ended sessions.';
COMMENT ON COLUMN _audit.id IS 'A number that grows with every entry.';
COMMENT ON COLUMN _audit.at IS 'When it happened.';
COMMENT ON COLUMN _audit.event IS 'What happened; Documentation/Operations.md lists the kinds.';
COMMENT ON COLUMN _audit.outcome IS 'ok, or the name of the error that the caller got.';
COMMENT ON COLUMN _audit.user_id IS 'The account; NULL: no account.';
COMMENT ON COLUMN _audit.actor IS 'Who did it: user:<id>, key:<id>, master for the master key, operator for a command, service for the service itself.';
COMMENT ON COLUMN _audit.session_id IS 'The session that was opened or ended.';
COMMENT ON COLUMN _audit.address IS 'The address of the client.';
COMMENT ON COLUMN _audit.request_id IS 'The id of the request, as in the log.';
COMMENT ON COLUMN _audit.data IS
    'Details; account is a code that is the same for all guesses at one account that does not exist.';
COMMENT ON COLUMN _audit.key_id IS 'The key that was created, changed or refused.';

CREATE TABLE _role (
    name text PRIMARY KEY,
    by_default boolean NOT NULL DEFAULT false,
    is_admin boolean NOT NULL DEFAULT false,
    access jsonb CHECK (_access_fits(access)),
    owner text COLLATE "C" REFERENCES _user (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    _revision bigint NOT NULL DEFAULT _revision()
);
COMMENT ON TABLE _role IS 'The roles that access lists name.';
COMMENT ON COLUMN _role.name IS 'The name of the role.';
COMMENT ON COLUMN _role.by_default IS 'Whether new accounts are given the role.';
COMMENT ON COLUMN _role.is_admin IS 'Whether its users are administrators.';
COMMENT ON COLUMN _role.access IS
    'Who may read the role with its members, change them (update) and delete it, {"user:ann": "update"}; NULL: only administrators.';
COMMENT ON COLUMN _role.owner IS 'The id of the user who created the role; its access list, if it has one, does not restrict its owner.';
COMMENT ON COLUMN _role.created_at IS 'When the role was created.';
COMMENT ON COLUMN _role.updated_at IS 'When the role was last changed; changes of its members do not count.';
COMMENT ON COLUMN _role._revision IS 'A number that grows with every change; see _revision().';

CREATE FUNCTION _stamp_role() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    NEW._revision := _revision();
    NEW.updated_at := now();
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _stamp_role() IS 'Gives a role that is changed its new revision and time.';
CREATE INDEX ON _role (owner) WHERE owner IS NOT NULL;
CREATE TRIGGER _stamp BEFORE UPDATE ON _role FOR EACH ROW
    WHEN (NEW.* IS DISTINCT FROM OLD.*) EXECUTE FUNCTION _stamp_role();

-- Runs as the owner of the schema, since a database role that may write here need not read the tombstones.
CREATE FUNCTION _check_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF octet_length(NEW.name) NOT BETWEEN 1 AND 64 OR NEW.name IS NOT NFC NORMALIZED
        OR NEW.name COLLATE "C" ~ '[\u0001-\u001F\u007F-\u009F]'
        OR NEW.name COLLATE "C" ~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
        OR NEW.name COLLATE "C" ~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    THEN
        RAISE EXCEPTION 'A role name must be 1 to 64 bytes in NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_name', TABLE = '_role';
    END IF;
    -- Access lists may still name a deleted role, and would admit the users of a new role of that name.
    IF EXISTS (
        SELECT FROM _tombstone
        WHERE type = '_role' AND id = NEW.name COLLATE "C" AND deleted_at > now() - interval '30 days'
    ) THEN
        RAISE EXCEPTION 'A role of this name was deleted within the last 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_role_deleted', TABLE = '_role',
                HINT = format(
                    'Access lists may still name the old role. To use the name again, first '
                    'DELETE FROM %I._tombstone WHERE type = ''_role'' AND id = the name.',
                    TG_TABLE_SCHEMA
                );
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role() IS
    'Refuses a role with an invalid name, or with the name of a role that was deleted within the last 30 days.';
-- An AFTER trigger, so that an insert that conflicts with an existing role is not checked.
CREATE TRIGGER _check_role AFTER INSERT OR UPDATE OF name ON _role FOR EACH ROW EXECUTE FUNCTION _check_role();

CREATE FUNCTION _tombstone_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision)
        SELECT '_role', name, '_public', owner, access, _revision() FROM _role
        ON CONFLICT DO NOTHING;
    ELSIF TG_OP = 'DELETE' OR NEW.name <> OLD.name THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision)
        VALUES ('_role', OLD.name, '_public', OLD.owner, OLD.access, _revision())
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _tombstone_role() IS 'Leaves a tombstone for a role that was deleted or renamed.';
CREATE TRIGGER _tombstone AFTER DELETE OR UPDATE OF name ON _role FOR EACH ROW EXECUTE FUNCTION _tombstone_role();
CREATE TRIGGER _tombstone_truncated BEFORE TRUNCATE ON _role FOR EACH STATEMENT EXECUTE FUNCTION _tombstone_role();
CREATE INDEX ON _tombstone (id) WHERE type = '_role';

INSERT INTO _role (name, is_admin) VALUES ('Admin', true);

CREATE TABLE _user_role (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    role text NOT NULL REFERENCES _role (name) ON UPDATE CASCADE ON DELETE CASCADE,
    PRIMARY KEY (user_id, role)
);
CREATE INDEX ON _user_role (role, user_id);
COMMENT ON TABLE _user_role IS 'Who has which role.';
COMMENT ON COLUMN _user_role.user_id IS 'The account.';
COMMENT ON COLUMN _user_role.role IS 'The role.';

CREATE TABLE _role_role (
    role text NOT NULL REFERENCES _role (name) ON UPDATE CASCADE ON DELETE CASCADE,
    member text NOT NULL REFERENCES _role (name) ON UPDATE CASCADE ON DELETE CASCADE,
    PRIMARY KEY (role, member)
);
CREATE INDEX ON _role_role (member, role);
COMMENT ON TABLE _role_role IS 'Which roles contain which: the users of the member also have the role that contains it.';
COMMENT ON COLUMN _role_role.role IS 'The role that contains the other one.';
COMMENT ON COLUMN _role_role.member IS 'The role that it contains, and whose users have it.';

CREATE FUNCTION _held_roles(roles text[]) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH RECURSIVE held (role) AS (
        SELECT DISTINCT given.role FROM unnest(roles) AS given (role)
        UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
    )
    SELECT held.role FROM held LIMIT 1001
$$;
COMMENT ON FUNCTION _held_roles(text[]) IS
    'These roles and all that contain them, at most 1,001: SELECT _held_roles(ARRAY[''editor'']).';

-- Additions wait for each other: two that are valid by themselves could together make a cycle.
CREATE FUNCTION _check_role_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    reached text[] := ARRAY[NEW.role];
    reached_from integer[] := ARRAY[0];
    place integer := 1;
    circle text[];
    above text;
BEGIN
    PERFORM _hold('roles');
    WHILE place <= cardinality(reached) LOOP
        IF reached[place] = NEW.member THEN
            WHILE place > 0 LOOP
                circle := reached[place] || circle;
                place := reached_from[place];
            END LOOP;
            RAISE EXCEPTION 'A role cannot contain itself, directly or through other roles.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_role_circle', TABLE = TG_TABLE_NAME,
                    DETAIL = to_jsonb(NEW.member || circle)::text;
        END IF;
        FOR above IN SELECT up.role FROM _role_role AS up WHERE up.member = reached[place] ORDER BY up.role LOOP
            IF above <> ALL (reached) THEN
                reached := reached || above;
                reached_from := reached_from || place;
            END IF;
        END LOOP;
        EXIT WHEN cardinality(reached) > 1000;
        place := place + 1;
    END LOOP;
    IF (SELECT count(*) FROM _held_roles(ARRAY[NEW.member])) > 1000 THEN
        RAISE EXCEPTION 'A role can give its users at most 1000 roles.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role_role() IS
    'Refuses a role that would contain itself through others, or give its users more than 1,000 roles.';
CREATE TRIGGER _check_role_role AFTER INSERT OR UPDATE ON _role_role
    FOR EACH ROW EXECUTE FUNCTION _check_role_role();

CREATE FUNCTION _check_user_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT user_id FROM new_row) AS account
        WHERE (
            SELECT count(*) FROM _held_roles(ARRAY(
                SELECT given.role FROM _user_role AS given WHERE given.user_id = account.user_id
            ))
        ) > 1000
    ) THEN
        RAISE EXCEPTION 'A user can have at most 1000 roles.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_role() IS 'Refuses to give a user more than 1,000 roles, including those that contain them.';
CREATE TRIGGER _check_user_role AFTER INSERT ON _user_role REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_role();

CREATE TABLE _user_group (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, name)
);
CREATE INDEX ON _user_group (name, user_id);
COMMENT ON TABLE _user_group IS 'The groups of users, which access lists name; a group is only a name.';
COMMENT ON COLUMN _user_group.user_id IS 'The account.';
COMMENT ON COLUMN _user_group.name IS 'The group.';

CREATE FUNCTION _check_user_group() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_row
        WHERE octet_length(name) NOT BETWEEN 1 AND 64 OR name IS NOT NFC NORMALIZED
            OR name ~ '[\u0001-\u001F\u007F-\u009F]'
            OR name ~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
            OR name ~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    ) THEN
        RAISE EXCEPTION 'A group name must be 1 to 64 bytes in NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_name', TABLE = TG_TABLE_NAME;
    END IF;
    -- The later of two concurrent additions for one user counts what the earlier one added.
    PERFORM FROM _user AS account WHERE account.id IN (SELECT user_id FROM new_row) ORDER BY account.id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM _user_group AS given WHERE given.user_id IN (SELECT user_id FROM new_row)
        GROUP BY given.user_id HAVING count(*) > 200
    ) THEN
        RAISE EXCEPTION 'A user can have at most 200 groups.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_group() IS 'Refuses a group with an invalid name, and more than 200 groups of a user.';
CREATE TRIGGER _check_user_group_inserted AFTER INSERT ON _user_group REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_group();
CREATE TRIGGER _check_user_group_updated AFTER UPDATE ON _user_group REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_group();

CREATE TABLE _relation (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL CHECK (name IN ('friend', 'follow', 'block')),
    other_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    mutual boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name, other_id) INCLUDE (mutual),
    CHECK (user_id <> other_id)
);
CREATE INDEX ON _relation (other_id, name, user_id) INCLUDE (mutual);
COMMENT ON TABLE _relation IS 'The relations that users make to other users: friend, follow and block.';
COMMENT ON COLUMN _relation.user_id IS 'The account that made the relation.';
COMMENT ON COLUMN _relation.name IS 'friend, follow or block.';
COMMENT ON COLUMN _relation.other_id IS 'The account that it refers to.';
COMMENT ON COLUMN _relation.mutual IS 'Whether the other account has the same relation to this one; a trigger sets it. Users are friends if their relation is mutual.';
COMMENT ON COLUMN _relation.created_at IS 'When the relation was created.';

CREATE FUNCTION _relation_lock(one text, other text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'relation ' || (hashtext(least(one COLLATE "C", other COLLATE "C") || '/' || greatest(one COLLATE "C", other COLLATE "C")) & 255)::text
$$;
COMMENT ON FUNCTION _relation_lock(text, text) IS
    'The name of the lock for changes of the relations of two users; there are 256, so that a change of many relations takes few locks.';

-- Each row of a pair stores whether the other row exists, so that one lookup is enough. Two changes of a pair wait for each
-- other, since each would miss what the other one is about to commit.
CREATE FUNCTION _keep_mutual() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.user_id, NEW.name, NEW.other_id) IS DISTINCT FROM (OLD.user_id, OLD.name, OLD.other_id) THEN
        RAISE EXCEPTION 'A relation cannot be changed into another one. Delete it and create the other one.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_relation_moved', TABLE = TG_TABLE_NAME;
    END IF;
    PERFORM _hold(_relation_lock(NEW.user_id, NEW.other_id));
    IF TG_OP = 'INSERT' AND NEW.name <> 'block' AND EXISTS (
        SELECT FROM _relation AS barrier WHERE barrier.name = 'block' AND (
            barrier.user_id = NEW.user_id AND barrier.other_id = NEW.other_id
            OR barrier.user_id = NEW.other_id AND barrier.other_id = NEW.user_id
        )
    ) THEN
        RAISE EXCEPTION 'One of the users has blocked the other.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_relation_blocked', TABLE = TG_TABLE_NAME;
    END IF;
    NEW.mutual := EXISTS (
        SELECT FROM _relation AS back
        WHERE back.user_id = NEW.other_id AND back.name = NEW.name AND back.other_id = NEW.user_id
    );
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _keep_mutual() IS 'Sets whether the other user has the same relation, and refuses a relation of users of whom one has blocked the other.';
CREATE TRIGGER _keep_mutual BEFORE INSERT OR UPDATE ON _relation FOR EACH ROW EXECUTE FUNCTION _keep_mutual();

CREATE FUNCTION _keep_mutual_back() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM _hold(_relation_lock(OLD.user_id, OLD.other_id));
        UPDATE _relation AS back SET mutual = false
        WHERE back.user_id = OLD.other_id AND back.name = OLD.name AND back.other_id = OLD.user_id AND back.mutual;
    ELSIF NEW.name = 'block' THEN
        DELETE FROM _relation AS ended WHERE ended.name <> 'block' AND (
            ended.user_id = NEW.user_id AND ended.other_id = NEW.other_id
            OR ended.user_id = NEW.other_id AND ended.other_id = NEW.user_id
        );
    ELSE
        UPDATE _relation AS back SET mutual = true
        WHERE back.user_id = NEW.other_id AND back.name = NEW.name AND back.other_id = NEW.user_id AND NOT back.mutual;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _keep_mutual_back() IS 'Updates the relation of the other user, and deletes the relations that a block ends.';
CREATE TRIGGER _keep_mutual_back AFTER INSERT OR DELETE ON _relation FOR EACH ROW EXECUTE FUNCTION _keep_mutual_back();

CREATE TABLE _idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    answer bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    leased_until timestamptz,
    PRIMARY KEY (scope, key)
);
CREATE INDEX ON _idempotency (created_at);
COMMENT ON TABLE _idempotency IS 'Responses, which are kept for a day, so that a repeated request takes effect once.';
COMMENT ON COLUMN _idempotency.scope IS 'The caller; the same key of another caller is another key.';
COMMENT ON COLUMN _idempotency.key IS 'The key that the request carried.';
COMMENT ON COLUMN _idempotency.fingerprint IS 'SHA-256 of the request; if it differs, the key was reused.';
COMMENT ON COLUMN _idempotency.answer IS 'The response to the first request.';
COMMENT ON COLUMN _idempotency.created_at IS 'When the first request came.';
COMMENT ON COLUMN _idempotency.leased_until IS
    'Until when the first request may still run outside of a transaction; NULL: it does not.';

-- Rules of record types -----------------------------------------------------------------------------------------------

CREATE TABLE _class_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update', 'delete')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL),
    mode text NOT NULL DEFAULT 'default' CHECK (mode IN ('default', 'require', 'override')),
    PRIMARY KEY (type, action),
    CHECK (action <> 'create' OR mode = 'default')
);
COMMENT ON TABLE _class_rule IS 'Who may create, read, update and delete the records of a type, where that is not the default.';
COMMENT ON COLUMN _class_rule.type IS 'The record type.';
COMMENT ON COLUMN _class_rule.action IS 'create, read, update or delete.';
COMMENT ON COLUMN _class_rule.allow IS
    'The subjects that it admits, {public,role:editor}; with an invalid subject it admits no caller, and an empty array admits only the master key.';
COMMENT ON COLUMN _class_rule.mode IS
    'default: for records without an access list; require: in addition to the list; override: in place of the list, also for owners.';

CREATE TABLE _class_option (
    type text COLLATE "C" PRIMARY KEY CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    default_access jsonb CHECK (_access_fits(default_access)),
    list_by text CHECK (list_by IN ('owner', 'update')),
    transfer_by text NOT NULL DEFAULT 'master' CHECK (transfer_by IN ('master', 'owner')),
    private boolean NOT NULL DEFAULT true,
    aggregate boolean NOT NULL DEFAULT true,
    relations text[] NOT NULL DEFAULT '{}' CHECK (relations <@ '{followed,follower,friend}'::text[]),
    list_read_by text CHECK (list_read_by IN ('owner', 'update', 'read')),
    creator text NOT NULL DEFAULT 'owner' CHECK (creator IN ('owner', 'none'))
);
COMMENT ON TABLE _class_option IS 'Options of a record type: the defaults of new records, who may change their lists, and which databases may contain them.';
COMMENT ON COLUMN _class_option.type IS 'The record type.';
COMMENT ON COLUMN _class_option.default_access IS
    'The access list of new public records that are saved without one, {"role:editor": "write"}; NULL: no list.';
COMMENT ON COLUMN _class_option.list_by IS
    'Who may change the access list of a record: its owner, or all who may update it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.list_read_by IS
    'Who sees the whole access list of a record: its owner, all who may update it, or all who may read it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.creator IS 'Whether the user who creates a public record becomes its owner; none: it has no owner.';
COMMENT ON COLUMN _class_option.transfer_by IS 'Who may give records to another owner: only the master key, or also their owner.';
COMMENT ON COLUMN _class_option.private IS 'Whether private databases may contain records of the type.';
COMMENT ON COLUMN _class_option.relations IS
    'The relations of users that access lists of its records have ever named, {friend}.';
COMMENT ON COLUMN _class_option.aggregate IS 'Whether callers without the master key may have aggregates of the records computed.';

CREATE TABLE _field_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^([*]|[A-Za-z][A-Za-z0-9_]{0,62})$'),
    field text COLLATE "C" NOT NULL CHECK (octet_length(field) BETWEEN 1 AND 63),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update', 'compare', 'discover')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL),
    PRIMARY KEY (type, field, action)
);
COMMENT ON TABLE _field_rule IS
    'Which of the callers with access to a record may give a field its first value, see it and change it; without a row, all of them.';
COMMENT ON COLUMN _field_rule.type IS 'The record type, or * for every type.';
COMMENT ON COLUMN _field_rule.field IS
    'The field, or * for every field. For an action, a row of type and field takes precedence over type and *, then * and field, then * and *.';
COMMENT ON COLUMN _field_rule.action IS 'create, read, update, compare or discover.';
COMMENT ON COLUMN _field_rule.allow IS
    'The subjects that it admits, {owner,role:editor}, or denies, {!role:guest,users}; the first one that the caller is decides. With an invalid subject it admits no caller, and an empty array admits only the master key.';

CREATE TABLE _version (
    name text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE _version IS 'Counters, which grow with every change of something that processes keep in memory.';
COMMENT ON COLUMN _version.name IS
    'rules: the tables _class_rule, _class_option and _field_rule; default_lists: exists since an account first got a default_access; keys: the table _key.';
COMMENT ON COLUMN _version.value IS 'How often it was changed.';
INSERT INTO _version (name) VALUES ('rules');

-- Processes keep the rules of a type with its schema, so a change of either sends the same notice. The counter is for
-- processes that get no notices: behind a pooler, or without the connection that listens.
CREATE FUNCTION _announce_class() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    -- Once for a transaction is enough, since it may write very many rows.
    INSERT INTO _version AS known (name, value) VALUES ('rules', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1 WHERE known.xmin <> pg_current_xact_id()::xid;
    IF TG_LEVEL = 'STATEMENT' THEN
        PERFORM _notify('schema', '');
        RETURN NULL;
    END IF;
    -- A rule for every type concerns all of them, so its notice names no type.
    IF TG_OP <> 'INSERT' THEN
        PERFORM _notify('schema', coalesce(' ' || nullif(OLD.type, '*'), ''));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM _notify('schema', coalesce(' ' || nullif(NEW.type, '*'), ''));
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_class() IS 'Notifies every process that the rules of a record type have changed.';
CREATE FUNCTION _watch_class_rule() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.action = 'read' THEN
        PERFORM _watch_named_fields(OLD.type);
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.action = 'read' THEN
        PERFORM _watch_named_fields(NEW.type);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _watch_class_rule() IS 'Creates or drops the trigger _conceal_named of a record type when its class rule for reading changes.';
CREATE TRIGGER _watch AFTER INSERT OR UPDATE OR DELETE ON _class_rule
    FOR EACH ROW EXECUTE FUNCTION _watch_class_rule();

CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _class_rule
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _class_rule
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _class_option
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _class_option
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _field_rule
    FOR EACH ROW EXECUTE FUNCTION _announce_class();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _field_rule
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_class();

-- A save reads the default list of its user only if some account has one.
CREATE FUNCTION _note_default_list() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version (name, value) VALUES ('default_lists', 1) ON CONFLICT (name) DO NOTHING;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_default_list() IS 'Notes that some account has an access list for new records.';
CREATE TRIGGER _note_default_list AFTER INSERT OR UPDATE OF default_access ON _user
    FOR EACH ROW WHEN (NEW.default_access IS NOT NULL) EXECUTE FUNCTION _note_default_list();
CREATE TABLE _code (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('verify', 'reset', 'invite', 'email', 'undo', 'link')),
    address_key bytea NOT NULL,
    id bytea NOT NULL UNIQUE,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint NOT NULL,
    target text NOT NULL,
    language text NOT NULL,
    link_hash bytea NOT NULL UNIQUE,
    digits_hash bytea NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    guesses integer NOT NULL DEFAULT 0,
    guesses_since timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    link_expires_at timestamptz NOT NULL,
    digits_expire_at timestamptz NOT NULL,
    used_at timestamptz,
    client_key bytea NOT NULL DEFAULT '',
    PRIMARY KEY (kind, address_key, client_key)
);
CREATE INDEX ON _code (user_id);
COMMENT ON TABLE _code IS 'The last one-time code of each kind that a client requested for an address, also for addresses without an account.';
COMMENT ON COLUMN _code.kind IS 'verify: proves the address; reset: sets a new password; invite: sets the first password; email: changes the address of the account; undo: gives the account its former address back; link: logs in.';
COMMENT ON COLUMN _code.address_key IS 'SHA-256 of the address in the form in which login keys are compared.';
COMMENT ON COLUMN _code.id IS 'The id of the code, which is in the handle of the client that requested it.';
COMMENT ON COLUMN _code.user_id IS 'The account; NULL: no account has this address, and nothing is sent.';
COMMENT ON COLUMN _code.epoch IS 'The epoch of the account in which it was created; in another epoch the code is void, except for the kind undo.';
COMMENT ON COLUMN _code.target IS 'The address that the account has, will have (email) or had (undo), as it is written there; empty without an account.';
COMMENT ON COLUMN _code.language IS 'The language of the mail.';
COMMENT ON COLUMN _code.link_hash IS 'SHA-256 of the code in the link.';
COMMENT ON COLUMN _code.digits_hash IS 'HMAC-SHA-256 of id and digits under a key that is derived from _secret.';
COMMENT ON COLUMN _code.attempts IS 'How often digits were tried.';
COMMENT ON COLUMN _code.guesses IS 'How often digits of this kind were tried with codes of this row since guesses_since; all rows of an address count together.';
COMMENT ON COLUMN _code.guesses_since IS 'When the count in guesses began; a day later it starts again.';
COMMENT ON COLUMN _code.created_at IS 'When it was created.';
COMMENT ON COLUMN _code.link_expires_at IS 'When the link expires.';
COMMENT ON COLUMN _code.digits_expire_at IS 'When the digits expire.';
COMMENT ON COLUMN _code.used_at IS 'When it was used; it is not accepted again.';
COMMENT ON COLUMN _code.client_key IS 'The network of the client that requested it; empty where it does not matter.';

CREATE TABLE _mail (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    target text,
    address_key bytea,
    client_key bytea,
    language text NOT NULL,
    link_code text,
    digits text,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'dropped', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL DEFAULT now(),
    failure text
);
CREATE INDEX ON _mail (next_at) WHERE state = 'waiting';
CREATE INDEX ON _mail (address_key, created_at);
CREATE INDEX ON _mail (client_key, created_at);
CREATE INDEX ON _mail (user_id);
COMMENT ON TABLE _mail IS 'Mails that wait to be sent, and for an hour those that were sent, from which limits are counted.';
COMMENT ON COLUMN _mail.id IS 'A number that grows with every mail.';
COMMENT ON COLUMN _mail.kind IS 'The name of its templates.';
COMMENT ON COLUMN _mail.user_id IS 'The account.';
COMMENT ON COLUMN _mail.target IS 'The address; NULL: no account has the requested address, and the mail is dropped, not sent.';
COMMENT ON COLUMN _mail.address_key IS 'SHA-256 of the requested address; NULL: the mail counts towards no limit.';
COMMENT ON COLUMN _mail.client_key IS 'The network of the client that requested it.';
COMMENT ON COLUMN _mail.language IS 'The language of the templates.';
COMMENT ON COLUMN _mail.link_code IS 'The code in its link; removed when the mail is sent or given up.';
COMMENT ON COLUMN _mail.digits IS 'Its digits; removed when the mail is sent or given up.';
COMMENT ON COLUMN _mail.state IS 'waiting until it is sent, dropped (no account) or dead (given up).';
COMMENT ON COLUMN _mail.attempts IS 'The number of attempts to send it.';
COMMENT ON COLUMN _mail.created_at IS 'When it was requested.';
COMMENT ON COLUMN _mail.next_at IS 'When it is tried next; while it is being sent, when another process takes it over.';
COMMENT ON COLUMN _mail.failure IS 'Why the last attempt failed.';

CREATE TABLE _identity (
    provider text COLLATE "C" NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 64),
    subject text COLLATE "C" NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    profile jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(profile) = 'object' AND pg_column_size(profile) <= 16384),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    token_sealed bytea,
    token_at timestamptz,
    PRIMARY KEY (provider, subject),
    UNIQUE (user_id, provider)
);
COMMENT ON TABLE _identity IS 'The accounts at providers with which users log in.';
COMMENT ON COLUMN _identity.provider IS 'The name of the provider in the settings; custom-token: tokens of the application''s own server.';
COMMENT ON COLUMN _identity.subject IS 'The provider''s id of the user: the claim sub.';
COMMENT ON COLUMN _identity.user_id IS 'The account that logs in with it.';
COMMENT ON COLUMN _identity.profile IS 'What the provider last said about the user; the service does not rely on it.';
COMMENT ON COLUMN _identity.created_at IS 'When it was linked.';
COMMENT ON COLUMN _identity.last_used_at IS 'When the user last logged in with it; NULL: not yet.';
COMMENT ON COLUMN _identity.token_sealed IS 'The provider''s tokens for the user, encrypted like _factor.secret_sealed; NULL: no tokens are kept.';
COMMENT ON COLUMN _identity.token_at IS 'When the provider issued the tokens.';

CREATE TABLE _used_token (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _used_token (expires_at);
COMMENT ON TABLE _used_token IS 'The tokens of providers and of the application''s own server that were used and are not accepted again.';
COMMENT ON COLUMN _used_token.hash IS 'SHA-256 of the provider''s name and of the nonce or the id of the token.';
COMMENT ON COLUMN _used_token.expires_at IS 'When the token expires; the row is removed an hour later.';

CREATE TABLE _flow (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind text NOT NULL CHECK (kind IN ('state', 'code')),
    purpose text NOT NULL CHECK (purpose IN ('login', 'link', 'stepup')),
    provider text COLLATE "C" NOT NULL CHECK (octet_length(provider) BETWEEN 1 AND 64),
    nonce text,
    verifier_sealed bytea,
    challenge text NOT NULL CHECK (octet_length(challenge) = 43),
    redirect text NOT NULL CHECK (octet_length(redirect) BETWEEN 1 AND 2000),
    state text CHECK (octet_length(state) <= 255),
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE,
    epoch bigint,
    session_id uuid REFERENCES _session (id) ON DELETE CASCADE,
    client bytea,
    subject text COLLATE "C" CHECK (octet_length(subject) BETWEEN 1 AND 255),
    profile jsonb CHECK (jsonb_typeof(profile) = 'object' AND pg_column_size(profile) <= 16384),
    verified_email text,
    token_sealed bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _flow (client);
CREATE INDEX ON _flow (expires_at);
CREATE INDEX ON _flow (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX ON _flow (session_id) WHERE session_id IS NOT NULL;
COMMENT ON TABLE _flow IS 'Sign-ins with providers that are in progress: they wait for the provider or for the application.';
COMMENT ON COLUMN _flow.hash IS 'SHA-256 of the state that the provider sends back, or of the code that the application sends; neither is stored.';
COMMENT ON COLUMN _flow.kind IS 'state: the user is at the provider; code: the application has not fetched the result yet.';
COMMENT ON COLUMN _flow.purpose IS 'login: to open a session; link: to log in with the provider from now on; stepup: to authenticate the user again.';
COMMENT ON COLUMN _flow.provider IS 'The name of the provider in the settings.';
COMMENT ON COLUMN _flow.nonce IS 'The nonce that the id token must contain; NULL for a provider without id tokens.';
COMMENT ON COLUMN _flow.verifier_sealed IS 'The code verifier for the provider (RFC 7636), encrypted like _factor.secret_sealed.';
COMMENT ON COLUMN _flow.challenge IS 'The code challenge of the application: SHA-256 of its code verifier, in base64url.';
COMMENT ON COLUMN _flow.redirect IS 'The address to which the user returns, one of those in the settings.';
COMMENT ON COLUMN _flow.state IS 'The state of the application, which is sent back to it.';
COMMENT ON COLUMN _flow.user_id IS 'The account that is linked or authenticated again; NULL for a log-in.';
COMMENT ON COLUMN _flow.epoch IS 'The epoch of that account; in another epoch the sign-in is void.';
COMMENT ON COLUMN _flow.session_id IS 'The session that began it; NULL for a log-in.';
COMMENT ON COLUMN _flow.client IS 'SHA-256 of the client that began it, for the limit of each client.';
COMMENT ON COLUMN _flow.subject IS 'The provider''s id of the user, once it is proved.';
COMMENT ON COLUMN _flow.profile IS 'What the provider says about the user.';
COMMENT ON COLUMN _flow.verified_email IS 'The address that the provider says it has verified.';
COMMENT ON COLUMN _flow.token_sealed IS 'The provider''s tokens, encrypted like _factor.secret_sealed; NULL: no tokens are kept.';
COMMENT ON COLUMN _flow.created_at IS 'When it began, or when the code was created.';
COMMENT ON COLUMN _flow.expires_at IS 'When it ends.';

-- Deleted accounts ---------------------------------------------------------------------------------------------------

CREATE TABLE _deletion (
    user_id text COLLATE "C" PRIMARY KEY,
    began_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    finished_at timestamptz,
    swept_at timestamptz
);
CREATE INDEX ON _deletion (next_at);
COMMENT ON TABLE _deletion IS
    'The accounts that are being deleted, and for 30 days those that were deleted; no new account gets their ids.';
COMMENT ON COLUMN _deletion.user_id IS 'The id of the account.';
COMMENT ON COLUMN _deletion.began_at IS 'When the account was disabled in order to be deleted.';
COMMENT ON COLUMN _deletion.next_at IS
    'When a process continues with it; the process that works on it moves the time ahead. It is infinity when nothing is left to do.';
COMMENT ON COLUMN _deletion.finished_at IS 'When the account was gone; NULL: it is disabled, and some of its records may still exist.';
COMMENT ON COLUMN _deletion.swept_at IS 'When all records of others were last searched for mentions of the account.';

CREATE TABLE _former_login (
    code bytea PRIMARY KEY,
    until timestamptz NOT NULL,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE
);
CREATE INDEX ON _former_login (user_id) WHERE user_id IS NOT NULL;
COMMENT ON TABLE _former_login IS 'The login keys of deleted accounts, which no other account may have for 30 days, and addresses that accounts may get back.';
COMMENT ON COLUMN _former_login.code IS 'The result of _login_code() for the key, from which the key cannot be found without _secret.';
COMMENT ON COLUMN _former_login.until IS 'When other accounts may have it.';
COMMENT ON COLUMN _former_login.user_id IS 'The account that had the address and may have it again; NULL: it is deleted.';

-- Two nested hashes, as in HMAC, so that a code reveals nothing about that of a longer text.
CREATE FUNCTION _login_code(secret bytea, field text, value text) RETURNS bytea LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT sha256(
        secret || sha256(secret || convert_to('former login' || chr(1) || field || chr(1) || _login_canonical(value), 'UTF8'))
    )
$$;
COMMENT ON FUNCTION _login_code(bytea, text, text) IS
    'The code by which a login key of a deleted account is recognised: _login_code(secret, ''email'', ''ann@example.org'').';

-- Runs as the owner of the schema, since a role that may write profiles need not read the secret.
CREATE FUNCTION _check_former_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    value text;
    before text;
BEGIN
    IF NOT EXISTS (SELECT FROM _former_login) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT ($1).%1$I, ($2).%1$I', TG_ARGV[0]) INTO value, before USING NEW, OLD;
    IF value IS DISTINCT FROM before AND EXISTS (
        SELECT FROM _former_login AS former
        WHERE former.until > now() AND former.user_id IS DISTINCT FROM NEW._id
            AND former.code IN (SELECT _login_code(known.secret, TG_ARGV[0], value) FROM _secret AS known)
    ) THEN
        -- The constraint is that of a key that another account has, so that the response is the same.
        RAISE EXCEPTION 'Another account had this login key recently and may get it back.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_login_key_' || TG_ARGV[0], TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_login() IS 'Refuses a login key that another account had recently and may get back, or that was deleted within the last 30 days.';
CREATE TRIGGER _check_former_username AFTER INSERT OR UPDATE OF username ON "user" FOR EACH ROW
    WHEN (NEW.username IS NOT NULL) EXECUTE FUNCTION _check_former_login('username');
CREATE TRIGGER _check_former_email AFTER INSERT OR UPDATE OF email ON "user" FOR EACH ROW
    WHEN (NEW.email IS NOT NULL) EXECUTE FUNCTION _check_former_login('email');

CREATE FUNCTION _check_former_id() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM _deletion AS deletion WHERE deletion.user_id = NEW.id) THEN
        RAISE EXCEPTION 'An account with this id was deleted within the last 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_user_pkey', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_id() IS
    'Refuses an account with the id of one that was deleted within the last 30 days, which access lists may still name.';
CREATE TRIGGER _check_former_id AFTER INSERT ON _user FOR EACH ROW EXECUTE FUNCTION _check_former_id();

CREATE TABLE _merge (
    user_id text COLLATE "C" PRIMARY KEY,
    target text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    records bigint NOT NULL DEFAULT 0,
    began_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz NOT NULL,
    finished_at timestamptz
);
CREATE INDEX ON _merge (next_at);
COMMENT ON TABLE _merge IS 'The anonymous accounts that are being merged into others, and for 30 days those that were merged.';
COMMENT ON COLUMN _merge.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge.target IS 'The account that gets its records.';
COMMENT ON COLUMN _merge.token_hash IS 'SHA-256 of the token with which it was merged; a repeated call with it gets the same result.';
COMMENT ON COLUMN _merge.records IS 'How many records have moved.';
COMMENT ON COLUMN _merge.began_at IS 'When the anonymous account was disabled in order to be merged.';
COMMENT ON COLUMN _merge.next_at IS 'When a process continues with it; the process that works on it moves the time ahead. It is infinity when nothing is left to do.';
COMMENT ON COLUMN _merge.finished_at IS 'When everything had moved; NULL: something may not have moved yet.';

CREATE TABLE _merge_change (
    user_id text COLLATE "C" NOT NULL REFERENCES _merge (user_id) ON DELETE CASCADE,
    type text COLLATE "C" NOT NULL,
    old_id text COLLATE "C" NOT NULL,
    new_id text COLLATE "C" NOT NULL,
    cleared text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, type, old_id)
);
COMMENT ON TABLE _merge_change IS 'Private records of merged accounts that got another id or lost values, because the other account has a record with that id or value.';
COMMENT ON COLUMN _merge_change.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge_change.type IS 'The record type.';
COMMENT ON COLUMN _merge_change.old_id IS 'The id of the record on the wire, before the merge.';
COMMENT ON COLUMN _merge_change.new_id IS 'The id of the record on the wire, after the merge.';
COMMENT ON COLUMN _merge_change.cleared IS 'The fields whose values were removed.';

-- Finds the tombstones of an owner that is deleted.
CREATE INDEX ON _tombstone (owner) WHERE owner IS NOT NULL;

-- Finds anonymous accounts that are no longer used.
CREATE INDEX ON _user (created_at) WHERE password_hash IS NULL;

-- Files ---------------------------------------------------------------------------------------------------------------

-- A field with a file is a foreign key to this table. PostgreSQL checks it as the owner of the table, so that every role that
-- may write a record may refer to a file.
CREATE TABLE _asset (
    name text COLLATE "C" PRIMARY KEY CONSTRAINT _asset_name CHECK (
        octet_length(name) <= 153
        AND name ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[A-Za-z0-9._-]+$'
    ),
    filename text NOT NULL CHECK (octet_length(filename) <= 1024),
    content_type text NOT NULL CHECK (octet_length(content_type) <= 255),
    size bigint NOT NULL CHECK (size >= 0),
    state text NOT NULL CHECK (state IN ('expected', 'stored')),
    storage text NOT NULL DEFAULT 'local' CHECK (storage <> ''),
    sha256 bytea CHECK (octet_length(sha256) = 32),
    owner text COLLATE "C" REFERENCES _user (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    stored_at timestamptz,
    expires_at timestamptz,
    unreferenced_since timestamptz,
    sniffed text CHECK (octet_length(sniffed) <= 255),
    width bigint CHECK (width > 0),
    height bigint CHECK (height > 0),
    CHECK ((width IS NULL) = (height IS NULL)),
    CHECK ((state = 'stored') = (stored_at IS NOT NULL)),
    CHECK ((state = 'expected') = (expires_at IS NOT NULL)),
    CHECK (state = 'stored' OR sha256 IS NULL AND unreferenced_since IS NULL)
);
-- Counts the files that an uploader has announced.
CREATE INDEX ON _asset (owner) WHERE state = 'expected';
CREATE INDEX ON _asset (expires_at) WHERE state = 'expected';
-- Adds up the bytes of the files of an owner.
CREATE INDEX ON _asset (owner) INCLUDE (size) WHERE owner IS NOT NULL;
CREATE INDEX ON _asset (unreferenced_since) WHERE unreferenced_since IS NOT NULL;
COMMENT ON TABLE _asset IS 'The files that records refer to or may refer to; their bytes are in the storage, under their names.';
COMMENT ON COLUMN _asset.name IS 'A UUID, -, and the name of the file with _ for what an address cannot have.';
COMMENT ON COLUMN _asset.filename IS 'The name that its uploader gave it.';
COMMENT ON COLUMN _asset.content_type IS 'The media type, such as image/png.';
COMMENT ON COLUMN _asset.size IS 'The number of bytes; before they have arrived, the number that was announced.';
COMMENT ON COLUMN _asset.state IS 'expected: it was announced, and its bytes have not arrived; stored: its bytes are in the storage.';
COMMENT ON COLUMN _asset.storage IS 'Where its bytes are: local, the directory of the service; s3, its bucket.';
COMMENT ON COLUMN _asset.sha256 IS 'SHA-256 of its bytes; NULL: it is expected, or the service did not receive its bytes.';
COMMENT ON COLUMN _asset.owner IS 'The user who uploaded it; NULL: it was uploaded with a key alone, or the account is deleted.';
COMMENT ON COLUMN _asset.created_at IS 'When the row was created.';
COMMENT ON COLUMN _asset.stored_at IS 'When its bytes were in the storage; NULL: it is expected.';
COMMENT ON COLUMN _asset.expires_at IS 'Until when its bytes are expected; NULL: it is stored.';
COMMENT ON COLUMN _asset.unreferenced_since IS
    'When it was first found that no record refers to it; it is deleted some time later, unless a record refers to it again. NULL: a record refers to it, or it was not looked for.';
COMMENT ON COLUMN _asset.sniffed IS
    'The media type that its first bytes show; a browser shows it only if this is its media type. NULL: they show none.';
COMMENT ON COLUMN _asset.width IS 'Of an image, in pixels; NULL: it is not known.';
COMMENT ON COLUMN _asset.height IS 'Of an image, in pixels; NULL: it is not known.';

CREATE TABLE _garbage (
    name text COLLATE "C" PRIMARY KEY,
    storage text NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _garbage IS 'The files whose rows were deleted and whose bytes the service deletes next.';
COMMENT ON COLUMN _garbage.name IS 'The name of the file.';
COMMENT ON COLUMN _garbage.storage IS 'Where its bytes are.';
COMMENT ON COLUMN _garbage.deleted_at IS 'When its row was deleted.';

-- Its length, owner, name and end are those of the announced file: one row says how much an uploader has announced.
CREATE TABLE _upload (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'),
    name text COLLATE "C" NOT NULL UNIQUE REFERENCES _asset (name) ON DELETE CASCADE,
    incoming text COLLATE "C" NOT NULL UNIQUE,
    received bigint NOT NULL DEFAULT 0 CHECK (received >= 0),
    metadata text NOT NULL CHECK (octet_length(metadata) <= 4096),
    lease bigint NOT NULL DEFAULT 1,
    leased_until timestamptz,
    is_wanted boolean NOT NULL DEFAULT false,
    sha256 bytea CHECK (octet_length(sha256) = 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _upload IS 'Uploads that may be interrupted and continued, and for a day those that are complete.';
COMMENT ON COLUMN _upload.id IS 'What the address of the upload ends with.';
COMMENT ON COLUMN _upload.name IS 'The name of the file, which is stored once all of its bytes have arrived.';
COMMENT ON COLUMN _upload.incoming IS 'The file in the storage that has the bytes until then.';
COMMENT ON COLUMN _upload.received IS 'How many bytes are certain to be in the storage, from the beginning on; it may have more, which do not count.';
COMMENT ON COLUMN _upload.metadata IS 'What the client said of the file: Upload-Metadata.';
COMMENT ON COLUMN _upload.lease IS 'Counts the requests that have written it; only the last one may.';
COMMENT ON COLUMN _upload.leased_until IS 'Until when that request writes it, unless it extends the time; NULL: no request writes it.';
COMMENT ON COLUMN _upload.is_wanted IS 'Whether another request waits for the end of that one.';
COMMENT ON COLUMN _upload.sha256 IS 'SHA-256 of the file that is about to get its name; NULL: it is not complete yet.';
COMMENT ON COLUMN _upload.created_at IS 'When the row was created.';

-- Notices -------------------------------------------------------------------------------------------------------------
-- Processes keep sessions, files and the schema in memory, and are notified of changes, also of those made in psql. All of these
-- are rare, so NOTIFY is affordable for them, unlike for records. A notice names its schema, since a copy of an application in
-- the same database has the same channel.

CREATE FUNCTION _announce_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF (SELECT count(*) FROM deleted_row WHERE expires_at > now() OR expires_at IS NULL) > 100 THEN
        PERFORM _notify('session', '/all');
    ELSE
        PERFORM _notify('session', '/token:' || encode(token_hash, 'hex'))
        FROM deleted_row WHERE expires_at > now() OR expires_at IS NULL;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_session() IS 'Notifies every process of the sessions that have ended.';
CREATE TRIGGER _announce AFTER DELETE ON _session REFERENCING OLD TABLE AS deleted_row
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_session();

CREATE FUNCTION _announce_rotation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/token:' || encode(OLD.token_hash, 'hex'));
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_rotation() IS 'Notifies every process that the token of a session was replaced.';
CREATE TRIGGER _announce_rotation AFTER UPDATE OF token_hash ON _session
    FOR EACH ROW EXECUTE FUNCTION _announce_rotation();

CREATE FUNCTION _announce_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/user:' || NEW.id);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_user() IS 'Notifies every process that the sessions of a user must be looked up again.';
CREATE TRIGGER _announce
    AFTER UPDATE OF password_hash, token_valid_since, epoch, disabled, disabled_message, disabled_until, verified_email
    ON _user FOR EACH ROW EXECUTE FUNCTION _announce_user();

CREATE FUNCTION _announce_address() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/user:' || NEW._id);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_address() IS 'Notifies every process that the address of a user has changed and may not be the verified one.';
CREATE TRIGGER _announce_address AFTER UPDATE OF email ON "user" FOR EACH ROW
    WHEN (NEW.email IS DISTINCT FROM OLD.email) EXECUTE FUNCTION _announce_address();

CREATE FUNCTION _announce_user_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM _notify('session', '/user:' || OLD.user_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM _notify('session', '/user:' || NEW.user_id);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_user_role() IS 'Notifies every process that the roles or groups of a user have changed.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _user_role
    FOR EACH ROW EXECUTE FUNCTION _announce_user_role();

CREATE FUNCTION _announce_all_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/all');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_all_sessions() IS 'Notifies every process that all sessions must be looked up again.';
CREATE TRIGGER _announce AFTER UPDATE OF name, is_admin OR DELETE ON _role
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _session
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _user_role
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();
CREATE TRIGGER _announce_all AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _role_role
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _user_group
    FOR EACH ROW EXECUTE FUNCTION _announce_user_role();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _user_group
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();

-- Whether an account is anonymous depends on its identities. A log-in stores its time without a notice.
CREATE FUNCTION _announce_identity() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM _notify('session', '/user:' || OLD.user_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM _notify('session', '/user:' || NEW.user_id);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_identity() IS 'Notifies every process that the identities of a user have changed.';
CREATE TRIGGER _announce AFTER INSERT OR DELETE OR UPDATE OF user_id ON _identity
    FOR EACH ROW EXECUTE FUNCTION _announce_identity();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _identity
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();

CREATE TABLE _key (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^k[0-9a-z]{8}$'),
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    previous_hash bytea UNIQUE CHECK (octet_length(previous_hash) = 32),
    previous_until timestamptz,
    name text COLLATE "C" NOT NULL CONSTRAINT _key_name CHECK (
        -- Without BETWEEN, which pg_dump writes with other parentheses.
        octet_length(name) >= 1 AND octet_length(name) <= 255 AND name IS NFC NORMALIZED
        AND name !~ '[\u0001-\u001F\u007F-\u009F]'
        AND name !~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
        AND name !~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    ),
    kind text NOT NULL CHECK (kind IN ('client', 'server')),
    scopes text[] NOT NULL DEFAULT '{}' CHECK (cardinality(scopes) <= 100 AND array_position(scopes, NULL) IS NULL),
    networks cidr[] NOT NULL DEFAULT '{}' CHECK (cardinality(networks) <= 100 AND array_position(networks, NULL) IS NULL),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    CHECK ((previous_hash IS NULL) = (previous_until IS NULL))
);
COMMENT ON TABLE _key IS 'Keys with scopes, by their hashes; skyrow key creates them.';
COMMENT ON COLUMN _key.id IS 'The part of the key that identifies it; it grants no access.';
COMMENT ON COLUMN _key.hash IS 'SHA-256 of the key, which has 256 random bits.';
COMMENT ON COLUMN _key.previous_hash IS 'SHA-256 of the key before the last rotation.';
COMMENT ON COLUMN _key.previous_until IS 'Until when the key before the last rotation is accepted.';
COMMENT ON COLUMN _key.name IS 'What the key is for; key:<name> in access lists and rules means all keys of this name.';
COMMENT ON COLUMN _key.kind IS 'client: admits clients; server: is exempt from the access rules of records.';
COMMENT ON COLUMN _key.scopes IS
    'What it may do, {read,type:note}; empty: everything that its kind may do. A key with an invalid scope is refused.';
COMMENT ON COLUMN _key.networks IS 'The networks from which it is accepted; empty: all networks.';
COMMENT ON COLUMN _key.created_at IS 'When it was created.';
COMMENT ON COLUMN _key.expires_at IS 'When it expires; NULL: never.';
COMMENT ON COLUMN _key.revoked_at IS 'When it was revoked; NULL: it was not.';
COMMENT ON COLUMN _key.last_used_at IS 'When it was last used, to the minute; NULL: never.';
INSERT INTO _version (name) VALUES ('keys');

-- A use is stored without a notice.
CREATE FUNCTION _announce_keys() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version AS known (name, value) VALUES ('keys', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1;
    PERFORM _notify('session', '/keys');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_keys() IS 'Notifies every process that the keys have changed.';
CREATE TRIGGER _announce
    AFTER INSERT OR DELETE OR UPDATE OF
        id, hash, previous_hash, previous_until, name, kind, scopes, networks, expires_at, revoked_at
    ON _key FOR EACH ROW EXECUTE FUNCTION _announce_keys();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _key
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_keys();

CREATE FUNCTION _announce_functions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/functions');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_functions() IS 'Notifies every process that functions or hooks have changed.';

-- A process reads it at its start, so that hooks are known before a function server is up.
CREATE TABLE _function_server (
    name text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) >= 1 AND octet_length(name) <= 255),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    registration jsonb NOT NULL CHECK (jsonb_typeof(registration) = 'object'),
    registered_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _function_server IS 'What each function server has registered; rows of servers that the settings do not name are ignored.';
COMMENT ON COLUMN _function_server.name IS 'The name of the server in the settings.';
COMMENT ON COLUMN _function_server.digest IS 'SHA-256 of the registration as the service wrote it, by which an equal one is recognized.';
COMMENT ON COLUMN _function_server.registration IS 'Its functions, hooks, handlers, timers, providers and events.';
COMMENT ON COLUMN _function_server.registered_at IS 'When it last registered something else than before.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _function_server
    FOR EACH ROW EXECUTE FUNCTION _announce_functions();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _function_server
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_functions();

-- Processes keep files open. An upload changes only a row that is expected, so it sends no notice, and one of many rows sends one.
CREATE FUNCTION _announce_files() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT FROM deleted_row WHERE state = 'stored') THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM _notify('session', '/files');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_files() IS 'Notifies every process that stored files were changed or deleted.';
CREATE TRIGGER _announce AFTER DELETE ON _asset REFERENCING OLD TABLE AS deleted_row
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_files();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _asset
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_files();
CREATE TRIGGER _announce_change
    AFTER UPDATE OF name, filename, content_type, size, state, storage, owner, stored_at, sniffed
    ON _asset FOR EACH ROW WHEN (OLD.state = 'stored' AND OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION _announce_files();

-- Database logins -----------------------------------------------------------------------------------------------------

CREATE TABLE _database_login (
    role name PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE
);
CREATE INDEX ON _database_login (user_id);
COMMENT ON TABLE _database_login IS
    'The users for whom roles of PostgreSQL log in: skyrow policies apply --login role=user. The policies of record tables read it.';
COMMENT ON COLUMN _database_login.role IS 'The role that logs in, session_user.';
COMMENT ON COLUMN _database_login.user_id IS 'The account.';

CREATE TABLE _policy (
    type text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('rules', 'rights', 'policy', 'trigger', 'view')),
    name text COLLATE "C" NOT NULL,
    source text NOT NULL,
    stored text NOT NULL,
    PRIMARY KEY (type, kind, name)
);
COMMENT ON TABLE _policy IS 'What skyrow policies apply created, from which skyrow policies check finds what has changed since.';
COMMENT ON COLUMN _policy.type IS 'The record type.';
COMMENT ON COLUMN _policy.kind IS 'policy, trigger or view; rules: the rules from which the policies were made; rights: the privileges of database logins.';
COMMENT ON COLUMN _policy.name IS 'The name of the object; empty for rules and rights.';
COMMENT ON COLUMN _policy.source IS 'The statement that created it; for rules, the result of _rules_digest(); for rights, a line for each.';
COMMENT ON COLUMN _policy.stored IS 'The stored form of the statement, as PostgreSQL prints it.';

-- The role that logged in, not a setting, since a client may set any setting. SET ROLE does not change session_user, and only
-- a superuser may SET SESSION AUTHORIZATION. PL/pgSQL keeps its plans; an SQL function would be planned for each statement.
CREATE FUNCTION _me() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (
        SELECT account.id FROM _database_login AS login JOIN _user AS account ON account.id = login.user_id
        WHERE login.role = session_user
            AND NOT (account.disabled AND (account.disabled_until IS NULL OR account.disabled_until > now()))
    );
END $$;
COMMENT ON FUNCTION _me() IS 'The id of the user for whom this database login stands; NULL for any other role, and while the account is disabled.';

-- The same as Audience in the service for a session without a key. A user with too many roles is refused there, too.
CREATE FUNCTION _audience() RETURNS text[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
    roles text[];
BEGIN
    IF me IS NULL THEN
        RETURN NULL;
    END IF;
    roles := ARRAY(
        WITH RECURSIVE held (role) AS (
            SELECT given.role FROM _user_role AS given WHERE given.user_id = me
            UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
        )
        SELECT 'role:' || held.role FROM held LIMIT 1001
    );
    IF cardinality(roles) > 1000 THEN
        RAISE EXCEPTION 'A user can have at most 1000 roles.' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    RETURN ARRAY['public', 'users', 'user:' || me] || roles
        || ARRAY(
            SELECT 'registered' FROM _user AS account
            WHERE account.id = me AND (
                account.password_hash IS NOT NULL
                OR account.verified_email IS NOT NULL
                OR EXISTS (SELECT FROM _identity AS identity WHERE identity.user_id = me)
            )
        )
        || ARRAY(
            SELECT 'verified' FROM _user AS account JOIN "user" AS profile ON profile._id = account.id
            WHERE account.id = me AND profile.email = account.verified_email
        )
        || ARRAY(SELECT 'group:' || carried.name FROM _user_group AS carried WHERE carried.user_id = me);
END $$;
COMMENT ON FUNCTION _audience() IS
    'The keys of all subjects that include the user of this database login, {public,users,user:ann,role:editor}; NULL for any other role.';

CREATE FUNCTION _is_related(relation text, owner text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
BEGIN
    RETURN CASE relation
        WHEN 'friend' THEN EXISTS (
            SELECT FROM _relation AS edge
            WHERE edge.user_id = me AND edge.name = 'friend' AND edge.other_id = owner AND edge.mutual
        )
        WHEN 'follower' THEN EXISTS (
            SELECT FROM _relation AS edge WHERE edge.user_id = me AND edge.name = 'follow' AND edge.other_id = owner
        )
        WHEN 'followed' THEN EXISTS (
            SELECT FROM _relation AS edge WHERE edge.other_id = me AND edge.name = 'follow' AND edge.user_id = owner
        )
        ELSE false
    END;
END $$;
COMMENT ON FUNCTION _is_related(text, text) IS
    'Whether the user of this database login is a friend of, follows (follower) or is followed by (followed) another user: _is_related(''friend'', ''ann'').';

-- Without the relations that a trigger notes, since policies test every relation.
CREATE FUNCTION _rules_digest(type text) RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN md5(jsonb_build_array(
        (SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.action) FROM _class_rule AS rule WHERE rule.type = $1),
        (
            SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.type, rule.field, rule.action)
            FROM _field_rule AS rule WHERE rule.type IN ($1, '*')
        ),
        (
            SELECT to_jsonb(option) - 'relations' FROM _class_option AS option
            WHERE option.type = $1 AND NOT (
                option.default_access IS NULL AND option.list_by IS NULL AND option.list_read_by IS NULL
                AND option.transfer_by = 'master' AND option.creator = 'owner' AND option.private AND option.aggregate
            )
        )
    )::text);
END $$;
COMMENT ON FUNCTION _rules_digest(text) IS 'A digest of the rules of a record type.';

-- Policies are made from the rules of a type. If the rules have changed since, nothing of the type is visible until the
-- policies are made again.
CREATE FUNCTION _may_ask(type text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF _me() IS NULL THEN
        RETURN false;
    END IF;
    IF (SELECT known.source FROM _policy AS known WHERE known.type = $1 AND known.kind = 'rules')
        IS DISTINCT FROM _rules_digest($1)
    THEN
        RAISE EXCEPTION 'The rules of the type % have changed. Run skyrow policies apply to update its policies.', $1
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _may_ask(text) IS
    'Whether this database login stands for a user; fails while the policies of the record type do not match its rules.';

-- Runs with the privileges of the role that calls it, so that the policies of the other type apply.
CREATE FUNCTION _may_refer(type text, ids text[], database text) RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    found_ids bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM %I AS target WHERE target._id = ANY ($1) AND target._database IN (''_public'', $2)', type
    ) INTO found_ids USING ids, database;
    RETURN found_ids = (SELECT count(DISTINCT given.id) FROM unnest(ids) AS given (id) WHERE given.id IS NOT NULL);
END $$;
COMMENT ON FUNCTION _may_refer(text, text[], text) IS
    'Whether a record of a database may refer to these records of a type: the role that calls it must see each of them.';

-- The uploader of a file may put it into a record, and so may everyone who has the name of a file without an uploader.
CREATE FUNCTION _may_use_file(file text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM _asset AS asset
        WHERE asset.name = file AND asset.state = 'stored' AND (asset.owner IS NULL OR asset.owner = _me())
    );
END $$;
COMMENT ON FUNCTION _may_use_file(text) IS
    'Whether the user of this database login may put a file into a record: _may_use_file(name).';

-- A record that a database login writes names its user, and a new one gets the access list that a save would give it.
CREATE FUNCTION _sign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
BEGIN
    IF me IS NULL THEN
        RETURN NEW;
    END IF;
    NEW._updated_by := me;
    IF TG_OP = 'INSERT' THEN
        NEW._created_by := me;
        NEW._owner := coalesce(NEW._owner, me);
        IF NEW._access IS NULL AND NEW._database = '_public' THEN
            NEW._access := coalesce(
                (SELECT account.default_access FROM _user AS account WHERE account.id = me),
                (SELECT option.default_access FROM _class_option AS option WHERE option.type = TG_TABLE_NAME)
            );
        END IF;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _sign() IS 'Sets who created and updated a record that a database login writes, and gives a new record its owner and access list.';

CREATE FUNCTION _refuse_column() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'You may not set % of this record to that value.', quote_ident(TG_ARGV[0])
        USING ERRCODE = 'insufficient_privilege', TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0];
END $$;
COMMENT ON FUNCTION _refuse_column() IS 'Refuses a change that a database login may not make; the condition is in its trigger.';

-- A column on which a policy depends cannot be dropped or retyped, so the service calls this first. The table stays closed to
-- database logins until policies are made again.
CREATE FUNCTION _close_type(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := to_regclass(format('%I', $1));
    held record;
BEGIN
    IF NOT EXISTS (SELECT FROM _policy AS known WHERE known.type = $1) THEN
        RETURN;
    END IF;
    EXECUTE format('DROP VIEW IF EXISTS %I.%I', current_schema() || '_visible', $1);
    FOR held IN
        SELECT polname AS name FROM pg_policy
        WHERE polrelid = record_table AND polname IN ('_select', '_insert', '_update', '_delete')
    LOOP
        EXECUTE format('DROP POLICY %I ON %s', held.name, record_table);
    END LOOP;
    FOR held IN
        SELECT tgname AS name FROM pg_trigger
        WHERE tgrelid = record_table AND NOT tgisinternal AND (starts_with(tgname, '_sign_') OR starts_with(tgname, '_guard_'))
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', held.name, record_table);
    END LOOP;
    IF record_table IS NOT NULL THEN
        FOR held IN
            SELECT login.role AS name FROM _database_login AS login JOIN pg_roles ON rolname = login.role
        LOOP
            EXECUTE format('REVOKE ALL ON %s FROM %I', record_table, held.name);
        END LOOP;
    END IF;
    DELETE FROM _policy AS known WHERE known.type = $1;
END $$;
COMMENT ON FUNCTION _close_type(text) IS
    'Drops what skyrow policies apply created for a record type, and closes its table to database logins.';

CREATE FUNCTION _announce_schema() RETURNS event_trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    -- The service sends its own notices, which name the changed types.
    IF current_setting('skyrow.announced', true) = 'on' THEN
        RETURN;
    END IF;
    IF TG_EVENT = 'sql_drop' THEN
        IF NOT EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE schema_name = current_schema()) THEN
            RETURN;
        END IF;
    ELSIF NOT EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE schema_name = current_schema()) THEN
        RETURN;
    END IF;
    -- A role that creates tables need not read _meta, so the channel has a fixed name. The notice reveals nothing that
    -- pg_class does not show.
    PERFORM pg_notify('skyrow_schema', '');
END $$;
COMMENT ON FUNCTION _announce_schema() IS 'Notifies every process that a table of this schema was changed by hand.';

-- Only a superuser may create event triggers. Without them, a process notices a change when it meets an unknown name, or when
-- PostgreSQL reports one.
CREATE FUNCTION _install_event_triggers() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    watched text;
    name text;
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RETURN;
    END IF;
    FOREACH watched IN ARRAY ARRAY['ddl_command_end', 'sql_drop'] LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_event_trigger
            WHERE evtfoid = '_announce_schema()'::regprocedure AND evtevent = watched
        );
        name := 'skyrow_' || watched || '_' || current_schema();
        EXECUTE format(
            'CREATE EVENT TRIGGER %I ON %s EXECUTE FUNCTION _announce_schema()',
            CASE WHEN octet_length(name) <= 63 THEN name ELSE 'skyrow_' || md5(name) END, watched
        );
    END LOOP;
END $$;
COMMENT ON FUNCTION _install_event_triggers() IS 'Creates the event triggers that notice changes made by hand, if the role may do so.';

-- The schema of the reserved tables -----------------------------------------------------------------------------------

-- Functions of the application -----------------------------------------------------------------------------------------

CREATE TABLE _function (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$'),
    signature text NOT NULL CHECK (octet_length(signature) <= 10000),
    need text NOT NULL DEFAULT 'user' CHECK (need IN ('nothing', 'key', 'user', 'roles', 'administrator', 'master')),
    roles text[] NOT NULL DEFAULT '{}' CHECK (cardinality(roles) <= 100 AND array_position(roles, NULL) IS NULL),
    timeout interval CHECK (timeout >= '1 ms' AND timeout <= '10 min'),
    exposed_at timestamptz NOT NULL DEFAULT now(),
    exposed_by text NOT NULL DEFAULT session_user,
    CHECK ((need = 'roles') = (cardinality(roles) > 0))
);
COMMENT ON TABLE _function IS 'The functions of this schema that clients may call; _expose() adds them, and _hide() removes them.';
COMMENT ON COLUMN _function.name IS 'The name by which clients call it.';
COMMENT ON COLUMN _function.signature IS
    'Its name in the database with the types of its parameters, nearby(double precision,double precision); it is looked up when it is used.';
COMMENT ON COLUMN _function.need IS
    'What a caller needs: nothing, key (a key or a token), user (to be logged in), roles (one of the roles), administrator or master.';
COMMENT ON COLUMN _function.roles IS 'With need roles, the roles of which a caller needs one; otherwise empty.';
COMMENT ON COLUMN _function.timeout IS 'How long a call may take; NULL: as long as the setting function-timeout says.';
COMMENT ON COLUMN _function.exposed_at IS 'When it was exposed, or when that last changed.';
COMMENT ON COLUMN _function.exposed_by IS 'Who exposed it: the role of PostgreSQL, or the caller of function:expose.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _function
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_functions();

-- The caller of the function that runs. The service sets these for the transaction of the call; outside of it they are empty.
-- Without SET they can be inlined, so they name the schema of what they use.
CREATE FUNCTION _caller() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(pg_catalog.current_setting('skyrow.user_id', true), '')
$$;
COMMENT ON FUNCTION _caller() IS 'In a function that a client calls: the id of the user who calls it; NULL without a user.';

CREATE FUNCTION _caller_roles() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(pg_catalog.current_setting('skyrow.roles', true), ''), '{}')::pg_catalog.text[]
$$;
COMMENT ON FUNCTION _caller_roles() IS 'In a function that a client calls: the roles of the user who calls it.';

CREATE FUNCTION _caller_is_master() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(pg_catalog.current_setting('skyrow.is_master', true), '') OPERATOR(pg_catalog.=) 'true'
$$;
COMMENT ON FUNCTION _caller_is_master() IS 'In a function that a client calls: whether the call has the master key.';

CREATE FUNCTION _routine(signature text) RETURNS oid LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    IF strpos(signature, '(') = 0 THEN
        RETURN to_regproc(signature);
    END IF;
    RETURN to_regprocedure(signature);
EXCEPTION WHEN OTHERS THEN
    -- Older versions of PostgreSQL raise an error for the type of a parameter that does not exist.
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _routine(text) IS 'The function with that name and those types of parameters; NULL: there is none.';

CREATE FUNCTION _function_fault(routine oid) RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    about record;
BEGIN
    SELECT proname, pronamespace, prokind, provariadic, proretset, prorettype, pronargs,
        coalesce(proargmodes, '{}') AS modes, coalesce(proargnames, '{}') AS names, proargtypes::oid[] AS types,
        (SELECT typtype FROM pg_type WHERE pg_type.oid = prorettype) AS result_kind
    INTO about FROM pg_proc WHERE pg_proc.oid = routine;
    RETURN CASE
        WHEN about.proname IS NULL THEN
            'The function does not exist. Name it with the types of its parameters: nearby(double precision, double precision).'
        WHEN about.pronamespace <> (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) THEN
            format('Only functions of the schema %I can be exposed.', current_schema())
        WHEN starts_with(about.proname, '_') THEN
            'Functions whose name begins with _ are reserved.'
        WHEN about.prokind <> 'f' THEN
            'Only functions can be exposed, and no procedures, aggregates and window functions.'
        WHEN 1 < (SELECT count(*) FROM pg_proc WHERE proname = about.proname AND pronamespace = about.pronamespace) THEN
            'The schema has several functions of this name. Calls name parameters, and not their types, so rename or drop the others.'
        WHEN about.provariadic <> 0 OR about.modes && '{o,b,v}' THEN
            'A function with OUT, INOUT or VARIADIC parameters cannot be exposed; return TABLE, or take an array.'
        WHEN about.pronargs > 0 AND (
            cardinality(about.names) < about.pronargs OR '' = ANY (about.names[1:about.pronargs])
        ) THEN
            'Every parameter needs a name, since calls name their arguments.'
        WHEN EXISTS (SELECT FROM pg_type WHERE pg_type.oid = ANY (about.types) AND typtype IN ('p', 'c')) THEN
            'A parameter cannot be polymorphic or a record; take jsonb.'
        WHEN about.prorettype = 'record'::regtype AND NOT about.modes && '{t}' THEN
            'The columns of the result are unknown; return TABLE, or the type of a table.'
        WHEN about.result_kind = 'p' AND about.prorettype NOT IN ('void'::regtype, 'record'::regtype) THEN
            'A function with a polymorphic result, and a trigger function, cannot be exposed.'
    END;
END $$;
COMMENT ON FUNCTION _function_fault(oid) IS 'Why a function cannot be exposed; NULL: it can.';

CREATE FUNCTION _expose(
    signature text, need text DEFAULT 'user', name text DEFAULT NULL, roles text[] DEFAULT '{}', timeout interval DEFAULT NULL,
    by text DEFAULT session_user
) RETURNS text LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    routine oid := _routine(signature);
    fault text := _function_fault(routine);
    -- With roles, to be any user is not enough.
    strictness text := CASE WHEN need = 'user' AND cardinality(roles) > 0 THEN 'roles' ELSE need END;
    exposed text := coalesce(name, (SELECT proname FROM pg_proc WHERE oid = routine));
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = CASE WHEN routine IS NULL THEN 'SK110' ELSE 'SK108' END;
    END IF;
    IF exposed !~ '^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$' THEN
        RAISE EXCEPTION 'The name of an exposed function must be a letter followed by at most 127 letters, digits or characters of "_.:/-"; give it one.'
            USING ERRCODE = 'SK108';
    END IF;
    IF (strictness = 'roles') <> (cardinality(roles) > 0) THEN
        RAISE EXCEPTION 'The need "roles" takes at least one role, and no other need takes any.' USING ERRCODE = 'SK108';
    END IF;
    INSERT INTO _function AS known (name, signature, need, roles, timeout, exposed_by)
    VALUES (exposed, routine::regprocedure::text, strictness, _expose.roles, _expose.timeout, _expose.by)
    ON CONFLICT ON CONSTRAINT _function_pkey DO UPDATE SET signature = EXCLUDED.signature, need = EXCLUDED.need,
        roles = EXCLUDED.roles, timeout = EXCLUDED.timeout, exposed_at = EXCLUDED.exposed_at, exposed_by = EXCLUDED.exposed_by;
    RETURN exposed;
END $$;
REVOKE EXECUTE ON FUNCTION _expose(text, text, text, text[], interval, text) FROM PUBLIC;
COMMENT ON FUNCTION _expose(text, text, text, text[], interval, text) IS
    'Lets clients call a function of this schema: SELECT _expose(''nearby(double precision, double precision)'', ''user'').';

CREATE FUNCTION _hide(name text) RETURNS boolean LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM _function AS known WHERE known.name = _hide.name;
    RETURN FOUND;
END $$;
REVOKE EXECUTE ON FUNCTION _hide(text) FROM PUBLIC;
COMMENT ON FUNCTION _hide(text) IS 'Ends what _expose() began: SELECT _hide(''nearby''). It returns whether there was such a function.';

-- Without the schemas of the application on its path, so that their types have their schema in their names.
CREATE FUNCTION _type_name(type oid) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT format_type(type, NULL)
$$;
COMMENT ON FUNCTION _type_name(oid) IS 'The name of a type on any search path.';

CREATE FUNCTION _exposed() RETURNS TABLE (
    name text, signature text, need text, roles text[], timeout bigint, fault text, routine text, names text[], types text[],
    defaults integer, is_set boolean, result text, record_type text, column_names text[], column_types text[],
    is_read_only boolean, is_unguarded boolean
) LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT known.name, known.signature, known.need, known.roles, (extract(epoch FROM known.timeout) * 1000)::bigint,
        _function_fault(here.oid), here.proname::text, coalesce(here.proargnames[1:here.pronargs], '{}'),
        ARRAY(
            SELECT _type_name(given.type) FROM unnest(here.proargtypes::oid[]) WITH ORDINALITY AS given (type, place)
            ORDER BY given.place
        ),
        here.pronargdefaults::integer, here.proretset, format_type(here.prorettype, NULL),
        (
            SELECT kept.relname::text FROM pg_class AS kept
            WHERE kept.oid = result.typrelid AND here.proretset AND kept.relkind IN ('r', 'p')
                AND kept.relnamespace = here.pronamespace AND kept.relname ~ '^[A-Za-z][A-Za-z0-9_]*$'
        ),
        columns.names, columns.types, here.provolatile <> 'v',
        here.prosecdef AND NOT EXISTS (
            SELECT FROM unnest(here.proconfig) AS setting WHERE starts_with(setting, 'search_path=')
        )
    FROM _function AS known
    LEFT JOIN pg_proc AS here ON here.oid = _routine(known.signature)
    LEFT JOIN pg_type AS result ON result.oid = here.prorettype
    LEFT JOIN LATERAL (
        SELECT array_agg(part.name ORDER BY part.place) AS names,
            array_agg(format_type(part.type, NULL) ORDER BY part.place) AS types
        FROM (
            SELECT attname::text AS name, atttypid AS type, attnum::bigint AS place FROM pg_attribute
            WHERE attrelid = result.typrelid AND result.typrelid <> 0 AND attnum > 0 AND NOT attisdropped
            UNION ALL
            SELECT here.proargnames[given.place], given.type, given.place
            FROM unnest(here.proallargtypes) WITH ORDINALITY AS given (type, place)
            WHERE here.proargmodes[given.place] = 't'
        ) AS part
    ) AS columns ON true
    ORDER BY known.name
$$;
COMMENT ON FUNCTION _exposed() IS
    'The exposed functions with what the catalogs of PostgreSQL say about them, and in fault why one cannot be called.';

-- Raised inside of the statement, so that what the function did is undone.
CREATE FUNCTION _refuse_result(message text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = 'SK132';
END $$;
COMMENT ON FUNCTION _refuse_result(text) IS 'Refuses the result of a function, and undoes what the function did.';

CREATE FUNCTION _json_date(value timestamptz) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN pg_catalog.isfinite(value) THEN pg_catalog.jsonb_build_object(
        '$type', 'date', '$date', pg_catalog.concat(pg_catalog.rtrim(pg_catalog.rtrim(
            pg_catalog.to_char(pg_catalog.timezone('UTC', value), 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'
        ), '.'), 'Z')
    ) ELSE pg_catalog.to_jsonb(value) END
$$;
COMMENT ON FUNCTION _json_date(timestamptz) IS 'An instant in the form that records have in JSON.';

-- The reserved tables have their own schema, so that \dt in psql lists only what applications created. Indexes, constraints
-- and sequences follow their tables. Only the owner may use the schema.
DO $do$
DECLARE
    internal name := (current_schemas(false))[2];
    reserved regclass;
BEGIN
    FOR reserved IN
        SELECT oid FROM pg_class
        WHERE relkind = 'r' AND starts_with(relname, '_')
            AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        ORDER BY oid
    LOOP
        EXECUTE format('ALTER TABLE %s SET SCHEMA %I', reserved, internal);
    END LOOP;
    EXECUTE format(
        'COMMENT ON SCHEMA %I IS %L', internal, 'The reserved tables of the application in ' || current_schema() || '.'
    );
END $do$;

-- Views for operators in psql, with names that need no schema: a view has the plural of its table's name. Each view lists its
-- columns, so that it never shows a secret that is added to the table later. Views have the privileges of their owner, so that
-- a role for reports can be granted just some of them.

CREATE FUNCTION _may_look() RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM _database_login AS login WHERE login.role = session_user) THEN
        RAISE EXCEPTION 'A role that stands for a user may not read the views of accounts and rules.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _may_look() IS
    'Refuses the roles of PostgreSQL that stand for users, also where GRANT SELECT ON ALL TABLES has given them a view.';

CREATE FUNCTION _refuse_write() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'The view % is read-only.', TG_TABLE_NAME
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('Write to the table %s.', TG_ARGV[0]);
END $$;
COMMENT ON FUNCTION _refuse_write() IS 'Refuses changes through a view of a reserved table.';

CREATE VIEW _users WITH (security_barrier) AS
SELECT id, password_hash IS NOT NULL AS has_password, verified_email, second_factor, disabled, disabled_message, disabled_until,
    default_access, created_at, last_login_at, last_seen_at, password_changed_at, token_valid_since, epoch
FROM _user WHERE (SELECT _may_look());

CREATE VIEW _sessions WITH (security_barrier) AS
SELECT id, user_id, created_at, created_with, last_used_at, expires_at, rotated_at, device_id, device_name, address, user_agent,
    level, elevated_until, epoch
FROM _session WHERE (SELECT _may_look());

CREATE VIEW _identities WITH (security_barrier) AS
SELECT provider, subject, user_id, profile, created_at, last_used_at FROM _identity WHERE (SELECT _may_look());

CREATE VIEW _roles WITH (security_barrier) AS
SELECT name, by_default, is_admin, access, owner, created_at, updated_at FROM _role WHERE (SELECT _may_look());

CREATE VIEW _user_roles WITH (security_barrier) AS
SELECT user_id, role FROM _user_role WHERE (SELECT _may_look());

CREATE VIEW _role_roles WITH (security_barrier) AS
SELECT role, member FROM _role_role WHERE (SELECT _may_look());

CREATE VIEW _user_groups WITH (security_barrier) AS
SELECT user_id, name FROM _user_group WHERE (SELECT _may_look());

CREATE VIEW _class_rules WITH (security_barrier) AS
SELECT type, action, allow, mode FROM _class_rule WHERE (SELECT _may_look());

CREATE VIEW _class_options WITH (security_barrier) AS
SELECT type, default_access, list_by, list_read_by, transfer_by, creator, private, aggregate, relations
FROM _class_option WHERE (SELECT _may_look());

CREATE VIEW _field_rules WITH (security_barrier) AS
SELECT type, field, action, allow FROM _field_rule WHERE (SELECT _may_look());

CREATE VIEW _keys WITH (security_barrier) AS
SELECT id, name, kind, scopes, networks, created_at, expires_at, revoked_at, last_used_at, previous_until
FROM _key WHERE (SELECT _may_look());

CREATE VIEW _functions WITH (security_barrier) AS
SELECT name, signature, need, roles, timeout, exposed_at, exposed_by FROM _function WHERE (SELECT _may_look());

CREATE VIEW _audits WITH (security_barrier) AS
SELECT id, at, event, outcome, user_id, actor, session_id, key_id, address, request_id, data
FROM _audit WHERE (SELECT _may_look());

CREATE VIEW _mails WITH (security_barrier) AS
SELECT id, kind, user_id, target, language, state, attempts, created_at, next_at, failure
FROM _mail WHERE (SELECT _may_look());

CREATE VIEW _indexes WITH (security_barrier) AS
SELECT name, type, kind, fields, is_unique, nulls_equal, state, attempts, has_begun, reason, duplicates, sql_state, changed_at
FROM _index WHERE (SELECT _may_look());

CREATE VIEW _tombstones WITH (security_barrier) AS
SELECT type, id, database, owner, access, members, kind, revision, deleted_at FROM _tombstone WHERE (SELECT _may_look());

CREATE VIEW _assets WITH (security_barrier) AS
SELECT name, filename, content_type, size, state, storage, owner, created_at, stored_at, expires_at, unreferenced_since
FROM _asset WHERE (SELECT _may_look());

CREATE VIEW _deletions WITH (security_barrier) AS
SELECT user_id, began_at, next_at, finished_at, swept_at FROM _deletion WHERE (SELECT _may_look());

CREATE VIEW _merges WITH (security_barrier) AS
SELECT user_id, target, records, began_at, next_at, finished_at FROM _merge WHERE (SELECT _may_look());

-- Columns of the views have the comments of the tables' columns.
DO $do$
DECLARE
    shown record;
    about record;
BEGIN
    FOR shown IN
        SELECT DISTINCT ev_class::regclass AS view, refobjid::regclass AS source, obj_description(refobjid, 'pg_class') AS sentence
        FROM pg_rewrite JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid
            AND refclassid = 'pg_class'::regclass AND refobjid <> ev_class
        JOIN pg_class ON pg_class.oid = ev_class
        WHERE relkind = 'v' AND starts_with(relname, '_')
            AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    LOOP
        EXECUTE format(
            'CREATE TRIGGER _refuse_write INSTEAD OF INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION _refuse_write(%L)',
            shown.view, (
                SELECT format('%I.%I', nspname, relname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE pg_class.oid = shown.source
            )
        );
        EXECUTE format('COMMENT ON VIEW %s IS %L', shown.view, 'Read-only, without secrets: ' || shown.sentence);
        FOR about IN
            SELECT here.attname AS name, col_description(shown.source, there.attnum) AS sentence
            FROM pg_attribute AS here JOIN pg_attribute AS there ON there.attrelid = shown.source AND there.attname = here.attname
            WHERE here.attrelid = shown.view
        LOOP
            EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', shown.view, about.name, about.sentence);
        END LOOP;
    END LOOP;
END $do$;
COMMENT ON COLUMN _users.has_password IS 'Whether the account has a password.';

SELECT _install_event_triggers();
