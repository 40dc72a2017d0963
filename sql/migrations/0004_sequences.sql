-- Sequence fields are unique, and a number that is written by hand moves their sequence on.

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
            PERFORM pg_advisory_xact_lock(1936423283, field.numbers::oid::integer);
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

-- Those that there are; a field that has a number twice keeps it.
DO $$
DECLARE
    type text;
BEGIN
    FOR type IN
        SELECT relname FROM pg_class
        WHERE relkind IN ('r', 'p') AND NOT relispartition AND NOT starts_with(relname, '_')
            AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
            AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = '_revision')
    LOOP
        PERFORM _keep_sequences(type);
    END LOOP;
END $$;
