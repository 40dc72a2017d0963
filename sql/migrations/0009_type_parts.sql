-- The parts of a record table get a function of their own, so that one statement makes them in new tables and in repaired
-- ones.

-- What a record table has besides its columns, with the names by which "skyrow schema apply" has one made again. Indexes
-- are few, since each one costs every insert (Documentation/Decisions/0004-tables.md).
CREATE FUNCTION _create_type_parts(type text, only_part text DEFAULT NULL) RETURNS void LANGUAGE plpgsql
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
    EXECUTE format('COMMENT ON TABLE %I IS %L', type, 'Records of the type ' || type || '.');
    FOR about IN
        SELECT * FROM (VALUES
            ('_id', 'The record''s id; in a private database ~<user id>/<id>.'),
            ('_database', 'The database the row is in: _public, or the id of the user who sees it alone.'),
            ('_owner', 'The id of the user who owns the record.'),
            ('_access', 'The record''s own access list; NULL: everyone reads it, its owner writes it.'),
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
