-- The change feed: what clients need to catch up from a change token (Documentation/Decisions/0075-change-feed.md).

ALTER TABLE _meta
    ADD COLUMN timeline bigint NOT NULL DEFAULT 0,
    ADD COLUMN started_at timestamptz NOT NULL DEFAULT '-infinity',
    ADD COLUMN history uuid NOT NULL DEFAULT gen_random_uuid(),
    ADD COLUMN former_offsets bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN former_until bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN _meta.timeline IS 'The timeline of the cluster; another one tells of a failover, or of a recovery to a point in time.';
COMMENT ON COLUMN _meta.started_at IS 'The start of PostgreSQL since which the offset is used.';
COMMENT ON COLUMN _meta.history IS 'Drawn anew with every restore from a dump, after which no change token is good.';
COMMENT ON COLUMN _meta.former_offsets IS 'Offsets before this one, with which transactions that still run may have stamped rows.';
COMMENT ON COLUMN _meta.former_until IS 'For each of these, the transaction id from which on none has.';
COMMENT ON FUNCTION _revision() IS
    'The revision of all that this transaction writes: its id plus an offset that only grows, over starts, dump and restore.';

CREATE OR REPLACE FUNCTION _set_revision_offset(new_offset bigint) RETURNS void LANGUAGE plpgsql
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
        'ELSE %2$L::bigint + (((pg_current_xact_id()::text::bigint + 2147483648) >> 32) + 1 << 32) END',
        pg_postmaster_start_time(), new_offset
    );
    INSERT INTO _meta (system_identifier, revision_offset, timeline, started_at, former_offsets, former_until)
    VALUES (
        system, new_offset, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
        pg_postmaster_start_time(), former_offsets, former_until
    )
    ON CONFLICT (only_row) DO UPDATE
    SET system_identifier = EXCLUDED.system_identifier, revision_offset = EXCLUDED.revision_offset,
        timeline = EXCLUDED.timeline, started_at = EXCLUDED.started_at,
        former_offsets = EXCLUDED.former_offsets, former_until = EXCLUDED.former_until;
END $$;
COMMENT ON FUNCTION _set_revision_offset(bigint) IS 'Gives _revision() another offset, from this start of PostgreSQL on.';

CREATE FUNCTION _move_revisions() RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    old_offset bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1936423282, hashtext(current_schema()));
    SELECT meta.revision_offset INTO old_offset FROM _meta AS meta WHERE meta.started_at <> pg_postmaster_start_time();
    IF FOUND THEN
        PERFORM _set_revision_offset(old_offset + (((pg_current_xact_id()::text::bigint + 2147483648) >> 32) + 1 << 32));
    END IF;
END $$;
COMMENT ON FUNCTION _move_revisions() IS
    'Lets the revisions of this start of PostgreSQL be above all before; processes call it when they find another start.';

CREATE OR REPLACE FUNCTION _rebase_revisions() RETURNS void LANGUAGE plpgsql
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
            AND relkind IN ('r', 'p') AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    LOOP
        EXECUTE format('SELECT coalesce(max(_revision), 0) FROM %s', record_table) INTO highest_here;
        highest := greatest(highest, highest_here);
    END LOOP;
    PERFORM _set_revision_offset(((highest >> 32) + 1 << 32) - pg_current_xact_id()::text::bigint);
    UPDATE _meta SET history = gen_random_uuid();
END $$;
COMMENT ON FUNCTION _rebase_revisions() IS
    'Lets revisions grow on after a restore into another cluster; the service calls it when it starts there.';

-- Transactions that run meanwhile stamp with the same offset.
SELECT _set_revision_offset(revision_offset) FROM _meta;

ALTER TABLE _tombstone
    ADD COLUMN kind "char" NOT NULL DEFAULT 'd' CHECK (kind IN ('d', 'h')),
    ADD COLUMN members jsonb,
    DROP CONSTRAINT _tombstone_pkey,
    ADD PRIMARY KEY (database, revision, type, id);
CREATE INDEX ON _tombstone USING brin (deleted_at);
COMMENT ON TABLE _tombstone IS
    'The records that were deleted, or that some no longer see, for clients that catch up from a change token.';
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

CREATE OR REPLACE FUNCTION _tombstone_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION _tombstone_truncated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION _tombstone_renamed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
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

CREATE OR REPLACE FUNCTION _create_type_parts(type text, only_part text DEFAULT NULL) RETURNS void LANGUAGE plpgsql
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
            ('_reserved_columns_fit',
                'ALTER TABLE %I ADD CONSTRAINT _reserved_columns_fit '
                'CHECK (_reserved_columns_fit(_id, _database, _access))')
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
        EXECUTE format(part.statement, type);
    END LOOP;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A record table has no part %.', only_part USING ERRCODE = 'undefined_object';
    END IF;
END $$;
COMMENT ON FUNCTION _create_type_parts(text, text) IS
    'Creates what the table of a record type has besides columns, or one part of it anew: '
    'SELECT _create_type_parts(''movie'', ''_stamp'').';

CREATE OR REPLACE FUNCTION _create_type(type text) RETURNS void LANGUAGE plpgsql
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

DO $$
DECLARE
    record_table text;
BEGIN
    FOR record_table IN
        SELECT relname FROM pg_class
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relkind IN ('r', 'p')
            AND EXISTS (SELECT FROM pg_trigger WHERE tgrelid = pg_class.oid AND tgname = '_tombstone_deleted')
            AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = '_access' AND NOT attisdropped)
        ORDER BY relname
    LOOP
        PERFORM _create_type_parts(record_table, '_conceal');
        PERFORM _watch_named_fields(record_table);
    END LOOP;
END $$;
