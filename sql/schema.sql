-- The reserved tables and functions of one application, as they are at present.
--
-- The script runs with the application's schema first in search_path and the schema of the reserved tables second. It names
-- nothing outside them and pg_catalog, so that neither name is anywhere in the text:
--
--     CREATE SCHEMA app; CREATE SCHEMA app_internal; SET search_path = app, app_internal, pg_temp; \i schema.sql
--
-- "SET search_path FROM CURRENT" keeps that path with each function that needs it: current_schema() is the application's. The
-- reserved tables are created there, too, and move at the end.

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
    channel text NOT NULL DEFAULT 'skyrow_' || replace(gen_random_uuid()::text, '-', '')
);
COMMENT ON TABLE _meta IS 'One row: the cluster on which the revisions of this schema are counted.';
COMMENT ON COLUMN _meta.only_row IS 'Always true.';
COMMENT ON COLUMN _meta.system_identifier IS
    'The number of the cluster; another one tells that the database was restored from a dump.';
COMMENT ON COLUMN _meta.revision_offset IS 'What _revision() adds to the transaction id.';
COMMENT ON COLUMN _meta.timeline IS 'The timeline of the cluster; another one tells of a failover, or of a recovery to a point in time.';
COMMENT ON COLUMN _meta.started_at IS 'The start of PostgreSQL since which the offset is used.';
COMMENT ON COLUMN _meta.history IS 'Drawn anew with every restore from a dump, after which no change token is good.';
COMMENT ON COLUMN _meta.former_offsets IS 'Offsets before this one, with which transactions that still run may have stamped rows.';
COMMENT ON COLUMN _meta.former_until IS 'For each of these, the transaction id from which on none has.';
COMMENT ON COLUMN _meta.start_id IS 'Drawn anew with every start of PostgreSQL; change tokens name it.';
COMMENT ON COLUMN _meta.former_starts IS 'Those before this one of which it is known where they ended, 256 at most.';
COMMENT ON COLUMN _meta.former_ends IS
    'Where the write-ahead log of each of these ended: a token from beyond that is of a history that this database never had.';
COMMENT ON COLUMN _meta.channel IS
    'What the names of the channels begin with on which processes hear of changes; random, so that it is found here alone.';
COMMENT ON COLUMN _meta.home_table IS 'The number of this table; another one tells that the database was restored from a dump.';

