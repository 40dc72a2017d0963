/// The statements that prepare the embedded PostgreSQL for the service, as its administrator.
package enum ClusterScript {
    /// Makes the service's role and gives it the administrator's objects in the database. It may run repeatedly.
    ///
    /// It runs in single-user mode (`postgres --single -j`), without event triggers and other connections. A statement ends
    /// with a semicolon and an empty line. No grant names a role, since a dump would include the name, and other clusters lack
    /// the role. REASSIGN OWNED refuses the superuser made by initdb. Extensions' objects stay the administrator's, as do
    /// functions of event triggers, which run with the privileges of the role that changes a table.
    ///
    /// - Parameters:
    ///   - administrator: the superuser that initdb makes.
    ///   - service: the role of the service.
    ///   - replication: the role that streams changes.
    package static func make(administrator: String, service: String, replication: String, database: String) -> String {
        """
        SET search_path = pg_catalog, pg_temp;

        DO $roles$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(service)') THEN
                CREATE ROLE \(service);
            END IF;
        END $roles$;

        ALTER ROLE \(service) LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS;

        DO $roles$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(replication)') THEN
                CREATE ROLE \(replication);
            END IF;
        END $roles$;

        ALTER ROLE \(replication) LOGIN REPLICATION NOSUPERUSER NOCREATEROLE NOCREATEDB NOBYPASSRLS;

        GRANT pg_read_all_settings, pg_read_all_stats TO \(service);

        ALTER DATABASE \(database) OWNER TO \(service);

        DO $owners$ DECLARE
            item record;
        BEGIN
            FOR item IN
                WITH administrator AS (SELECT oid FROM pg_roles WHERE rolname = current_user),
                home AS (
                    SELECT oid FROM pg_namespace
                    WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'skyrow_admin')
                ),
                owned (class, object) AS (
                    SELECT 'pg_namespace'::regclass, oid FROM pg_namespace
                    WHERE oid IN (TABLE home) AND nspowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_class'::regclass, oid FROM pg_class
                    WHERE relnamespace IN (TABLE home) AND relowner = (TABLE administrator)
                        AND (relkind IN ('r', 'p', 'v', 'm', 'f') OR relkind = 'S' AND NOT EXISTS (
                            SELECT FROM pg_depend
                            WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('a', 'i')
                                AND refclassid = 'pg_class'::regclass
                        ))
                    UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type
                    WHERE typnamespace IN (TABLE home) AND typowner = (TABLE administrator)
                        AND (typtype IN ('b', 'd', 'e', 'r') AND typelem = 0 OR typtype = 'c' AND EXISTS (
                            SELECT FROM pg_class WHERE pg_class.oid = typrelid AND relkind = 'c'
                        ))
                    UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc
                    WHERE pronamespace IN (TABLE home) AND proowner = (TABLE administrator)
                        AND (prorettype <> 'event_trigger'::regtype OR proname = '_announce_schema')
                    UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator
                    WHERE oprnamespace IN (TABLE home) AND oprowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_collation'::regclass, oid FROM pg_collation
                    WHERE collnamespace IN (TABLE home) AND collowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_conversion'::regclass, oid FROM pg_conversion
                    WHERE connamespace IN (TABLE home) AND conowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext
                    WHERE stxnamespace IN (TABLE home) AND stxowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_ts_config'::regclass, oid FROM pg_ts_config
                    WHERE cfgnamespace IN (TABLE home) AND cfgowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_ts_dict'::regclass, oid FROM pg_ts_dict
                    WHERE dictnamespace IN (TABLE home) AND dictowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_opfamily'::regclass, oid FROM pg_opfamily
                    WHERE opfnamespace IN (TABLE home) AND opfowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_opclass'::regclass, oid FROM pg_opclass
                    WHERE opcnamespace IN (TABLE home) AND opcowner = (TABLE administrator)
                    UNION ALL SELECT 'pg_publication'::regclass, oid FROM pg_publication
                    WHERE pubname ~ '^skyrow_' AND pubowner = (TABLE administrator)
                )
                SELECT identity, CASE type
                    WHEN 'composite type' THEN 'TYPE'
                    WHEN 'statistics object' THEN 'STATISTICS'
                    ELSE upper(type)
                END AS kind
                FROM owned, pg_identify_object(class, object, 0)
                WHERE NOT EXISTS (
                    SELECT FROM pg_depend WHERE classid = class AND objid = object AND deptype = 'e'
                )
            LOOP
                EXECUTE format('ALTER %s %s OWNER TO \(service)', item.kind, item.identity);
            END LOOP;
        END $owners$;

        CREATE SCHEMA IF NOT EXISTS skyrow_admin;

        COMMENT ON SCHEMA skyrow_admin IS 'What the administrator of the cluster keeps for Skyrow.';

        CREATE OR REPLACE FUNCTION skyrow_admin.announce_schema() RETURNS event_trigger LANGUAGE plpgsql
        SET search_path = pg_catalog, pg_temp AS $announce$
        BEGIN
            -- Every role hears it, and it says nothing that pg_class does not show.
            IF current_setting('skyrow.announced', true) IS DISTINCT FROM 'on' AND (CASE TG_EVENT
                WHEN 'sql_drop' THEN EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE schema_name !~ '^pg_')
                ELSE EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE schema_name !~ '^pg_')
            END) THEN
                PERFORM pg_notify('skyrow_schema', '');
            END IF;
        END $announce$;

        COMMENT ON FUNCTION skyrow_admin.announce_schema() IS 'Tells every process that a schema was changed by hand.';

        GRANT USAGE ON SCHEMA skyrow_admin TO PUBLIC;

        REVOKE USAGE ON SCHEMA skyrow_admin FROM \(service);

        CREATE OR REPLACE FUNCTION skyrow_admin.create_postgis() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS $postgis$
        BEGIN
            IF session_user NOT IN ('\(service)', '\(administrator)') THEN
                RAISE EXCEPTION 'The role % may not create extensions.', session_user USING ERRCODE = 'insufficient_privilege';
            END IF;
            \(PostGIS.creation)
        END $postgis$;

        COMMENT ON FUNCTION skyrow_admin.create_postgis() IS
            'Makes the extension that fields of the types location and geometry need.';

        GRANT EXECUTE ON FUNCTION skyrow_admin.create_postgis() TO PUBLIC;

        REVOKE EXECUTE ON FUNCTION skyrow_admin.create_postgis() FROM \(service);

        DO $triggers$ DECLARE
            name name;
        BEGIN
            FOR name IN SELECT evtname FROM pg_event_trigger WHERE evtname ~ '^skyrow_(ddl_command_end|sql_drop)' LOOP
                EXECUTE format('DROP EVENT TRIGGER %I', name);
            END LOOP;
            CREATE EVENT TRIGGER skyrow_ddl_command_end ON ddl_command_end
                EXECUTE FUNCTION skyrow_admin.announce_schema();
            CREATE EVENT TRIGGER skyrow_sql_drop ON sql_drop EXECUTE FUNCTION skyrow_admin.announce_schema();
        END $triggers$;

        """
    }
}
