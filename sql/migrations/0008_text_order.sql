-- Texts are compared by the bytes of their UTF-8, and without their case by a function that is the same everywhere.

-- Texts are compared by the bytes of their UTF-8, whatever the locale of the database, so that every server and client
-- has one order (Documentation/Decisions/0026-text-order.md).

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

-- New tables; the rest of _create_type stays as it is, so only the columns in its text change.
DO $do$
BEGIN
    EXECUTE regexp_replace(
        pg_get_functiondef('_create_type(text)'::regprocedure),
        '(_id|_database|_owner|_created_by|_updated_by) text( PRIMARY| NOT|,)', '\1 text COLLATE "C"\2', 'g'
    );
END $do$;

-- Lower case under "C" is that of ASCII letters alone; the index that distinguishes older accounts stays as it is.
DO $do$
DECLARE
    key record;
BEGIN
    FOR key IN
        SELECT index_class.relname AS index, substr(index_class.relname, 14) AS field
        FROM pg_index JOIN pg_class AS index_class ON index_class.oid = indexrelid
        WHERE indrelid = '"user"'::regclass AND starts_with(index_class.relname, '_login_exact_')
        ORDER BY 1
    LOOP
        EXECUTE format('DROP INDEX %I', key.index);
        EXECUTE format(
            'CREATE UNIQUE INDEX %I ON "user" (lower(normalize(%I, NFC) COLLATE "default"))', key.index, key.field
        );
    END LOOP;
END $do$;

-- The tables of accounts; "skyrow schema apply" does the same for the others.
SELECT _order_by_bytes('user');
ALTER TABLE _user ALTER COLUMN id TYPE text COLLATE "C";
ALTER TABLE _session ALTER COLUMN user_id TYPE text COLLATE "C";
ALTER TABLE _user_role ALTER COLUMN user_id TYPE text COLLATE "C";
