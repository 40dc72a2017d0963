-- The words of a language, which queries look for by their stems.

-- The bound keeps the stems of any text within the 1 MB of a tsvector: of the worst texts a character makes some 9 bytes.
CREATE FUNCTION _words(language regconfig, value text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN to_tsvector(language, left(value, 100000));
END $$;
COMMENT ON FUNCTION _words(regconfig, text) IS 'The words of a text in a language, by their stems and places.';
