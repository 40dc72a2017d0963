-- Records that belong to others.

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
