-- An access list is an object, {"role:editor": "write", "public": "read"}, and no array of entries: one operator looks up
-- what a caller is in it (Documentation/Decisions/0046-access-lists.md).
--
-- All rows with a list are written anew, in this one transaction: no statement has to understand both forms, and a restore,
-- which is one transaction anyway, takes the same way. Nothing is written to the tables meanwhile, and everything can be
-- read. A row keeps its revision and its times, since clients see what they saw.

-- A trigger cannot be switched off while checks of keys are still to come.
SET CONSTRAINTS ALL IMMEDIATE;

DO $$
DECLARE
    record_tables regclass[];
    record_table regclass;
    is_stamped boolean;
    -- What was no entry admitted no one, and is left out. Not a function, which would take most of the time.
    conversion text := $conversion$
        UPDATE %1$s AS stored SET %2$I = (
            SELECT coalesce(jsonb_object_agg(subject, level), '{}') FROM (
                SELECT
                    CASE
                        WHEN member.value = 'true' AND member.name IN ('public', 'owner') THEN member.name
                        WHEN jsonb_typeof(member.value) <> 'string' THEN NULL
                        WHEN member.name = 'user_id' THEN 'user:' || (member.value #>> '{}')
                        WHEN member.name = 'role' THEN 'role:' || (member.value #>> '{}')
                    END COLLATE "C",
                    -- 'write' is more than 'read'.
                    max((entry.value ->> 'level') COLLATE "C")
                FROM jsonb_array_elements(
                    CASE jsonb_typeof(stored.%2$I) WHEN 'array' THEN stored.%2$I ELSE '[]' END
                ) AS entry (value)
                CROSS JOIN jsonb_each(
                    CASE jsonb_typeof(entry.value) WHEN 'object' THEN entry.value ELSE '{}' END
                ) AS member (name, value)
                WHERE entry.value -> 'level' IN ('"read"', '"write"')
                GROUP BY 1
            ) AS member_of (subject, level)
            WHERE subject IS NOT NULL
        )
        WHERE jsonb_typeof(%2$I) <> 'object'
    $conversion$;
BEGIN
    -- Also a row whose list is longer than may be, or whose id is none, gets the new form. Put together here, so that no archive
    -- with such a function is taken for one of Skyrow's own.
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION _reserved_columns_fit(id text, database text, access jsonb) RETURNS boolean '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L', 'SELECT' || ' true'
    );
    SELECT coalesce(array_agg(pg_class.oid::regclass ORDER BY relname), '{}') INTO record_tables
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE attname = '_access' AND atttypid = 'jsonb'::regtype AND NOT attisdropped
        AND relkind IN ('r', 'p') AND NOT relispartition
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema());
    -- Before any work is done, which would be lost where a table is not to be had.
    FOREACH record_table IN ARRAY record_tables LOOP
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', record_table);
    END LOOP;
    FOREACH record_table IN ARRAY record_tables LOOP
        is_stamped := EXISTS (
            SELECT FROM pg_trigger WHERE tgrelid = record_table AND tgname = '_stamp' AND tgenabled = 'O'
        );
        IF is_stamped THEN
            EXECUTE format('ALTER TABLE %s DISABLE TRIGGER _stamp', record_table);
        END IF;
        EXECUTE format(conversion, record_table, '_access');
        IF is_stamped THEN
            EXECUTE format('ALTER TABLE %s ENABLE TRIGGER _stamp', record_table);
        END IF;
        IF EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = record_table AND attname = '_access' AND col_description(attrelid, attnum)
                = 'The record''s own access list; NULL: everyone reads it, its owner writes it.'
        ) THEN
            EXECUTE format(
                'COMMENT ON COLUMN %s._access IS %L', record_table,
                'The record''s own access list, {"role:editor": "write"}; NULL: everyone reads it, its owner writes it.'
            );
        END IF;
    END LOOP;
    EXECUTE format(conversion, '_tombstone', 'access');
END $$;

CREATE OR REPLACE FUNCTION _reserved_columns_fit(id text, database text, access jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE
        WHEN access IS NOT NULL AND jsonb_typeof(access) <> 'object' THEN false
        -- A long list makes every query slower that meets the row. Settings bound requests further.
        WHEN access IS NOT NULL AND pg_column_size(access) > 1048576 THEN false
        -- Reading asks for the key alone, so a value that is no level must not get in. Not lax, which would take ["read"] for
        -- "read".
        WHEN access IS NOT NULL AND coalesce(access @? 'strict $.* ? (
            (@ == "read" || @ == "update" || @ == "delete" || @ == "write") is unknown
            || !(@ == "read" || @ == "update" || @ == "delete" || @ == "write")
        )', true) THEN false
        WHEN database = '_public' THEN octet_length(id) BETWEEN 1 AND 255 AND NOT starts_with(id, '~')
        -- The wire id begins after the first slash, so the user id may hold none.
        ELSE database <> '' AND NOT starts_with(database, '_') AND strpos(database, '/') = 0
            AND starts_with(id, '~' || database || '/')
            AND octet_length(id) - octet_length(database) BETWEEN 3 AND 257
    END;
END $$;
COMMENT ON FUNCTION _reserved_columns_fit(text, text, jsonb) IS
    'Whether a public row has a plain id and a private one ~<user id>/<id>, and _access is an object of levels of bounded size.';

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
