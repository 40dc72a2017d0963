-- Login keys are compared in a form in which texts that look alike are one.

-- Two texts that people take for one login key are one here: NFKC makes one of what differs in form alone, code points that
-- show nothing are left out (Unicode's Default_Ignorable_Code_Point), and letters are folded. Upper case between two
-- lower ones unites what has two lower forms, such as the sigmas. ICU folds alike everywhere; a PostgreSQL without it
-- folds as the database does.
DO $do$
BEGIN
    EXECUTE format($function$
        CREATE FUNCTION _login_canonical(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN normalize(lower(upper(lower(regexp_replace(
            normalize(value, NFKC),
            '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164'
            '\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]',
            '', 'g'
        ) COLLATE %s))), NFKC)
        $function$,
        CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN '"und-x-icu"' ELSE '"default"' END
    );
END $do$;
COMMENT ON FUNCTION _login_canonical(text) IS 'The form in which login keys are compared.';

-- Every login key keeps its index, under another name: by it two accounts whose keys have become one are told apart. Of
-- such accounts the oldest has the name from now on. The others are left out of the new index by their ids, and log in
-- with the very text they have; "skyrow doctor" names them.
DO $do$
DECLARE
    key record;
    later text;
BEGIN
    FOR key IN
        SELECT index_class.relname AS index, substr(index_class.relname, 12) AS field
        FROM pg_index JOIN pg_class AS index_class ON index_class.oid = indexrelid
        WHERE indrelid = '"user"'::regclass AND starts_with(index_class.relname, '_login_key_')
        ORDER BY 1
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', key.index, '_login_exact_' || key.field);
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
