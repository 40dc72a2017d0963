-- The publication that live queries follow, with every record table in it, and whole old rows.

-- Live queries follow the changes of a publication (Documentation/Decisions/0077-replication-stream.md). Its name is one of
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
    WHERE relation.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND (only_table IS NULL OR relation.oid = only_table)
        AND relation.relkind IN ('r', 'p') AND NOT relation.relispartition AND relation.relpersistence = 'p'
        AND (
            relation.relname = '_tombstone'
            OR NOT starts_with(relation.relname, '_') AND 9 = (
                SELECT count(*) FROM pg_attribute
                WHERE attrelid = relation.oid AND attnum > 0 AND NOT attisdropped AND attname IN (
                    '_id', '_database', '_owner', '_access', '_created_at', '_created_by', '_updated_at', '_updated_by',
                    '_revision'
                )
            )
        )
        AND NOT EXISTS (
            SELECT FROM pg_publication JOIN pg_publication_rel ON prpubid = pg_publication.oid
            WHERE pubname = _publication_name() AND prrelid = relation.oid
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

DO $do$
DECLARE
    record_table regclass;
BEGIN
    FOR record_table IN SELECT unpublished FROM _unpublished() AS unpublished WHERE unpublished <> '_tombstone'::regclass LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', record_table);
        EXCEPTION WHEN insufficient_privilege THEN
            -- A table that psql made as another role stays as it is.
            NULL;
        END;
    END LOOP;
    PERFORM _publish();
END $do$;
