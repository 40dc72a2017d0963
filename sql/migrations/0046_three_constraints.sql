-- Three constraints with a name for each reason (Documentation/Decisions/0103-three-constraints.md), tables that are changed while
-- others use them (Documentation/Decisions/0093-large-tables.md), and parents that move with what stands below them.
--
-- What is added here asks for new rows only; the next migration looks at those that there are, when no one waits for the tables.

CREATE OR REPLACE FUNCTION _stamp() RETURNS trigger LANGUAGE plpgsql
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

-- Functions in plpgsql and not expressions: PostgreSQL reads a check's expression anew for each statement, and these would take
-- longer to read than the rest of an insert (Documentation/Decisions/0004-tables.md).
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

DROP FUNCTION _create_type_parts(text, text);
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

DO $$
DECLARE
    held record;
    part text;
BEGIN
    FOR held IN
        SELECT relname AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
        WHERE conname = '_reserved_columns_fit' AND relnamespace = current_schema()::regnamespace AND NOT relispartition
        ORDER BY relname
    LOOP
        FOREACH part IN ARRAY ARRAY['_id_fits', '_database_fits', '_access_fits'] LOOP
            PERFORM _create_type_parts(held.name, part, false);
        END LOOP;
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT _reserved_columns_fit', held.name);
    END LOOP;
END $$;
ALTER TABLE _user DROP CONSTRAINT _user_default_access_check;
ALTER TABLE _user ADD CONSTRAINT _user_default_access_check CHECK (_access_fits(default_access)) NOT VALID;
ALTER TABLE _role DROP CONSTRAINT _role_access_check;
ALTER TABLE _role ADD CONSTRAINT _role_access_check CHECK (_access_fits(access)) NOT VALID;
ALTER TABLE _class_option DROP CONSTRAINT _class_option_default_access_check;
ALTER TABLE _class_option ADD CONSTRAINT _class_option_default_access_check CHECK (_access_fits(default_access)) NOT VALID;
DROP FUNCTION _reserved_columns_fit(text, text, jsonb);

CREATE OR REPLACE FUNCTION _create_relation(type text, field text, target text) RETURNS void LANGUAGE plpgsql
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

CREATE OR REPLACE FUNCTION _check_parent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
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
