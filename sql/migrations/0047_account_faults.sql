-- Guesses of the first code of a second factor, codes that strangers ask for, and login keys that look alike.

ALTER TABLE _factor ADD COLUMN pending_attempts integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN _factor.pending_attempts IS 'How often a code of the secret that waits was tried.';

-- Each client has a code of its own with an address, so that strangers void none.
ALTER TABLE _code ADD COLUMN client_key bytea NOT NULL DEFAULT '';
ALTER TABLE _code DROP CONSTRAINT _code_pkey;
ALTER TABLE _code ADD PRIMARY KEY (kind, address_key, client_key);
COMMENT ON TABLE _code IS 'The one-time code that a client last had sent to an address, for each kind; also for addresses without an account.';
COMMENT ON COLUMN _code.client_key IS 'The network of the client that asked; empty where it does not matter.';
COMMENT ON COLUMN _code.guesses IS 'How often digits of this kind were tried with codes of this row since guesses_since; all of an address count together.';

CREATE FUNCTION _decoded_label(label text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    digits text := lower(substr(label, 5) COLLATE "C");
    decoded text := '';
    place integer;
    point bigint := 128;
    index bigint := 0;
    former bigint;
    weight bigint;
    digit bigint;
    bias bigint := 72;
    step bigint;
    threshold bigint;
    size bigint;
BEGIN
    IF length(label) > 63 OR label COLLATE "C" !~* '^xn--[a-z0-9-]*[a-z0-9]$' THEN
        RETURN NULL;
    END IF;
    place := length(digits) - strpos(reverse(digits), '-') + 1;
    IF place <= length(digits) THEN
        decoded := left(digits, place - 1);
        digits := substr(digits, place + 1);
    END IF;
    place := 1;
    WHILE place <= length(digits) LOOP
        former := index;
        weight := 1;
        step := 36;
        LOOP
            IF place > length(digits) THEN
                RETURN NULL;
            END IF;
            digit := ascii(substr(digits, place, 1));
            digit := CASE WHEN digit >= 97 THEN digit - 97 ELSE digit - 22 END;
            place := place + 1;
            index := index + digit * weight;
            threshold := greatest(1, least(26, step - bias));
            EXIT WHEN digit < threshold;
            weight := weight * (36 - threshold);
            IF index > 1000000000 OR weight > 1000000000 THEN
                RETURN NULL;
            END IF;
            step := step + 36;
        END LOOP;
        size := length(decoded) + 1;
        weight := (index - former) / CASE WHEN former = 0 THEN 700 ELSE 2 END;
        weight := weight + weight / size;
        step := 0;
        WHILE weight > 455 LOOP
            weight := weight / 35;
            step := step + 36;
        END LOOP;
        bias := step + 36 * weight / (weight + 38);
        point := point + index / size;
        index := index % size;
        IF point > 1114111 OR point BETWEEN 55296 AND 57343 THEN
            RETURN NULL;
        END IF;
        decoded := left(decoded, index::integer) || chr(point::integer) || substr(decoded, index::integer + 1);
        index := index + 1;
    END LOOP;
    RETURN decoded;
END $$;
COMMENT ON FUNCTION _decoded_label(text) IS 'A label of an internationalised domain in letters (RFC 3492); NULL for any other.';

CREATE FUNCTION _login_domain(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT AS $$
DECLARE
    host integer;
    labels text[];
BEGIN
    IF value COLLATE "C" !~* '@[^@]*(xn--|\u3002)' THEN
        RETURN value;
    END IF;
    host := length(value) - strpos(reverse(value), '@') + 2;
    labels := string_to_array(replace(substr(value, host), U&'\3002', '.'), '.');
    FOR place IN 1..cardinality(labels) LOOP
        labels[place] := coalesce(_decoded_label(labels[place]), labels[place]);
    END LOOP;
    RETURN left(value, host - 1) || array_to_string(labels, '.');
END $$;
COMMENT ON FUNCTION _login_domain(text) IS 'A mail address with its domain in letters, where that is internationalised; any other text as it is.';

-- Two texts that people take for one login key are one here: NFKC makes one of what differs in form alone, code points that
-- show nothing are left out (Unicode's Default_Ignorable_Code_Point, and control characters), white space is one space and none at
-- an end, internationalised domains are in letters, and letters are folded. Upper case between two lower ones unites what has
-- two lower forms, such as the sigmas. ICU folds alike everywhere; a PostgreSQL without it folds as the database does.
DO $do$
BEGIN
    EXECUTE format($function$
        CREATE OR REPLACE FUNCTION _login_canonical(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN normalize(lower(upper(lower(btrim(regexp_replace(regexp_replace(
            _login_domain(normalize(value, NFKC)),
            '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F'
            '\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB'
            '\U0001BCA0-\U0001BCA3\U0001D159\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]',
            '', 'g'
        ), '[\u0009-\u000D\u0020\u0085\u1680\u2028\u2029\u2800]+', ' ', 'g')) COLLATE %s))), NFKC)
        $function$,
        CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN '"und-x-icu"' ELSE '"default"' END
    );
END $do$;

-- Accounts whose keys have become one are told apart by _login_exact_, as before: the oldest has the name from now on. The others
-- are left out of the new index by their ids, and log in with the very text they have; "skyrow doctor" names them.
DO $do$
DECLARE
    key record;
    later text;
BEGIN
    FOR key IN
        SELECT substr(index_class.relname, 12) AS field
        FROM pg_index JOIN pg_class AS index_class ON index_class.oid = indexrelid
        WHERE indrelid = '"user"'::regclass AND starts_with(index_class.relname, '_login_key_')
        ORDER BY 1
    LOOP
        EXECUTE format('DROP INDEX %I', '_login_key_' || key.field);
        EXECUTE format('DROP INDEX IF EXISTS %I', '_login_alike_' || key.field);
        EXECUTE format(
            $query$
                SELECT string_agg(quote_literal(alike._id), ', ' ORDER BY alike._id)
                FROM (
                    SELECT profile._id, row_number() OVER (
                        PARTITION BY _login_canonical(profile.%1$I) ORDER BY profile._created_at, profile._id
                    ) AS place
                    FROM "user" AS profile WHERE profile.%1$I IS NOT NULL
                ) AS alike
                WHERE alike.place > 1
            $query$,
            key.field
        ) INTO later;
        EXECUTE format(
            'CREATE UNIQUE INDEX %I ON "user" (_login_canonical(%I))%s',
            '_login_key_' || key.field, key.field, ' WHERE _id NOT IN (' || later || ')'
        );
        IF later IS NOT NULL THEN
            EXECUTE format(
                'CREATE INDEX %I ON "user" (_login_canonical(%I))', '_login_alike_' || key.field, key.field
            );
        END IF;
    END LOOP;
END $do$;
