-- A relation is a table with a row for each member. A column without a value stands for it in the type's table, whose check
-- names the table of the members: PostgreSQL keeps the object and not its name.

CREATE FUNCTION _members(type text, field text) RETURNS regclass LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT to_regclass((regexp_match(pg_get_expr(conbin, conrelid), '''([^'']+)''::regclass IS NOT NULL'))[1])
    FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
    WHERE conrelid = format('%I', type)::regclass AND contype = 'c' AND attname = field
        AND atttypid = 'boolean'::regtype
    ORDER BY conname LIMIT 1
$$;
COMMENT ON FUNCTION _members(text, text) IS 'The table of the members of a relation: SELECT _members(''post'', ''likes'').';

CREATE FUNCTION _members_name(type text, field text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE
        WHEN length(type) + length(field) < 63 THEN type || '.' || field
        ELSE left(type, 24) || '.' || left(field, 24) || '_' || left(md5(type || '.' || field), 12)
    END
$$;
COMMENT ON FUNCTION _members_name(text, text) IS 'The name of the table of the members of a relation; no type has a name with a dot.';

CREATE FUNCTION _describe_relation(type text, field text, target text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format(
        'COMMENT ON TABLE %I IS %L', _members_name(type, field), 'relation ' || type || '.' || field || ' -> ' || target
    );
    EXECUTE format(
        'COMMENT ON COLUMN %I.%I IS %L', type, field,
        'Stands for a relation; its members are in ' || quote_ident(_members_name(type, field)) || '.'
    );
END $$;
COMMENT ON FUNCTION _describe_relation(text, text, text) IS 'Says in the comments of a relation what it is.';

CREATE FUNCTION _create_relation(type text, field text, target text) RETURNS void LANGUAGE plpgsql
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
    EXECUTE format(
        'ALTER TABLE %1$I ADD COLUMN %2$I boolean CHECK (%2$I IS NULL AND %3$L::regclass IS NOT NULL)',
        type, field, quote_ident(members)
    );
    PERFORM _describe_relation(type, field, target);
END $$;
COMMENT ON FUNCTION _create_relation(text, text, text) IS
    'Adds a relation to a record type: SELECT _create_relation(''post'', ''likes'', ''user'').';

CREATE FUNCTION _rename_relation(type text, field text, new_field text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    members regclass := _members(type, field);
    target text := (
        SELECT target.relname
        FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
            JOIN pg_class AS target ON target.oid = confrelid
        WHERE conrelid = members AND contype = 'f' AND attname = '_to'
    );
BEGIN
    IF field <> new_field THEN
        EXECUTE format('ALTER TABLE %I RENAME COLUMN %I TO %I', type, field, new_field);
    END IF;
    EXECUTE format('ALTER TABLE %s RENAME TO %I', members, _members_name(type, new_field));
    PERFORM _describe_relation(type, new_field, target);
END $$;
COMMENT ON FUNCTION _rename_relation(text, text, text) IS
    'Gives a relation another name: SELECT _rename_relation(''post'', ''likes'', ''fans'').';

CREATE FUNCTION _delete_relation(type text, field text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    members regclass := _members(type, field);
BEGIN
    -- The check of the column depends on the table.
    EXECUTE format('ALTER TABLE %I DROP COLUMN %I', type, field);
    EXECUTE format('DROP TABLE %s', members);
END $$;
COMMENT ON FUNCTION _delete_relation(text, text) IS
    'Deletes a relation and what its members are, not the members: SELECT _delete_relation(''post'', ''likes'').';

-- All relations of a type, by the names of their fields.
CREATE FUNCTION _relations(type text) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT attname::text FROM pg_attribute
    WHERE attrelid = format('%I', type)::regclass AND atttypid = 'boolean'::regtype AND NOT attisdropped
        AND _members(type, attname::text) IS NOT NULL
    ORDER BY attname
$$;
COMMENT ON FUNCTION _relations(text) IS 'The relations of a record type: SELECT _relations(''post'').';

CREATE FUNCTION _rename_relations(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _rename_relation(type, field, field) FROM _relations(type) AS field;
END $$;
COMMENT ON FUNCTION _rename_relations(text) IS 'Names the tables of a type''s relations after the name that the type has now.';

CREATE FUNCTION _delete_relations(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM _delete_relation(type, field) FROM _relations(type) AS field;
END $$;
COMMENT ON FUNCTION _delete_relations(text) IS 'Deletes the relations of a record type.';

-- A question of its own, which sees what others have added while the statement around it waited for the record's row.
CREATE FUNCTION _unrelate(members regclass, owner text, ids text[]) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE _from = $1 AND _to = ANY ($2)', members) USING owner, ids;
    RETURN true;
END $$;
COMMENT ON FUNCTION _unrelate(regclass, text, text[]) IS 'Removes members from the relation of a record; true.';
