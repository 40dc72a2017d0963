-- Access lists have at most 10,000 entries and 1 MB. Rows that are there are not looked at: one with a longer list stays
-- as it is and can be read, and cannot be changed before its list is shorter (skyrow doctor finds them).

CREATE OR REPLACE FUNCTION _reserved_columns_fit(id text, database text, access jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN CASE
        WHEN access IS NOT NULL AND jsonb_typeof(access) <> 'array' THEN false
        -- A long list makes every query slower that meets the row. Settings bound requests further.
        WHEN access IS NOT NULL AND (jsonb_array_length(access) > 10000 OR pg_column_size(access) > 1048576) THEN false
        WHEN database = '_public' THEN octet_length(id) BETWEEN 1 AND 255 AND NOT starts_with(id, '~')
        -- The wire id begins after the first slash, so the user id may hold none.
        ELSE database <> '' AND NOT starts_with(database, '_') AND strpos(database, '/') = 0
            AND starts_with(id, '~' || database || '/')
            AND octet_length(id) - octet_length(database) BETWEEN 3 AND 257
    END;
END $$;
COMMENT ON FUNCTION _reserved_columns_fit(text, text, jsonb) IS
    'Whether a public row has a plain id and a private one ~<user id>/<id>, and _access is a list of bounded length.';
