-- Access lists name what users are to the owner of a record: friends, followers, and those whom the owner follows.

ALTER TABLE _class_option ADD COLUMN relations text[] NOT NULL DEFAULT '{}'
    CHECK (relations <@ '{followed,follower,friend}'::text[]);
COMMENT ON COLUMN _class_option.relations IS
    'Which relations of users access lists of its records have named, {friend}: noted with the first entry, and never taken away.';

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

-- The service has refused entries about relations so far; doctor finds those that psql wrote.
DO $$
DECLARE
    record_table text;
BEGIN
    FOR record_table IN
        SELECT relname FROM pg_class
        WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND relkind IN ('r', 'p')
            AND EXISTS (SELECT FROM pg_trigger WHERE tgrelid = pg_class.oid AND tgname = '_tombstone_deleted')
            AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = '_access' AND NOT attisdropped)
    LOOP
        PERFORM _create_type_parts(record_table, '_note_relation_entry');
    END LOOP;
END $$;
