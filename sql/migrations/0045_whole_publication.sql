-- A table of which the publication has some changes alone is one that is not published.

CREATE OR REPLACE FUNCTION _unpublished(only_table regclass DEFAULT NULL) RETURNS SETOF regclass LANGUAGE sql STABLE
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
            SELECT FROM pg_publication JOIN pg_publication_rel AS member ON prpubid = pg_publication.oid
            WHERE pubname = _publication_name() AND prrelid = relation.oid
                -- All of its changes, which neither a filter of rows nor a list of columns lets through.
                AND pubinsert AND pubupdate AND pubdelete AND pubtruncate
                AND to_jsonb(member) ->> 'prqual' IS NULL AND to_jsonb(member) ->> 'prattrs' IS NULL
        )
    ORDER BY relation.oid
$$;

CREATE OR REPLACE FUNCTION _publish(only_table regclass DEFAULT NULL) RETURNS text LANGUAGE plpgsql
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
