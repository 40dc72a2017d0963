-- Looks at the rows that there were before 0046_three_constraints, with a lock that readers and writers do not meet. A table with rows
-- that break the rule keeps it for new ones, and "skyrow doctor" names them.

DO $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT relname AS relation, conname AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
        WHERE NOT convalidated AND relnamespace = current_schema()::regnamespace AND conname IN (
            '_id_fits', '_database_fits', '_access_fits', '_user_default_access_check', '_role_access_check',
            '_class_option_default_access_check'
        )
        ORDER BY relname, conname
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', held.relation, held.name);
        EXCEPTION WHEN check_violation THEN
            RAISE WARNING 'Rows of % break %.', held.relation, held.name;
        END;
    END LOOP;
END $$;