-- What NOTIFY says is heard by every role that names the channel, and LISTEN needs no right.
CREATE FUNCTION _notify(kind text, notice text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_notify(home.channel || '_' || kind, current_schema() || notice) FROM _meta AS home;
END $$;
COMMENT ON FUNCTION _notify(text, text) IS
    'Notifies every process of the application, about its schema or a session: SELECT _notify(''session'', ''/all'').';

-- Any role can take an advisory lock, and pg_locks shows which ones there are. To lock a row, a role needs a right to write it.
CREATE TABLE _lock (
    name text COLLATE "C" PRIMARY KEY
);
COMMENT ON TABLE _lock IS 'What one transaction at a time does: it locks the row.';
COMMENT ON COLUMN _lock.name IS
    'schema: changes of record types and reserved tables; roles: roles in roles; sweep: tombstones; relation and a number: relations of users; sequence and an oid: a sequence that is moved on.';

-- The others are made when they are first locked; this one is tried for without waiting.
INSERT INTO _lock (name) VALUES ('sweep');

CREATE FUNCTION _hold(lock text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM _lock AS known WHERE known.name = lock FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO _lock (name) VALUES (lock) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name;
    END IF;
END $$;
COMMENT ON FUNCTION _hold(text) IS 'Waits until no other transaction holds the lock of this name, and holds it until this one ends.';

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
COMMENT ON FUNCTION _try_hold(text) IS 'The same without waiting; whether it holds the lock.';

CREATE TABLE _setting (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
COMMENT ON TABLE _setting IS 'The settings of this application, which skyrow app set makes; the default application has none.';
COMMENT ON COLUMN _setting.name IS 'The name of a setting, as skyrow config lists it.';
COMMENT ON COLUMN _setting.value IS 'Its text, as on a command line.';

CREATE TABLE _secret (
    number smallint PRIMARY KEY CHECK (number BETWEEN 1 AND 255),
    secret bytea NOT NULL CHECK (octet_length(secret) >= 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE _secret IS 'Random bytes, from which the keys are derived that sign cursors. All processes have the same.';
COMMENT ON COLUMN _secret.number IS 'The highest one signs; all of them are accepted.';
COMMENT ON COLUMN _secret.secret IS 'The random bytes.';
COMMENT ON COLUMN _secret.created_at IS 'When they were drawn.';

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
COMMENT ON TABLE _index IS 'The indexes of record types that were asked for, and those that are to go.';
COMMENT ON COLUMN _index.name IS 'The name of the index.';
COMMENT ON COLUMN _index.type IS 'The record type.';
COMMENT ON COLUMN _index.kind IS 'What it serves; NULL: it was made by other means, and is to go.';
COMMENT ON COLUMN _index.fields IS 'Its fields: year desc, title fold.';
COMMENT ON COLUMN _index.is_unique IS 'Whether no two records of a database have the same values.';
COMMENT ON COLUMN _index.nulls_equal IS 'Whether records without a value count as having the same one.';
COMMENT ON COLUMN _index.state IS 'building until it is ready or failed; deleting until it is gone.';
COMMENT ON COLUMN _index.attempts IS 'How often its build was begun and not stopped in an orderly way.';
COMMENT ON COLUMN _index.has_begun IS 'Whether it ever was, so that what bears the name is ours.';
COMMENT ON COLUMN _index.reason IS 'Why it failed; of one that is being built, why the last attempt did.';
COMMENT ON COLUMN _index.duplicates IS 'How many values several records have that were to be unique.';
COMMENT ON COLUMN _index.sql_state IS 'What PostgreSQL refused it with.';
COMMENT ON COLUMN _index.changed_at IS 'When the row was last changed.';

-- Revisions -----------------------------------------------------------------------------------------------------------

-- The offset is part of the body, so a revision reads no table, and the planner inlines the call. Transaction ids that a crash,
-- a failover or a recovery to a point in time takes back are given out again, so every start of PostgreSQL has an offset of its
-- own. Whoever writes first after a start has it at once: another start than the one in the body is as many multiples of 2^32
-- ahead as _move_revisions() will write there. It is at least 2048 for each millisecond from 2020 to the start, so that a data directory
-- that was put back stamps nothing that was stamped before, and a client that compares revisions finds what differs. Until 2159 a
-- revision is exact in a double.
CREATE FUNCTION _revision() RETURNS bigint LANGUAGE sql STABLE
    RETURN pg_current_xact_id()::text::bigint + 0::bigint;
COMMENT ON FUNCTION _revision() IS
    'The revision of all that this transaction writes: its id plus an offset that only grows, over starts, dump and restore.';

CREATE FUNCTION _set_revision_offset(new_offset bigint) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    this_transaction bigint := pg_current_xact_id()::text::bigint;
    -- What this transaction would stamp, and others do until they see the new offset: for some time, also of ids to come.
    present_offset bigint := _revision() - this_transaction;
    until bigint := this_transaction + 65536;
    oldest bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    home _meta := (SELECT meta FROM _meta AS meta);
    former_offsets bigint[] := '{}';
    former_until bigint[] := '{}';
    system bigint := (SELECT control.system_identifier FROM pg_control_system() AS control);
BEGIN
    IF home.system_identifier = system THEN
        -- A prepared transaction outlives starts.
        SELECT coalesce(array_agg(former.revision_offset ORDER BY former.place), '{}'),
            coalesce(array_agg(former.until ORDER BY former.place), '{}')
        INTO former_offsets, former_until
        FROM unnest(home.former_offsets, home.former_until) WITH ORDINALITY AS former (revision_offset, until, place)
        WHERE former.until > oldest;
        IF home.revision_offset NOT IN (new_offset, present_offset) THEN
            -- Of what used that one, prepared transactions alone are left.
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
COMMENT ON FUNCTION _set_revision_offset(bigint) IS 'Gives _revision() another offset, from this start of PostgreSQL on.';

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
        -- The first checkpoint of a start is where the log of the start before has ended, and what is beyond it was never in this
        -- database. A later one begins before its own record.
        SELECT checkpoint_lsn - '0/0'::pg_lsn INTO start_position FROM pg_control_checkpoint()
        WHERE checkpoint_lsn = redo_lsn AND current_setting('wal_level') <> 'minimal';
        UPDATE _meta
        SET start_id = DEFAULT,
            former_starts = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_starts || home.start_id)[greatest(cardinality(former_starts) - 254, 1):] END,
            former_ends = CASE WHEN start_position IS NULL THEN '{}' ELSE (former_ends || start_position)[greatest(cardinality(former_ends) - 254, 1):] END;
    END IF;
END $$;
COMMENT ON FUNCTION _move_revisions() IS
    'Lets the revisions of this start of PostgreSQL be above all before; processes call it when they find another start.';

-- Transaction ids begin anew in the cluster that a dump is restored to. The next revision is then the first multiple of
-- 2^32 above all that are stored: a reader of the old cluster may have caught up to its last transaction, which is
-- beyond its last write.
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
    -- Above what another database has stamped since, too, of which this one is a copy.
    PERFORM _set_revision_offset(
        greatest((highest >> 32) + 1 << 32, (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1577836800000 << 11)
        - pg_current_xact_id()::text::bigint
    );
    UPDATE _meta SET history = gen_random_uuid(), start_id = DEFAULT, former_starts = '{}', former_ends = '{}';
END $$;
COMMENT ON FUNCTION _rebase_revisions() IS
    'Lets revisions grow on after a restore into another cluster; the service calls it when it starts there.';

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
    'The records that were deleted, or that some no longer see, for clients that catch up from a change token.';
COMMENT ON COLUMN _tombstone.type IS 'The record type.';
COMMENT ON COLUMN _tombstone.id IS 'The _id that the row had.';
COMMENT ON COLUMN _tombstone.database IS 'The _database that the row had.';
COMMENT ON COLUMN _tombstone.owner IS 'The _owner that the row had.';
COMMENT ON COLUMN _tombstone.access IS 'The _access that the row had, which says who may learn that it is gone.';
COMMENT ON COLUMN _tombstone.revision IS 'The revision of the deletion or the change.';
COMMENT ON COLUMN _tombstone.deleted_at IS 'When the row was deleted or changed.';
COMMENT ON COLUMN _tombstone.kind IS 'd: the row was deleted, or has another _id; h: its owner, list or database was changed.';
COMMENT ON COLUMN _tombstone.members IS
    'The users in the fields that a class rule on reading names, {"assignee": "ann"}; NULL: it names none.';

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
    'The fields whose users read the records of a type, as its class rule says; NULL: there are none.';

CREATE FUNCTION _users_in(row_now jsonb, fields text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(name, row_now -> name) FROM unnest(fields) AS name
    WHERE row_now -> name IS NOT NULL AND row_now -> name <> 'null'
$$;
COMMENT ON FUNCTION _users_in(jsonb, text[]) IS 'The users in some fields of a row, by the names of these.';

-- These run as the owner of the schema, so that every deletion leaves a tombstone, whatever the role.
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
COMMENT ON FUNCTION _tombstone_renamed() IS 'Leaves a tombstone for the old id of a row that was given another one.';

-- Who could read a row with its old owner and list learns from this that it may be out of sight. Of the states that a row has within a
-- transaction, others have seen the first one alone.
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
COMMENT ON FUNCTION _conceal() IS 'Leaves a tombstone with the old owner and list of a row that was given others.';

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
    'Leaves a tombstone for a row in whose fields, which a class rule on reading names, other users stand now.';

-- Only types with such a rule pay for it. The trigger names no column, so that fields are added, retyped and deleted as ever.
CREATE FUNCTION _watch_named_fields(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := to_regclass(format('%I', type));
    is_watched boolean := EXISTS (SELECT FROM pg_trigger WHERE tgrelid = record_table AND tgname = '_conceal_named');
    -- The first type is made before there are rules.
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
    'Gives a record type the trigger _conceal_named where its class rule on reading names fields, and takes it away elsewhere.';

-- Text ----------------------------------------------------------------------------------------------------------------

-- Texts are compared by the bytes of their UTF-8, whatever the locale of the database, so that every server and client
-- has one order (Documentation/Decisions/text-and-places.md).

-- Not STRICT, since the planner would not put a strict function's body in the place of its call. ICU's lower case takes
-- the sigma at the end of a word for another letter.
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
COMMENT ON FUNCTION _fold(text) IS 'A text without the difference of upper and lower case, as queries compare it.';

-- STRICT and without the body in the place of the call, since an index is looked up by the call. The bounds keep the words of
-- any text within those of a tsvector: a word has 2 kB there, all have 1 MB.
-- A thousand times as costly as a comparison, which PostgreSQL has to know: it would read a table in the order of its ids, rather
-- than what an index finds, for the first records that have some words.
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

-- The bound keeps the stems of any text within the 1 MB of a tsvector: of the worst texts a character makes some 9 bytes.
CREATE FUNCTION _words(language regconfig, value text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED STRICT COST 1000
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN to_tsvector(language, left(value, 100000));
END $$;
COMMENT ON FUNCTION _words(regconfig, text) IS 'The words of a text in a language, by their stems and places.';

-- Rebuilds indexes and no rows. A trigger keeps the type of its columns from being changed, so it is made again. What a
-- view, a policy or a computed column depends on stays as it is.
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

-- Not STRICT, since the planner would not put a strict function's body in the place of its call.
CREATE FUNCTION _json_text(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'string' THEN value #>> '{}' END $$;
COMMENT ON FUNCTION _json_text(jsonb) IS 'The text that a value inside of JSON is; NULL for any other.';

CREATE FUNCTION _json_number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::numeric END $$;
COMMENT ON FUNCTION _json_number(jsonb) IS 'The number that a value inside of JSON is, with every digit; NULL for any other.';

CREATE FUNCTION _json_boolean(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'boolean' THEN value::boolean END $$;
COMMENT ON FUNCTION _json_boolean(jsonb) IS 'Whether a value inside of JSON is true; NULL for one that is no boolean.';

-- Computed here and not by a cast to timestamptz, which reads far more, depends on settings of the session and fails for what is
-- none: this one is the same for every row of an index and NULL where there is no instant. It names nothing outside of pg_catalog.
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
    -- Without groups, which take ten times as long.
    IF moment !~ (
        '^(?:[0-9]{4}|[+-][0-9]{6})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'
        '[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$'
    ) COLLATE "C" OR starts_with(moment, '-000000') THEN
        RETURN NULL;
    END IF;
    -- The year is of four digits, or of a sign and six; the rest of it is behind a hyphen, "02-07T06:42:59.871181+01:00".
    year := left(moment, strpos(substr(moment, 2), '-'));
    tail := substr(moment, strpos(substr(moment, 2), '-') + 2);
    month := left(tail, 2);
    -- The calendar is the same every 400 years, so that the day is looked up in the years from 2000 to 2399.
    cycle := floor((year - 2000) / 400.0);
    the_day := make_date(year - 400 * cycle, month, 1) + (substr(tail, 4, 2)::integer - 1);
    days := the_day - date '2000-01-01' + 146097 * cycle;
    -- Days that no offset brings into the range are left out before their microseconds exceed 64 bits.
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
    -- Half a microsecond and more is one.
    microseconds := 86400000000 * days + 1000000::bigint * seconds + rpad(substr(tail, 2, 6), 6, '0')::integer
        + (substr(tail, 8, 1) IN ('5', '6', '7', '8', '9'))::integer;
    -- What timestamptz holds.
    IF microseconds < -211813488000000000 OR microseconds >= 9223371331200000000 THEN
        RETURN NULL;
    END IF;
    -- The day has to be one of timestamp by itself, so that the rest is behind its midnight.
    since_midnight := (microseconds % 86400000000 + 86400000000) % 86400000000;
    days := (microseconds - since_midnight) / 86400000000;
    RETURN (timestamp '2000-01-01' + (days * interval '1 day' + since_midnight * interval '1 microsecond'))
        AT TIME ZONE interval '0';
END $$;
COMMENT ON FUNCTION _json_instant(jsonb) IS
    'The instant that a value inside of JSON is, a text of RFC 3339 with an offset or {"$type": "date", "$date": text}; NULL for any other.';

-- Live changes --------------------------------------------------------------------------------------------------------

-- Live queries follow the changes of a publication (Documentation/Decisions/change-feed.md). Its name is one of
-- the whole database, so it has that of the schema in it.
CREATE FUNCTION _publication_name() RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    name text := 'skyrow_' || current_schema();
BEGIN
    RETURN CASE WHEN octet_length(name) <= 63 THEN name ELSE 'skyrow_' || md5(name) END;
END $$;
COMMENT ON FUNCTION _publication_name() IS 'The name of the publication of this schema, skyrow_app.';

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
                -- All of its changes, which neither a filter of rows nor a list of columns lets through.
                AND pubinsert AND pubupdate AND pubdelete AND pubtruncate
                AND to_jsonb(member) ->> 'prqual' IS NULL AND to_jsonb(member) ->> 'prattrs' IS NULL
        )
    ORDER BY relation.oid
$$;
COMMENT ON FUNCTION _unpublished(regclass) IS 'The tables whose changes are to be published and are not: record tables, and _tombstone.';

-- A role without the right does without live changes: whatever asks for this goes on.
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
            -- A published table in which nothing tells rows apart would refuse every UPDATE.
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
    'Makes the publication and adds the record tables that it lacks; returns what was not permitted, NULL where all was.';

-- Record tables -------------------------------------------------------------------------------------------------------

CREATE FUNCTION _stamp() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    -- A column that is being made changes nothing that anybody reads.
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

-- Functions in plpgsql and not expressions: PostgreSQL reads a check's expression anew for each statement, and these would take
-- longer to read than the rest of an insert (Documentation/Decisions/tables-and-values.md).
CREATE FUNCTION _id_fits(id text, database text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE database
        WHEN '_public' THEN octet_length(id) BETWEEN 1 AND 255 AND NOT starts_with(id, '~')
        ELSE starts_with(id, '~' || database || '/') AND octet_length(id) - octet_length(database) BETWEEN 3 AND 257
    END;
END $$;
COMMENT ON FUNCTION _id_fits(text, text) IS
    'Whether the id of a public row is 1 to 255 bytes without ~ at their beginning, and that of a private one such an id behind ~<user id>/.';

CREATE FUNCTION _database_fits(database text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    -- The wire id begins after the first slash, so the user id may hold none.
    RETURN database = '_public' OR database <> '' AND NOT starts_with(database, '_') AND strpos(database, '/') = 0;
END $$;
COMMENT ON FUNCTION _database_fits(text) IS 'Whether a database is _public or the id of a user, which has no slash and no _ at its beginning.';

CREATE FUNCTION _access_fits(access jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
BEGIN
    RETURN CASE
        WHEN jsonb_typeof(access) <> 'object' THEN false
        -- A long list makes every query slower that meets the row. Settings bound requests further.
        WHEN pg_column_size(access) > 1048576 THEN false
        -- Reading asks for the key alone, so a value that is no level must not get in. Not lax, which would take ["read"] for
        -- "read".
        ELSE NOT coalesce(access @? 'strict $.* ? (
            (@ == "read" || @ == "update" || @ == "delete" || @ == "write") is unknown
            || !(@ == "read" || @ == "update" || @ == "delete" || @ == "write")
        )', true)
    END;
END $$;
COMMENT ON FUNCTION _access_fits(jsonb) IS
    'Whether an access list is an object of subjects with the levels read, update, delete or write, of 1 MB at most; NULL is none.';

-- Conditions on a relation are part of statements about types whose lists name it, so that others do not pay for it. The first
-- such entry says so, on whatever way it is written.
CREATE FUNCTION _note_relation_entry() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    named text[] := ARRAY(
        SELECT name FROM unnest('{followed,follower,friend}'::text[]) AS name WHERE NEW._access ? ('relation:' || name)
    );
BEGIN
    IF NOT EXISTS (SELECT FROM _class_option AS option WHERE option.type = TG_TABLE_NAME AND option.relations @> named) THEN
        -- First what a change of the rules locks first.
        PERFORM FROM _version AS known WHERE known.name = 'rules' FOR UPDATE;
        INSERT INTO _class_option AS option (type, relations) VALUES (TG_TABLE_NAME, named)
        ON CONFLICT (type) DO UPDATE SET relations = ARRAY(
            SELECT DISTINCT name FROM unnest(option.relations || EXCLUDED.relations) AS name ORDER BY name
        );
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_relation_entry() IS
    'Notes of a record type which relations of users the access lists of its records name.';

-- What a record table has besides its columns, with the names by which "skyrow schema apply" has one made again. Indexes
-- are few, since each one costs every insert (Documentation/Decisions/tables-and-values.md).
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
        -- A broken one may be in its place.
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
                        'The _id of a public record is 1 to 255 bytes without ~ at their beginning; in a private database it is ~<user id>/<id>.'
                    WHEN '_database_fits' THEN
                        'The _database is _public, or the id of a user, which has no slash and no _ at its beginning.'
                    ELSE 'The _access is an object of subjects with the levels read, update, delete or write, of 1 MB at most.'
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
    'Creates what the table of a record type has besides columns, or one part of it anew: '
    'SELECT _create_type_parts(''movie'', ''_stamp'').';

-- The table of a record type with everything that Documentation/Concepts.md lists.
CREATE FUNCTION _create_type(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    about record;
BEGIN
    IF type !~ '^[A-Za-z][A-Za-z0-9_]{0,62}$' THEN
        RAISE EXCEPTION 'A record type is named by a letter and at most 62 letters, digits or underscores.'
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
    -- Which live queries a record leaves is decided by the whole row before its change.
    EXECUTE format('ALTER TABLE %I REPLICA IDENTITY FULL', type);
    PERFORM _publish(format('%I', type)::regclass);
    EXECUTE format('COMMENT ON TABLE %I IS %L', type, 'Records of the type ' || type || '.');
    FOR about IN
        SELECT * FROM (VALUES
            ('_id', 'The record''s id; in a private database ~<user id>/<id>.'),
            ('_database', 'The database the row is in: _public, or the id of the user who sees it alone.'),
            ('_owner', 'The id of the user who owns the record.'),
            ('_access', 'The record''s own access list, {"role:editor": "write"}; NULL: everyone reads it, its owner writes it.'),
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

-- Runs as the owner of the schema, since who may write a row need not have a right to its sequences. For tables with a
-- sequence only, once a statement: a column is found by its sequence, so that it may be renamed.
CREATE FUNCTION _advance_sequences() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    field record;
    highest bigint;
BEGIN
    FOR field IN SELECT name, numbers FROM _sequences(TG_RELID) LOOP
        -- Beyond 2^53 a number is nothing to count on from: one save could use up the sequence.
        EXECUTE format('SELECT max(%1$I) FROM new_row WHERE %1$I < 9007199254740992', field.name) INTO highest;
        CONTINUE WHEN highest IS NULL OR highest <= coalesce(pg_sequence_last_value(field.numbers), 0);
        IF highest - coalesce(pg_sequence_last_value(field.numbers), 0) <= 10000 THEN
            -- nextval() goes forward only, also while other sessions draw numbers.
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
    'Lets the sequences of a table count on from the highest numbers that a statement wrote.';

CREATE FUNCTION _sequences(record_table oid) RETURNS TABLE (name name, number smallint, numbers regclass)
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT attname, attnum, pg_get_serial_sequence(attrelid::regclass::text, attname)::regclass
    FROM pg_attribute
    WHERE attrelid = record_table AND attnum > 0 AND NOT attisdropped AND NOT starts_with(attname, '_')
        AND (attidentity <> '' OR atthasdef)
        AND pg_get_serial_sequence(attrelid::regclass::text, attname) IS NOT NULL
$$;
COMMENT ON FUNCTION _sequences(oid) IS 'The fields of a record table that are counted up, and their sequences.';

-- The index is a partial one, as that of a reference is, so that it is no index of a schema file's.
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
                RAISE WARNING 'The field % of % has a number twice, so its numbers are not made unique.',
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
    'Makes the sequence fields of a record type unique and lets them count on from numbers that are written by hand.';

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
COMMENT ON FUNCTION _count_above(regclass, text) IS 'How many records stand above a record of a table with that parent.';

-- A level of more records than these takes too long to look at, and counts as too deep.
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
COMMENT ON FUNCTION _reaches_below(regclass, text[], integer) IS 'Whether records stand more than so many levels below others.';

-- The tables and columns on the way up are those of foreign keys of psql's making, too. It runs as the owner of the schema, since a
-- role that may write a record need not see those above it. Rows that others are changing are waited for: two changes, each
-- of which would be right alone, could make a circle.
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
            RAISE EXCEPTION 'A record does not stand below itself, and at most 32 records stand above it.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_check_parent', TABLE = TG_TABLE_NAME;
        END IF;
        EXIT WHEN NOT EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = above AND attname = '_parent' AND NOT attisdropped
        );
        -- Nothing leads to a new record but what the same statement writes.
        EXECUTE format(
            'SELECT _parent FROM %s WHERE _id = $1%s', above, CASE TG_OP WHEN 'UPDATE' THEN ' FOR SHARE' ELSE '' END
        ) INTO above_id USING above_id;
        here := above;
    END LOOP;
    -- What stands below a record goes along when it moves.
    IF TG_OP = 'UPDATE' THEN
        level_before := _count_above(TG_RELID, OLD._parent);
        IF level > level_before AND _reaches_below(TG_RELID, ARRAY[NEW._id], 32 - level) THEN
            RAISE EXCEPTION 'At most 32 records stand above one that stands below this.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_check_parent', TABLE = TG_TABLE_NAME;
        END IF;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_parent() IS 'Keeps a record from standing below itself, and below more than 32 others.';

CREATE FUNCTION _keep_parent(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER _check_parent AFTER INSERT OR UPDATE OF _parent ON %I FOR EACH ROW '
        'WHEN (NEW._parent IS NOT NULL) EXECUTE FUNCTION _check_parent()', type
    );
END $$;
COMMENT ON FUNCTION _keep_parent(text) IS 'Has the column _parent of a record type checked whenever it is written: SELECT _keep_parent(''item'').';

-- Relations -----------------------------------------------------------------------------------------------------------

-- A relation is a table with a row for each member. A column without a value stands for it in the type's table, whose check
-- names the table of the members: PostgreSQL keeps the object and not its name.

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
COMMENT ON FUNCTION _describe_relation(text, text, text) IS 'Says in the comments of a relation what it is.';

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
    -- The column has no value in any row, so none is looked at while others wait.
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
    'Gives a relation another name: SELECT _rename_relation(''post'', ''likes'', ''fans'').';

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
    'Deletes a relation and what its members are, not the members: SELECT _delete_relation(''post'', ''likes'').';

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
COMMENT ON FUNCTION _rename_relations(text) IS 'Names the tables of a type''s relations after the name that the type has now.';

CREATE FUNCTION _delete_relations(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _delete_relation(type, field) FROM _relations(type) AS field;
END $$;
COMMENT ON FUNCTION _delete_relations(text) IS 'Deletes the relations of a record type.';

-- A question of its own, which sees what others have added while the statement around it waited for the record's row.
CREATE FUNCTION _unrelate(members regclass, owner text, ids text[]) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE _from = $1 AND _to = ANY ($2)', members) USING owner, ids;
    RETURN true;
END $$;
COMMENT ON FUNCTION _unrelate(regclass, text, text[]) IS 'Removes members from the relation of a record; true.';

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
COMMENT ON FUNCTION _decoded_label(text) IS 'A label of an internationalised domain in letters (RFC 3492); NULL for any other.';

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
COMMENT ON FUNCTION _login_domain(text) IS 'A mail address with its domain in letters, where that is internationalised; any other text as it is.';

-- Two texts that people take for one login key are one here: NFKC makes one of what differs in form alone, code points that
-- show nothing are left out (Unicode's Default_Ignorable_Code_Point, and control characters), white space is one space and none at
-- an end, internationalised domains are in letters, and letters are folded. Upper case between two lower ones unites what has
-- two lower forms, such as the sigmas. ICU folds alike everywhere; a PostgreSQL without it folds as the database does.
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
    'Whether the address is the verified one; NULL: no one has begun to verify one. Kept by triggers, whatever is written.';
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
COMMENT ON COLUMN _user.password_hash IS 'The hashed password with its parameters; NULL: the account has none.';
COMMENT ON COLUMN _user.token_valid_since IS 'When the access tokens were last revoked; setting it revokes them.';
COMMENT ON COLUMN _user.disabled IS 'Whether the account is disabled.';
COMMENT ON COLUMN _user.disabled_message IS 'The message for the user of a disabled account.';
COMMENT ON COLUMN _user.disabled_until IS 'When a disabled account is enabled again; NULL: never.';
COMMENT ON COLUMN _user.created_at IS 'When the account was made.';
COMMENT ON COLUMN _user.last_login_at IS 'When the user last logged in.';
COMMENT ON COLUMN _user.last_seen_at IS 'When the user last asked who they are.';
COMMENT ON COLUMN _user.epoch IS 'Counts how often the access tokens were revoked; a session of another epoch has ended.';
COMMENT ON COLUMN _user.default_access IS
    'The access list of a new public record of this user that brings none, {"role:editor": "write"}; NULL: that of its type.';
COMMENT ON COLUMN _user.verified_email IS 'The address that was verified; it counts while the profile has this very one.';
COMMENT ON COLUMN _user.second_factor IS 'Whether a log-in takes a second factor; kept by a trigger of _factor.';
COMMENT ON COLUMN _user.password_changed_at IS
    'When the password was set.';

-- Whether an address is verified follows from two tables. A proof locks the account and then the profile, as a log-in
-- does; a change of the address has locked the profile and waits for nothing. So of two at once, the second sees what the first
-- has written.
CREATE FUNCTION _keep_verified() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    NEW._verified := CASE
        WHEN TG_OP = 'UPDATE'
            AND NEW.email = (SELECT account.verified_email FROM _user AS account WHERE account.id = NEW._id) THEN true
        -- What has begun does not end.
        WHEN NEW._verified IS NOT NULL OR (TG_OP = 'UPDATE' AND OLD._verified IS NOT NULL) THEN false
    END;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _keep_verified() IS 'Says in a profile whether its address is the verified one.';
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
COMMENT ON FUNCTION _note_verified() IS 'Has a profile say that its address was verified, or is no longer.';
CREATE TRIGGER _note_verified AFTER UPDATE OF verified_email ON _user FOR EACH ROW
    WHEN (NEW.verified_email IS DISTINCT FROM OLD.verified_email) EXECUTE FUNCTION _note_verified();
CREATE TRIGGER _note_verified_anew AFTER INSERT ON _user FOR EACH ROW
    WHEN (NEW.verified_email IS NOT NULL) EXECUTE FUNCTION _note_verified();

-- In psql, the time alone may be set.
CREATE FUNCTION _count_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.epoch := OLD.epoch + 1;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _count_epoch() IS 'Revokes the access tokens of an account whose token_valid_since alone is set.';
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
COMMENT ON TABLE _session IS 'The sessions of users, each with the access token that was given out for it.';
COMMENT ON COLUMN _session.token_hash IS 'SHA-256 of the token; the token itself is not stored.';
COMMENT ON COLUMN _session.user_id IS 'Whose token it is.';
COMMENT ON COLUMN _session.created_at IS 'When it was given out.';
COMMENT ON COLUMN _session.expires_at IS 'When it ends; NULL: never.';
COMMENT ON COLUMN _session.epoch IS 'The epoch of the account in which it was given out.';
COMMENT ON COLUMN _session.last_used_at IS 'When it was last used, to the minute.';
COMMENT ON COLUMN _session.id IS 'By which its user names it; it opens nothing.';
COMMENT ON COLUMN _session.previous_hash IS 'SHA-256 of the token before, which is accepted for 30 seconds after rotated_at.';
COMMENT ON COLUMN _session.rotated_at IS 'When it last got another token; NULL: never.';
COMMENT ON COLUMN _session.device_id IS 'What the application that opened it calls its device.';
COMMENT ON COLUMN _session.device_name IS 'The name of that device, for the user.';
COMMENT ON COLUMN _session.address IS 'The address that it was opened from.';
COMMENT ON COLUMN _session.user_agent IS 'The User-Agent that it was opened with.';
COMMENT ON COLUMN _session.created_with IS 'What opened it: signup, login, password, reset, link, provider, custom_token or master.';
COMMENT ON COLUMN _session.level IS '1: opened with one proof, such as a password; 2: with a second factor besides.';
COMMENT ON COLUMN _session.elevated_until IS
    'Until when it may do what takes step-up: for ten minutes after a sign-up or auth:stepup; NULL: neither.';

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
COMMENT ON TABLE _password_history IS 'The former passwords of accounts, as many as password-history compares with a new one.';
COMMENT ON COLUMN _password_history.id IS 'Counts them; a later one is greater.';
COMMENT ON COLUMN _password_history.user_id IS 'Whose it was.';
COMMENT ON COLUMN _password_history.hash IS 'The hashed password with its parameters.';
COMMENT ON COLUMN _password_history.replaced_at IS 'When another one took its place.';

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
COMMENT ON TABLE _factor IS 'The second factors of accounts: of each at most one secret for codes by time, and recovery codes that were not used.';
COMMENT ON COLUMN _factor.id IS 'Names it; it proves nothing.';
COMMENT ON COLUMN _factor.user_id IS 'Whose it is.';
COMMENT ON COLUMN _factor.kind IS 'totp: codes by time (RFC 6238); recovery: a code that counts once.';
COMMENT ON COLUMN _factor.secret_sealed IS 'The secret of the codes, sealed: 1, the length of the name of a key, this name, a nonce and AES-256-GCM; NULL until it is confirmed.';
COMMENT ON COLUMN _factor.pending_sealed IS 'One that is to take its place, until a code of it has come.';
COMMENT ON COLUMN _factor.pending_at IS 'When that one was made.';
COMMENT ON COLUMN _factor.last_step IS 'The half minute of the last code that was used, of which and before which none counts any more.';
COMMENT ON COLUMN _factor.hash IS 'HMAC-SHA-256 of account and recovery code under a key that is derived from _secret.';
COMMENT ON COLUMN _factor.created_at IS 'When it was made.';
COMMENT ON COLUMN _factor.confirmed_at IS 'Since when a log-in takes it.';
COMMENT ON COLUMN _factor.last_used_at IS 'When a code of it was last used.';
COMMENT ON COLUMN _factor.pending_attempts IS 'How often a code of the secret that waits was tried.';

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
COMMENT ON FUNCTION _note_factor() IS 'Keeps whether a log-in to an account takes a second factor.';
CREATE TRIGGER _note_factor AFTER INSERT OR DELETE OR UPDATE OF kind, user_id, confirmed_at ON _factor
    FOR EACH ROW EXECUTE FUNCTION _note_factor();

CREATE FUNCTION _note_no_factors() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE _user AS account SET second_factor = false WHERE account.second_factor;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_no_factors() IS 'Keeps that no log-in takes a second factor where all are gone.';
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
COMMENT ON TABLE _pending_login IS 'Log-ins that have given a first proof and wait for the second factor.';
COMMENT ON COLUMN _pending_login.handle_hash IS 'SHA-256 of the handle that the client got; the handle itself is not stored.';
COMMENT ON COLUMN _pending_login.user_id IS 'Who logs in.';
COMMENT ON COLUMN _pending_login.epoch IS 'The epoch of the account at the first proof; in another one it is void.';
COMMENT ON COLUMN _pending_login.attempts IS 'How often a code was tried with it.';
COMMENT ON COLUMN _pending_login.device_id IS 'What the application calls its device.';
COMMENT ON COLUMN _pending_login.device_name IS 'The name of that device, for the user.';
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
COMMENT ON TABLE _live_ticket IS 'Tokens of live:ticket that have not been used: each opens one event stream.';
COMMENT ON COLUMN _live_ticket.token_hash IS 'SHA-256 of the token; the token itself is not stored.';
COMMENT ON COLUMN _live_ticket.session_id IS 'The session in whose name the stream is opened; its end ends the ticket.';
COMMENT ON COLUMN _live_ticket.created_at IS 'When it was given out.';
COMMENT ON COLUMN _live_ticket.expires_at IS 'When it ends, a minute later.';

CREATE TABLE _throttle (
    bucket bytea PRIMARY KEY,
    failures integer NOT NULL,
    window_start timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL
);
COMMENT ON TABLE _throttle IS 'Guesses of passwords, counted before they are judged; the service sweeps it.';
COMMENT ON COLUMN _throttle.bucket IS 'HMAC-SHA-256 of whose guesses are counted: a login key or an account and a client, a client, or one of the former.';
COMMENT ON COLUMN _throttle.failures IS 'How many there were since window_start.';
COMMENT ON COLUMN _throttle.window_start IS 'When the first of them was.';
COMMENT ON COLUMN _throttle.blocked_until IS 'When the next one is judged.';

CREATE TABLE _known_client (
    bucket bytea PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON _known_client (user_id);
COMMENT ON TABLE _known_client IS
    'From where users logged in within 30 days, so that guesses of others do not keep them out.';
COMMENT ON COLUMN _known_client.bucket IS 'HMAC-SHA-256 of a login key and a client or device.';
COMMENT ON COLUMN _known_client.user_id IS 'Who logged in.';
COMMENT ON COLUMN _known_client.seen_at IS 'When that was last.';

-- A guess that is refused anyway takes no lock and makes no row. Of any other the rows are made or locked in one order, by
-- one statement, so that claims wait for each other and never in a circle: ON CONFLICT DO UPDATE locks also what its WHERE
-- leaves alone. The time is that of the moment after waiting, not that of the transaction.
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
        -- The rows that were made for this guess, and others that count nothing.
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
            -- A pause is followed by as long a time in which its count is still there.
            SELECT before.failures = 0 OR CASE WHEN given.pauses THEN before.blocked_until ELSE before.window_start END
                <= moment - given.seconds * interval '1 s' AS anew
        ) AS began
        WHERE given.bucket = ANY (asked)
    ) AS next
    WHERE throttle.bucket = next.bucket;
END $$;
COMMENT ON FUNCTION _claim_guess(bytea[], boolean[], integer[], integer[], boolean[], bytea[]) IS
    'Counts a guess in some buckets, or says for how many seconds it is refused and counts nothing.';

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
    'Takes a guess back that was right, or that was not judged; a right one also ends the pauses of its client.';

CREATE FUNCTION _remember_client(buckets bytea[], account text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _known_client AS client (bucket, user_id)
    SELECT given.bucket, account FROM unnest(buckets) AS given (bucket) ORDER BY given.bucket
    ON CONFLICT (bucket) DO UPDATE SET user_id = EXCLUDED.user_id, seen_at = now();
    -- Another login of the user may hold some of them; it deletes what is left over.
    DELETE FROM _known_client AS client WHERE client.bucket IN (
        SELECT held.bucket FROM _known_client AS held WHERE held.bucket IN (
            SELECT other.bucket FROM _known_client AS other WHERE other.user_id = account
            ORDER BY other.seen_at DESC, other.bucket OFFSET 50
        )
        FOR UPDATE SKIP LOCKED
    );
END $$;
COMMENT ON FUNCTION _remember_client(bytea[], text) IS
    'Notes that a user logged in from there; of each user the 50 last places are kept.';

-- No foreign key: what happened to an account is still to be read when the account is gone.
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
COMMENT ON TABLE _audit IS 'What happened to accounts: logins, refusals, changes of passwords, ended sessions.';
COMMENT ON COLUMN _audit.id IS 'Counts up.';
COMMENT ON COLUMN _audit.at IS 'When it happened.';
COMMENT ON COLUMN _audit.event IS 'What happened; Documentation/Operations.md lists the kinds.';
COMMENT ON COLUMN _audit.outcome IS 'ok, or the name of the error that the caller got.';
COMMENT ON COLUMN _audit.user_id IS 'Whose account it is; NULL: there is none.';
COMMENT ON COLUMN _audit.actor IS 'Who did it: user:<id>, key:<id>, master for the master key, operator for a command, service for its own doing.';
COMMENT ON COLUMN _audit.session_id IS 'The session that was opened or ended.';
COMMENT ON COLUMN _audit.address IS 'The address of the client.';
COMMENT ON COLUMN _audit.request_id IS 'The request, as in the log.';
COMMENT ON COLUMN _audit.data IS
    'More about it; account is a code by which guesses at one account that does not exist are recognised.';
COMMENT ON COLUMN _audit.key_id IS 'The key that was made, changed or refused.';

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
    'Who reads the role with its members, changes them (update) and deletes it, {"user:ann": "update"}; NULL: administrators alone.';
COMMENT ON COLUMN _role.owner IS 'The id of the user who made the role, and passes its access list where it has one.';
COMMENT ON COLUMN _role.created_at IS 'When the role was made.';
COMMENT ON COLUMN _role.updated_at IS 'When the role was last changed; its members are not part of it.';
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

-- Also for those who may make a role and may not read what was deleted.
CREATE FUNCTION _check_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF octet_length(NEW.name) NOT BETWEEN 1 AND 64 OR NEW.name IS NOT NFC NORMALIZED
        OR NEW.name COLLATE "C" ~ '[\u0001-\u001F\u007F-\u009F]'
        OR NEW.name COLLATE "C" ~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
        OR NEW.name COLLATE "C" ~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    THEN
        RAISE EXCEPTION 'A role is named by 1 to 64 bytes in the form NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_name', TABLE = '_role';
    END IF;
    -- Access lists go on naming a role that is gone, and would admit the users of a new one of its name.
    IF EXISTS (
        SELECT FROM _tombstone
        WHERE type = '_role' AND id = NEW.name COLLATE "C" AND deleted_at > now() - interval '30 days'
    ) THEN
        RAISE EXCEPTION 'A role of this name was deleted within the last 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_role_deleted', TABLE = '_role',
                HINT = format(
                    'DELETE FROM %I._tombstone WHERE type = ''_role'' AND id = the name; records may still name the old role.',
                    TG_TABLE_SCHEMA
                );
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role() IS
    'Refuses a new role whose name is not fit for one, or was that of a role which was deleted within 30 days.';
-- After the row is there, so that a role that exists is not asked about by an insert that meets it.
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
COMMENT ON FUNCTION _tombstone_role() IS 'Leaves a tombstone for a role that was deleted, or given another name.';
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
COMMENT ON TABLE _role_role IS 'Which roles contain which: the users of one count as users of the other.';
COMMENT ON COLUMN _role_role.role IS 'The role that contains the other one.';
COMMENT ON COLUMN _role_role.member IS 'The role whose users have it.';

CREATE FUNCTION _held_roles(roles text[]) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH RECURSIVE held (role) AS (
        SELECT DISTINCT given.role FROM unnest(roles) AS given (role)
        UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
    )
    SELECT held.role FROM held LIMIT 1001
$$;
COMMENT ON FUNCTION _held_roles(text[]) IS
    'These roles and all that contain them, up to 1,001 of them: SELECT _held_roles(ARRAY[''editor'']).';

-- Additions wait for each other: two of them, each of which would be right alone, could make a circle.
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
            RAISE EXCEPTION 'A role does not contain itself, not by way of others either.'
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
        RAISE EXCEPTION 'The users of a role have at most 1000 roles by it.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role_role() IS
    'Refuses that a role contains itself by way of others, and that one role gives more than 1,000.';
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
        RAISE EXCEPTION 'A user has at most 1000 roles.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_role() IS 'Refuses to give a user more than 1,000 roles, with those that contain them.';
CREATE TRIGGER _check_user_role AFTER INSERT ON _user_role REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_role();

CREATE TABLE _user_group (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, name)
);
CREATE INDEX ON _user_group (name, user_id);
COMMENT ON TABLE _user_group IS 'The groups of users, which access lists name: tags without anything of their own.';
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
        RAISE EXCEPTION 'A group is named by 1 to 64 bytes in the form NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_name', TABLE = TG_TABLE_NAME;
    END IF;
    -- Of two additions for one user, the later one counts what the earlier one added.
    PERFORM FROM _user AS account WHERE account.id IN (SELECT user_id FROM new_row) ORDER BY account.id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM _user_group AS given WHERE given.user_id IN (SELECT user_id FROM new_row)
        GROUP BY given.user_id HAVING count(*) > 200
    ) THEN
        RAISE EXCEPTION 'A user has at most 200 groups.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_group() IS 'Refuses groups whose name is not fit for one, and more than 200 of a user.';
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
COMMENT ON TABLE _relation IS 'What users are to each other by their own doing: friends, followers, and those who are kept away.';
COMMENT ON COLUMN _relation.user_id IS 'The account that made the relation.';
COMMENT ON COLUMN _relation.name IS 'friend, follow or block.';
COMMENT ON COLUMN _relation.other_id IS 'The account that it is about.';
COMMENT ON COLUMN _relation.mutual IS 'Whether the other account has the same relation to this one; kept by a trigger. A friend is one where it is so.';
COMMENT ON COLUMN _relation.created_at IS 'When the relation was made.';

CREATE FUNCTION _relation_lock(one text, other text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'relation ' || (hashtext(least(one COLLATE "C", other COLLATE "C") || '/' || greatest(one COLLATE "C", other COLLATE "C")) & 255)::text
$$;
COMMENT ON FUNCTION _relation_lock(text, text) IS
    'The name of the lock under which the relations of two users are changed; 256 of them, so that a change of many takes few.';

-- Each row of a pair says whether there is the other one, so that one look-up answers. Two changes of a pair wait for each
-- other: each would miss what the other one is about to commit.
CREATE FUNCTION _keep_mutual() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.user_id, NEW.name, NEW.other_id) IS DISTINCT FROM (OLD.user_id, OLD.name, OLD.other_id) THEN
        RAISE EXCEPTION 'A relation is deleted and made anew, not changed into another one.'
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
COMMENT ON FUNCTION _keep_mutual() IS 'Says in a relation whether the other user has it, too, and refuses one where there is a block.';
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
COMMENT ON FUNCTION _keep_mutual_back() IS 'Says the same in the relation of the other user, and ends what a block ends.';
CREATE TRIGGER _keep_mutual_back AFTER INSERT OR DELETE ON _relation FOR EACH ROW EXECUTE FUNCTION _keep_mutual_back();

CREATE TABLE _idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    answer bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, key)
);
CREATE INDEX ON _idempotency (created_at);
COMMENT ON TABLE _idempotency IS 'Answers kept for a day, so that a repeated request has one effect.';
COMMENT ON COLUMN _idempotency.scope IS 'Who asked; the same key of another caller is another key.';
COMMENT ON COLUMN _idempotency.key IS 'The key that the request carried.';
COMMENT ON COLUMN _idempotency.fingerprint IS 'SHA-256 of the request; another one means that the key was reused.';
COMMENT ON COLUMN _idempotency.answer IS 'The answer that the first request got.';
COMMENT ON COLUMN _idempotency.created_at IS 'When the first request came.';

-- Rules of record types -----------------------------------------------------------------------------------------------

CREATE TABLE _class_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update', 'delete')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL),
    mode text NOT NULL DEFAULT 'default' CHECK (mode IN ('default', 'require', 'override')),
    PRIMARY KEY (type, action),
    CHECK (action <> 'create' OR mode = 'default')
);
COMMENT ON TABLE _class_rule IS 'Who creates, reads, updates and deletes the records of a type, where that is not the standard.';
COMMENT ON COLUMN _class_rule.type IS 'The record type.';
COMMENT ON COLUMN _class_rule.action IS 'create, read, update or delete.';
COMMENT ON COLUMN _class_rule.allow IS
    'The subjects that it allows, {public,role:editor}; with one that means nothing it allows none, and an empty one none but the master key.';
COMMENT ON COLUMN _class_rule.mode IS
    'default: for records without a list; require: beside the list; override: instead of the list, for owners too.';

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
COMMENT ON TABLE _class_option IS 'What new records of a type begin with, who changes their lists, and where they may live.';
COMMENT ON COLUMN _class_option.type IS 'The record type.';
COMMENT ON COLUMN _class_option.default_access IS
    'The access list of a new public record that brings none, {"role:editor": "write"}; NULL: it has none.';
COMMENT ON COLUMN _class_option.list_by IS
    'Who changes the access list of a record: its owner, or who may update it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.list_read_by IS
    'Who sees the whole access list of a record: its owner, who may update it, or all who read it; NULL: as the settings say.';
COMMENT ON COLUMN _class_option.creator IS 'Whether the user who makes a public record is its owner; none: it has no owner.';
COMMENT ON COLUMN _class_option.transfer_by IS 'Who gives records to other owners: the master key, or their owner too.';
COMMENT ON COLUMN _class_option.private IS 'Whether private databases have records of the type.';
COMMENT ON COLUMN _class_option.relations IS
    'Which relations of users access lists of its records have named, {friend}: noted with the first entry, and never taken away.';
COMMENT ON COLUMN _class_option.aggregate IS 'Whether others than the master key have aggregates of the records computed.';

CREATE TABLE _field_rule (
    type text COLLATE "C" NOT NULL CHECK (type ~ '^([*]|[A-Za-z][A-Za-z0-9_]{0,62})$'),
    field text COLLATE "C" NOT NULL CHECK (octet_length(field) BETWEEN 1 AND 63),
    action text COLLATE "C" NOT NULL CHECK (action IN ('create', 'read', 'update', 'compare', 'discover')),
    allow text[] NOT NULL CHECK (cardinality(allow) <= 10000 AND array_position(allow, NULL) IS NULL),
    PRIMARY KEY (type, field, action)
);
COMMENT ON TABLE _field_rule IS
    'Who gives a field its first value, sees it and changes it, among those to whom a record is open; without a row all of them.';
COMMENT ON COLUMN _field_rule.type IS 'The record type, or * for every one.';
COMMENT ON COLUMN _field_rule.field IS
    'The field, or * for every one. Of the rows about an action, those of type and field count before those of type and *, then * and field, then * and *.';
COMMENT ON COLUMN _field_rule.action IS 'create, read, update, compare or discover.';
COMMENT ON COLUMN _field_rule.allow IS
    'The subjects that it allows, {owner,role:editor}, or denies, {!role:guest,users}: the first that one is decides. With one that means nothing it allows none, and an empty one none but the master key.';

CREATE TABLE _version (
    name text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE _version IS 'Numbers that grow with every change of something that processes keep in memory.';
COMMENT ON COLUMN _version.name IS
    'rules: the tables _class_rule, _class_option and _field_rule; default_lists: there since an account first got a default_access; keys: the table _key.';
COMMENT ON COLUMN _version.value IS 'How often it was changed.';
INSERT INTO _version (name) VALUES ('rules');

-- The rules of a type are part of what processes know of it, so they hear of a change as of one of the schema. The number is
-- for those that hear nothing: behind a pooler, or without the connection that listens.
CREATE FUNCTION _announce_class() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    -- Once for a transaction is enough, which may write very many rows.
    INSERT INTO _version AS known (name, value) VALUES ('rules', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1 WHERE known.xmin <> pg_current_xact_id()::xid;
    IF TG_LEVEL = 'STATEMENT' THEN
        PERFORM _notify('schema', '');
        RETURN NULL;
    END IF;
    -- A rule of every type is one of each: the notice without a type.
    IF TG_OP <> 'INSERT' THEN
        PERFORM _notify('schema', coalesce(' ' || nullif(OLD.type, '*'), ''));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM _notify('schema', coalesce(' ' || nullif(NEW.type, '*'), ''));
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_class() IS 'Notifies every process that a record type has other rules now.';
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
COMMENT ON FUNCTION _watch_class_rule() IS 'Has rows watched in whose fields users stand who read them, as a class rule says.';
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

-- A save looks for the list of its user only where there is any.
CREATE FUNCTION _note_default_list() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version (name, value) VALUES ('default_lists', 1) ON CONFLICT (name) DO NOTHING;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _note_default_list() IS 'Notes that there are accounts with a list for new records.';
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
COMMENT ON TABLE _code IS 'The one-time code that a client last had sent to an address, for each kind; also for addresses without an account.';
COMMENT ON COLUMN _code.kind IS 'verify: it proves the address; reset: it sets a new password; invite: it sets the first one; email: it makes the address that of the account; undo: it gives the account the address back; link: it logs in.';
COMMENT ON COLUMN _code.address_key IS 'SHA-256 of the address in the form in which login keys are compared.';
COMMENT ON COLUMN _code.id IS 'What the handle of the client that asked for the code stands for.';
COMMENT ON COLUMN _code.user_id IS 'The account; NULL: there is none of this address, and nothing is sent.';
COMMENT ON COLUMN _code.epoch IS 'The epoch of the account in which it was made; in another one it is void, but for the kind undo.';
COMMENT ON COLUMN _code.target IS 'The address as the account has it, is to have it (email) or had it (undo); empty without an account.';
COMMENT ON COLUMN _code.language IS 'The language of the mail.';
COMMENT ON COLUMN _code.link_hash IS 'SHA-256 of the code in the link.';
COMMENT ON COLUMN _code.digits_hash IS 'HMAC-SHA-256 of id and digits under a key that is derived from _secret.';
COMMENT ON COLUMN _code.attempts IS 'How often digits were tried.';
COMMENT ON COLUMN _code.guesses IS 'How often digits of this kind were tried with codes of this row since guesses_since; all of an address count together.';
COMMENT ON COLUMN _code.guesses_since IS 'Since when guesses counts; a day later it begins anew.';
COMMENT ON COLUMN _code.created_at IS 'When it was made.';
COMMENT ON COLUMN _code.link_expires_at IS 'When the link ends.';
COMMENT ON COLUMN _code.digits_expire_at IS 'When the digits end.';
COMMENT ON COLUMN _code.used_at IS 'When it was used, after which it counts no more.';
COMMENT ON COLUMN _code.client_key IS 'The network of the client that asked; empty where it does not matter.';

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
COMMENT ON TABLE _mail IS 'Mails that are to be sent, and for an hour those that were, which limits are counted by.';
COMMENT ON COLUMN _mail.id IS 'Counts the mails.';
COMMENT ON COLUMN _mail.kind IS 'The name of its templates.';
COMMENT ON COLUMN _mail.user_id IS 'Whose mail it is.';
COMMENT ON COLUMN _mail.target IS 'The address; NULL: no account has the one that was asked for, and the mail is dropped in place of being sent.';
COMMENT ON COLUMN _mail.address_key IS 'SHA-256 of the address that was asked for; NULL: it counts for no limit.';
COMMENT ON COLUMN _mail.client_key IS 'The network of the client that asked.';
COMMENT ON COLUMN _mail.language IS 'The language of the templates.';
COMMENT ON COLUMN _mail.link_code IS 'The code in its link; removed when the mail is sent or given up.';
COMMENT ON COLUMN _mail.digits IS 'Its digits; removed likewise.';
COMMENT ON COLUMN _mail.state IS 'waiting until it is sent, dropped (no account) or dead (given up).';
COMMENT ON COLUMN _mail.attempts IS 'How often sending it was begun.';
COMMENT ON COLUMN _mail.created_at IS 'When it was asked for.';
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
COMMENT ON TABLE _identity IS 'By which accounts of providers users log in.';
COMMENT ON COLUMN _identity.provider IS 'The name of the provider in the settings; custom-token: tokens of the application''s own server.';
COMMENT ON COLUMN _identity.subject IS 'What the provider calls the user: the claim sub.';
COMMENT ON COLUMN _identity.user_id IS 'Who logs in by it.';
COMMENT ON COLUMN _identity.profile IS 'What the provider last said of the user; nothing here relies on it.';
COMMENT ON COLUMN _identity.created_at IS 'When it was linked.';
COMMENT ON COLUMN _identity.last_used_at IS 'When the user last logged in by it; NULL: not yet.';
COMMENT ON COLUMN _identity.token_sealed IS 'The tokens that the provider gave for the user, sealed like _factor.secret_sealed; NULL: none are kept.';
COMMENT ON COLUMN _identity.token_at IS 'When it gave them.';

CREATE TABLE _used_token (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX ON _used_token (expires_at);
COMMENT ON TABLE _used_token IS 'The tokens of providers and of the application''s own server that were used and are not to be used again.';
COMMENT ON COLUMN _used_token.hash IS 'SHA-256 of the provider''s name and of the nonce or the id of the token.';
COMMENT ON COLUMN _used_token.expires_at IS 'When the token ends by itself; the row is removed an hour later.';

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
COMMENT ON TABLE _flow IS 'Sign-ins with providers that are under way: what waits for the provider, and what waits for the application.';
COMMENT ON COLUMN _flow.hash IS 'SHA-256 of the state that the provider brings back, or of the code that the application does; neither is stored.';
COMMENT ON COLUMN _flow.kind IS 'state: the user is at the provider; code: the application is to fetch what came of it.';
COMMENT ON COLUMN _flow.purpose IS 'login: to open a session; link: to log in by the provider from now on; stepup: to prove once more who the user is.';
COMMENT ON COLUMN _flow.provider IS 'The name of the provider in the settings.';
COMMENT ON COLUMN _flow.nonce IS 'What its id token has to have; NULL for a provider without id tokens.';
COMMENT ON COLUMN _flow.verifier_sealed IS 'What proves to the provider who began (RFC 7636), sealed like _factor.secret_sealed.';
COMMENT ON COLUMN _flow.challenge IS 'SHA-256 of what the application proves with that it began, in base64url.';
COMMENT ON COLUMN _flow.redirect IS 'Where the user goes back to, one of the addresses in the settings.';
COMMENT ON COLUMN _flow.state IS 'What the application gets back with it.';
COMMENT ON COLUMN _flow.user_id IS 'Who is linked, or proves who they are; NULL for a login.';
COMMENT ON COLUMN _flow.epoch IS 'The epoch of that account; in another one it is void.';
COMMENT ON COLUMN _flow.session_id IS 'The session that asked; NULL for a login.';
COMMENT ON COLUMN _flow.client IS 'SHA-256 of the client that began, whose share it is.';
COMMENT ON COLUMN _flow.subject IS 'What the provider calls the user, once that is proved.';
COMMENT ON COLUMN _flow.profile IS 'What the provider says of the user.';
COMMENT ON COLUMN _flow.verified_email IS 'The address that the provider says it has verified.';
COMMENT ON COLUMN _flow.token_sealed IS 'The tokens that came with it, sealed like _factor.secret_sealed; NULL where none are kept.';
COMMENT ON COLUMN _flow.created_at IS 'When it began, or when the code was made.';
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
    'The accounts that are being deleted, and for 30 days those that were: their ids are given to no new account.';
COMMENT ON COLUMN _deletion.user_id IS 'The id of the account.';
COMMENT ON COLUMN _deletion.began_at IS 'When the account was disabled in order to be deleted.';
COMMENT ON COLUMN _deletion.next_at IS
    'When a process goes on with it, which the one that works on it moves ahead; infinity when nothing is left to do.';
COMMENT ON COLUMN _deletion.finished_at IS 'When the account was gone; NULL: it is disabled, and some of its records are there still.';
COMMENT ON COLUMN _deletion.swept_at IS 'When what others named as its doing was last looked for in all records.';

CREATE TABLE _former_login (
    code bytea PRIMARY KEY,
    until timestamptz NOT NULL,
    user_id text COLLATE "C" REFERENCES _user (id) ON DELETE CASCADE
);
CREATE INDEX ON _former_login (user_id) WHERE user_id IS NOT NULL;
COMMENT ON TABLE _former_login IS 'The login keys of deleted accounts, which no other account gets for 30 days, and addresses that accounts may get back.';
COMMENT ON COLUMN _former_login.code IS 'What _login_code makes of the key, from which it cannot be found out without _secret.';
COMMENT ON COLUMN _former_login.until IS 'From when on another account may have it.';
COMMENT ON COLUMN _former_login.user_id IS 'The account that had the address and may have it again; NULL: it is deleted.';

-- Two hashes, one within the other, as in HMAC: a code says nothing of that of a longer text.
CREATE FUNCTION _login_code(secret bytea, field text, value text) RETURNS bytea LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT sha256(
        secret || sha256(secret || convert_to('former login' || chr(1) || field || chr(1) || _login_canonical(value), 'UTF8'))
    )
$$;
COMMENT ON FUNCTION _login_code(bytea, text, text) IS
    'By which a login key of a deleted account is recognised: _login_code(secret, ''email'', ''ann@example.org'').';

-- As the owner of the schema: a role that may write profiles need not read the secret.
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
        -- As where another account has it, so that the answer is the same.
        RAISE EXCEPTION 'An account had this login key until lately, and may get it back.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_login_key_' || TG_ARGV[0], TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_login() IS 'Refuses a login key that another account had until lately, and may get back, or that was deleted within 30 days.';
CREATE TRIGGER _check_former_username AFTER INSERT OR UPDATE OF username ON "user" FOR EACH ROW
    WHEN (NEW.username IS NOT NULL) EXECUTE FUNCTION _check_former_login('username');
CREATE TRIGGER _check_former_email AFTER INSERT OR UPDATE OF email ON "user" FOR EACH ROW
    WHEN (NEW.email IS NOT NULL) EXECUTE FUNCTION _check_former_login('email');

CREATE FUNCTION _check_former_id() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM _deletion AS deletion WHERE deletion.user_id = NEW.id) THEN
        RAISE EXCEPTION 'An account of this id was deleted within 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_user_pkey', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_former_id() IS
    'Refuses an account with the id of one that was deleted within 30 days, which access lists may still name.';
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
COMMENT ON TABLE _merge IS 'The anonymous accounts that are being merged into others, and for 30 days those that were.';
COMMENT ON COLUMN _merge.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge.target IS 'The account that gets its records.';
COMMENT ON COLUMN _merge.token_hash IS 'SHA-256 of the token that it was merged with, by which the same call gets the same result.';
COMMENT ON COLUMN _merge.records IS 'How many records have moved.';
COMMENT ON COLUMN _merge.began_at IS 'When the anonymous account was disabled in order to be merged.';
COMMENT ON COLUMN _merge.next_at IS 'When a process goes on with it, which the one that works on it moves ahead; infinity when nothing is left to do.';
COMMENT ON COLUMN _merge.finished_at IS 'When everything had moved; NULL: some of it has not yet.';

CREATE TABLE _merge_change (
    user_id text COLLATE "C" NOT NULL REFERENCES _merge (user_id) ON DELETE CASCADE,
    type text COLLATE "C" NOT NULL,
    old_id text COLLATE "C" NOT NULL,
    new_id text COLLATE "C" NOT NULL,
    cleared text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, type, old_id)
);
COMMENT ON TABLE _merge_change IS 'Private records of merged accounts that got another id, or lost values, since the other account has a record of that id or value.';
COMMENT ON COLUMN _merge_change.user_id IS 'The id of the anonymous account.';
COMMENT ON COLUMN _merge_change.type IS 'The record type.';
COMMENT ON COLUMN _merge_change.old_id IS 'The id of the record on the wire, before.';
COMMENT ON COLUMN _merge_change.new_id IS 'That of the record afterwards.';
COMMENT ON COLUMN _merge_change.cleared IS 'The fields whose values were removed.';

-- Whose tombstones are found when their owner is deleted.
CREATE INDEX ON _tombstone (owner) WHERE owner IS NOT NULL;

-- The accounts among which those are that were left alone.
CREATE INDEX ON _user (created_at) WHERE password_hash IS NULL;

-- Notices -------------------------------------------------------------------------------------------------------------
-- Processes keep sessions and the schema in memory. They are told of changes, also of those made in psql; all of them
-- are rare, which is why NOTIFY is affordable here and is not for records. A notice names its schema, since a copy of an
-- application in the same database has the same channel.

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
COMMENT ON FUNCTION _announce_session() IS 'Tells every process which sessions were ended.';
CREATE TRIGGER _announce AFTER DELETE ON _session REFERENCING OLD TABLE AS deleted_row
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_session();

CREATE FUNCTION _announce_rotation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/token:' || encode(OLD.token_hash, 'hex'));
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_rotation() IS 'Notifies every process that a session has another token.';
CREATE TRIGGER _announce_rotation AFTER UPDATE OF token_hash ON _session
    FOR EACH ROW EXECUTE FUNCTION _announce_rotation();

CREATE FUNCTION _announce_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/user:' || NEW.id);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_user() IS 'Tells every process that the sessions of a user must be looked up again.';
CREATE TRIGGER _announce
    AFTER UPDATE OF password_hash, token_valid_since, epoch, disabled, disabled_message, disabled_until, verified_email
    ON _user FOR EACH ROW EXECUTE FUNCTION _announce_user();

CREATE FUNCTION _announce_address() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/user:' || NEW._id);
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_address() IS 'Notifies every process that a user has another address, which may not be the verified one.';
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
COMMENT ON FUNCTION _announce_user_role() IS 'Tells every process that a user has other roles now.';
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _user_role
    FOR EACH ROW EXECUTE FUNCTION _announce_user_role();

CREATE FUNCTION _announce_all_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _notify('session', '/all');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_all_sessions() IS 'Tells every process that all sessions must be looked up again.';
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

-- Whether an account is anonymous depends on it. A login writes down its time without a notice.
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
COMMENT ON FUNCTION _announce_identity() IS 'Notifies every process that a user logs in by other providers now.';
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
        -- Without BETWEEN, which a dump has in other parentheses.
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
COMMENT ON TABLE _key IS 'Keys with scopes, by their hashes: skyrow key.';
COMMENT ON COLUMN _key.id IS 'The part of the key that names it and opens nothing.';
COMMENT ON COLUMN _key.hash IS 'SHA-256 of the key, which has 256 random bits.';
COMMENT ON COLUMN _key.previous_hash IS 'That of the text before the last rotation.';
COMMENT ON COLUMN _key.previous_until IS 'Until when that is accepted.';
COMMENT ON COLUMN _key.name IS 'What the key is for; lists and rules name all keys of the name by key:<name>.';
COMMENT ON COLUMN _key.kind IS 'client lets clients in, server passes the rules of records.';
COMMENT ON COLUMN _key.scopes IS
    'What it may do, {read,type:note}; empty: all that is open to its kind. With one that means nothing the key is refused.';
COMMENT ON COLUMN _key.networks IS 'From where it counts; empty: from everywhere.';
COMMENT ON COLUMN _key.created_at IS 'When it was made.';
COMMENT ON COLUMN _key.expires_at IS 'When it ends; NULL is never.';
COMMENT ON COLUMN _key.revoked_at IS 'When it was revoked; NULL: it holds.';
COMMENT ON COLUMN _key.last_used_at IS 'When it was last used, to the minute; NULL: it was not.';
INSERT INTO _version (name) VALUES ('keys');

-- A use is written down without a notice.
CREATE FUNCTION _announce_keys() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO _version AS known (name, value) VALUES ('keys', 1)
    ON CONFLICT (name) DO UPDATE SET value = known.value + 1;
    PERFORM _notify('session', '/keys');
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _announce_keys() IS 'Notifies every process that there are other keys now.';
CREATE TRIGGER _announce
    AFTER INSERT OR DELETE OR UPDATE OF
        id, hash, previous_hash, previous_until, name, kind, scopes, networks, expires_at, revoked_at
    ON _key FOR EACH ROW EXECUTE FUNCTION _announce_keys();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _key
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_keys();

-- Database logins -----------------------------------------------------------------------------------------------------

CREATE TABLE _database_login (
    role name PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE
);
CREATE INDEX ON _database_login (user_id);
COMMENT ON TABLE _database_login IS
    'Whose records a role of PostgreSQL works with: skyrow policies apply --login role=user. The policies of record tables ask it.';
COMMENT ON COLUMN _database_login.role IS 'The role that is logged in as, session_user.';
COMMENT ON COLUMN _database_login.user_id IS 'The account.';

CREATE TABLE _policy (
    type text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('rules', 'rights', 'policy', 'trigger', 'view')),
    name text COLLATE "C" NOT NULL,
    source text NOT NULL,
    stored text NOT NULL,
    PRIMARY KEY (type, kind, name)
);
COMMENT ON TABLE _policy IS 'What skyrow policies apply made, by which skyrow policies check finds what has changed since.';
COMMENT ON COLUMN _policy.type IS 'The record type.';
COMMENT ON COLUMN _policy.kind IS 'policy, trigger or view; rules: the rules of the type that the policies were made of; rights: what database logins may name.';
COMMENT ON COLUMN _policy.name IS 'The name of the object; of rules and rights none.';
COMMENT ON COLUMN _policy.source IS 'The statement that made it; of rules what _rules_digest() was; of rights a line for each.';
COMMENT ON COLUMN _policy.stored IS 'What PostgreSQL made of the statement, as it prints that.';

-- The role that logged in, and no setting: a client may set any setting. SET ROLE does not change it, and SET SESSION
-- AUTHORIZATION is a superuser's. In plpgsql, which keeps its plans: SQL would be read and planned anew by each statement.
CREATE FUNCTION _me() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (
        SELECT account.id FROM _database_login AS login JOIN _user AS account ON account.id = login.user_id
        WHERE login.role = session_user
            AND NOT (account.disabled AND (account.disabled_until IS NULL OR account.disabled_until > now()))
    );
END $$;
COMMENT ON FUNCTION _me() IS 'The id of the user whom this database login is; NULL for any other role, and while the account is disabled.';

-- As the service makes it of a session (Audience) that comes without a key. Like there, a user with more roles than one
-- may have is none.
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
        RAISE EXCEPTION 'A user has at most 1000 roles.' USING ERRCODE = 'program_limit_exceeded';
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
    'The keys of all subjects that the user of this database login is, {public,users,user:ann,role:editor}; NULL for any other role.';

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
    'Whether the user of this database login is a friend of, follows (follower) or is followed by (followed) another: _is_related(''friend'', ''ann'').';

-- Without what a trigger notes of lists: policies ask for every relation.
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
COMMENT ON FUNCTION _rules_digest(text) IS 'A text that is another one when the rules of a record type are others.';

-- Policies are made of rules as they were. Of a type whose rules have changed since, nothing is shown until they are made anew.
CREATE FUNCTION _may_ask(type text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF _me() IS NULL THEN
        RETURN false;
    END IF;
    IF (SELECT known.source FROM _policy AS known WHERE known.type = $1 AND known.kind = 'rules')
        IS DISTINCT FROM _rules_digest($1)
    THEN
        RAISE EXCEPTION 'The rules of the type % have changed; its policies are to be made anew: skyrow policies apply.', $1
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _may_ask(text) IS
    'Whether this database login is a user''s; refused while the policies of the record type are not those of its rules.';

-- With the rights of the role that asks, so that the policies of the other type hold.
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
    'Whether a record of a database may refer to these records of a type: whether the role that asks reads each of them.';

-- A record that a database login writes is signed, and begins with the list that a save would give it.
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
COMMENT ON FUNCTION _sign() IS 'Signs what a database login writes, and gives a new record its owner and its access list.';

CREATE FUNCTION _refuse_column() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'You may not give % of this record that value.', quote_ident(TG_ARGV[0])
        USING ERRCODE = 'insufficient_privilege', TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0];
END $$;
COMMENT ON FUNCTION _refuse_column() IS 'Refuses a change that a database login may not make; its trigger has the condition.';

-- What a policy needs keeps a column from being dropped or given another type, so the service calls this first. The table stays
-- closed to database logins until policies are made again.
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
    'Takes away what skyrow policies apply made for a record type, and closes its table to database logins.';

CREATE FUNCTION _announce_schema() RETURNS event_trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    -- The service tells of its own changes, and of which types.
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
    -- A role that makes tables need not read _meta. The notice says nothing that pg_class does not show.
    PERFORM pg_notify('skyrow_schema', '');
END $$;
COMMENT ON FUNCTION _announce_schema() IS 'Notifies every process that a table of this schema was changed by hand.';

-- Only a superuser may create event triggers. Without them a process finds out when it meets a name that it does not
-- know, or when PostgreSQL does not know one.
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
COMMENT ON FUNCTION _install_event_triggers() IS 'Creates the event triggers that notice changes made by hand, where permitted.';

-- The schema of the reserved tables -----------------------------------------------------------------------------------

-- So that \dt in psql lists what applications made. Indexes, constraints and sequences follow their tables, and no role but
-- the owner may name what is there.
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

-- What operators ask psql for, by names that need no schema: a view is named by the plural of its table. Each lists its columns,
-- so that a secret which a table gets is in none. They have the rights of their owner, so that a role for reports may be granted
-- some of them alone.

CREATE FUNCTION _may_look() RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT FROM _database_login AS login WHERE login.role = session_user) THEN
        RAISE EXCEPTION 'A role that stands for a user does not read the views of accounts and rules.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _may_look() IS
    'Refuses the roles of PostgreSQL that stand for users, also where GRANT SELECT ON ALL TABLES has given them a view.';

CREATE FUNCTION _refuse_write() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'The view % is for reading.', TG_TABLE_NAME
        USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('Write to the table %s.', TG_ARGV[0]);
END $$;
COMMENT ON FUNCTION _refuse_write() IS 'Refuses a change by way of a view of a reserved table.';

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

CREATE VIEW _deletions WITH (security_barrier) AS
SELECT user_id, began_at, next_at, finished_at, swept_at FROM _deletion WHERE (SELECT _may_look());

CREATE VIEW _merges WITH (security_barrier) AS
SELECT user_id, target, records, began_at, next_at, finished_at FROM _merge WHERE (SELECT _may_look());

-- A column that a view takes as it is means what it means in the table.
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
        EXECUTE format('COMMENT ON VIEW %s IS %L', shown.view, 'For reading, without secrets: ' || shown.sentence);
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
