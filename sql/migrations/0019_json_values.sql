-- Values inside of JSON as those of a type, by which queries compare and sort and of which indexes are made
-- (Documentation/Decisions/0050-values-inside-json.md).

-- Not STRICT, since the planner would not put a strict function's body in the place of its call.
CREATE FUNCTION _json_text(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'string' THEN value #>> '{}' END $$;
COMMENT ON FUNCTION _json_text(jsonb) IS 'The text that a value inside of JSON is; NULL for any other.';

CREATE FUNCTION _json_number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::numeric END $$;
COMMENT ON FUNCTION _json_number(jsonb) IS 'The number that a value inside of JSON is, with every digit; NULL for any other.';

CREATE FUNCTION _json_boolean(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN jsonb_typeof(value) = 'boolean' THEN value::boolean END $$;
COMMENT ON FUNCTION _json_boolean(jsonb) IS 'Whether a value inside of JSON is true; NULL for one that is no boolean.';

-- Computed here and not by a cast to timestamptz, which reads far more, depends on settings of the session and fails for what is
-- none: this one is the same for every row of an index and NULL where there is no instant. It names nothing outside of pg_catalog.
CREATE FUNCTION _json_instant(value jsonb) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    moment text;
    tail text;
    zone text := '';
    year integer;
    month integer;
    cycle integer;
    the_day date;
    days integer;
    seconds integer;
    microseconds bigint;
    since_midnight bigint;
BEGIN
    moment := CASE jsonb_typeof(value)
        WHEN 'string' THEN value #>> '{}'
        WHEN 'object' THEN CASE
            WHEN value -> '$type' = '"date"' AND jsonb_typeof(value -> '$date') = 'string' THEN value ->> '$date'
        END
    END;
    IF moment IS NULL OR octet_length(moment) > 64 THEN
        RETURN NULL;
    ELSIF moment IN ('infinity', '-infinity') THEN
        RETURN CASE moment WHEN 'infinity' THEN timestamptz 'infinity' ELSE timestamptz '-infinity' END;
    END IF;
    -- Without groups, which take ten times as long.
    IF moment !~ (
        '^(?:[0-9]{4}|[+-][0-9]{6})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'
        '[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$'
    ) COLLATE "C" OR starts_with(moment, '-000000') THEN
        RETURN NULL;
    END IF;
    -- The year is of four digits, or of a sign and six; the rest of it is behind a hyphen, "02-07T06:42:59.871181+01:00".
    year := left(moment, strpos(substr(moment, 2), '-'));
    tail := substr(moment, strpos(substr(moment, 2), '-') + 2);
    month := left(tail, 2);
    -- The calendar is the same every 400 years, so that the day is looked up in the years from 2000 to 2399.
    cycle := floor((year - 2000) / 400.0);
    the_day := make_date(year - 400 * cycle, month, 1) + (substr(tail, 4, 2)::integer - 1);
    days := the_day - date '2000-01-01' + 146097 * cycle;
    -- Days that no offset brings into the range are left out before their microseconds exceed 64 bits.
    IF date_part('month', the_day) <> month OR days NOT BETWEEN -2451546 AND 106751984 THEN
        RETURN NULL;
    END IF;
    seconds := 3600 * substr(tail, 7, 2)::integer + 60 * substr(tail, 10, 2)::integer + substr(tail, 13, 2)::integer;
    tail := rtrim(substr(tail, 15), 'Zz');
    IF right(tail, 6) ~ '^[+-]' THEN
        zone := right(tail, 6);
        tail := left(tail, -6);
        seconds := seconds - (left(zone, 1) || '1')::integer
            * (3600 * substr(zone, 2, 2)::integer + 60 * right(zone, 2)::integer);
    END IF;
    -- Half a microsecond and more is one.
    microseconds := 86400000000 * days + 1000000::bigint * seconds + rpad(substr(tail, 2, 6), 6, '0')::integer
        + (substr(tail, 8, 1) IN ('5', '6', '7', '8', '9'))::integer;
    -- What timestamptz holds.
    IF microseconds < -211813488000000000 OR microseconds >= 9223371331200000000 THEN
        RETURN NULL;
    END IF;
    -- The day has to be one of timestamp by itself, so that the rest is behind its midnight.
    since_midnight := (microseconds % 86400000000 + 86400000000) % 86400000000;
    days := (microseconds - since_midnight) / 86400000000;
    RETURN (timestamp '2000-01-01' + (days * interval '1 day' + since_midnight * interval '1 microsecond'))
        AT TIME ZONE interval '0';
END $$;
COMMENT ON FUNCTION _json_instant(jsonb) IS
    'The instant that a value inside of JSON is, a text of RFC 3339 with an offset or {"$type": "date", "$date": text}; NULL for any other.';
