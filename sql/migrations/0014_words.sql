-- The words of texts, which queries look for.

-- STRICT and without the body in the place of the call, since an index is looked up by the call. The bounds keep the words of
-- any text within those of a tsvector: a word has 2 kB there, all have 1 MB.
CREATE FUNCTION _words(value text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN array_to_tsvector(ARRAY(
        SELECT left(word, 255) FROM unnest((array_remove(regexp_split_to_array(
            left(_fold(value), 250000),
            '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u00BF\u2000-\u206F\u3000-\u303F]+' COLLATE "C"
        ), ''))[1:30000]) AS word
    ));
END $$;
COMMENT ON FUNCTION _words(text) IS 'The words of a text in lower case, as queries look for them.';
