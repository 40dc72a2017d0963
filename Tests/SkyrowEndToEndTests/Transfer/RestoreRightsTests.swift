import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What SQL of an archive may do, and what the role of the service may.
@Suite struct RestoreRightsTests {
    /// Makes an archive whose rows run a function of its own when they are restored.
    private static func withArchive(
        running statement: String,
        test: String = #function,
        _ body: (_ archive: String, _ folder: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        try await withTemporaryDatabaseAndPsql(test: test) { source in
            try await ExportTests.run("migrate", on: source)
            try await source.psql(
                """
                SET search_path = app, app_internal;
                SELECT _create_type('note');
                CREATE FUNCTION judge(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
                ALTER TABLE note ADD CONSTRAINT judged CHECK (app.judge(_id));
                INSERT INTO note (_id) VALUES ('1');
                CREATE OR REPLACE FUNCTION judge(text) RETURNS boolean LANGUAGE plpgsql AS
                    $$ BEGIN \(statement); RETURN true; END $$;
                CREATE TRIGGER shout AFTER INSERT ON note FOR EACH ROW EXECUTE FUNCTION _tombstone_deleted();
                """
            )
            try await ExportTests.run("backup", path, on: source)
        }
        try await body(path, folder.path)
    }

    @Test func anArchiveRunsNoCommandInTheEmbeddedPostgreSQL() async throws {
        // A directory that the account of PostgreSQL may write to.
        let trace = "/tmp/skyrow-archive-\(UUID().uuidString)"
        try await Self.withArchive(running: "COPY (SELECT 1) TO PROGRAM 'touch \(trace)'") { archive, folder in
            let shown = try await Tool.run("restore", archive, "--dry-run")
            let code = "did not create:\nfunction  judge(\"text\")\ntrigger  note shout\nIt was not restored. "
            #expect(shown.output.contains(code), "\(shown)")
            let data = folder + "/data"
            let result = try await Tool.run("restore", archive, "--data-directory", data)
            #expect(result.status == .exited(1))
            #expect(result.errors.contains("to COPY to or from an external program"))
            #expect(result.errors.contains("Nothing was changed."))
            #expect(!FileManager.default.fileExists(atPath: trace))
        }
    }

    @Test(arguments: [
        (
            "FUNCTION", "_revision()",
            #"RETURN ((("pg_current_xact_id"())::"text")::bigint + CASE WHEN ("pg_postmaster_start_time"() = "#
                + #"'2026-01-02 03:04:05.678901+00'::timestamp with time zone) THEN '42'::bigint ELSE GREATEST(('42'::bigint + "#
                + #"((((("pg_current_xact_id"())::"text")::bigint + '2147483648'::bigint) >> 32) + 1) << 32)), "#
                + #"(((EXTRACT(epoch FROM "pg_postmaster_start_time"()) * (1000)::numeric))::bigint - '1577836800000'::bigint) << 11) END);"#,
            true
        ),
        ("FUNCTION", "_revision()", #"RETURN (("other"())::"text")::bigint + '42'::bigint);"#, false),
        (
            "FUNCTION", "_fold(\"text\")",
            #"IMMUTABLE PARALLEL SAFE RETURN CASE WHEN ("octet_length"("value") = "length"("value")) "#
                + #"THEN ("lower"(("value" COLLATE "C")) COLLATE "C") "#
                + #"ELSE ("translate"(("lower"(("value" COLLATE "und-x-icu")) COLLATE "C"), 'ς'::"text", 'σ'::"text") "#
                + #"COLLATE "C") END;"#,
            true
        ),
        (
            "FUNCTION", "_fold(\"text\")",
            #"IMMUTABLE PARALLEL SAFE RETURN CASE WHEN ("octet_length"("value") = "length"("value")) "#
                + #"THEN "app"."shout"("value") ELSE "value" END;"#,
            false
        ),
        ("FUNCTION", "_count_epoch()", "AS $$\nBEGIN\n    PERFORM 1;\nEND $$;", false),
        (
            "FUNCTION", "_count_epoch()",
            "AS $$\nBEGIN\n    NEW.epoch := OLD.epoch + 1;\n    RETURN NEW;\nEND $$;", true
        ),
        (
            "TRIGGER", "note _tombstone_deleted",
            #"CREATE TRIGGER "_tombstone_deleted" EXECUTE FUNCTION "app"."_tombstone_deleted"();"#, true
        ),
        (
            "TRIGGER", "note _tombstone_deleted",
            #"CREATE TRIGGER "_tombstone_deleted" EXECUTE FUNCTION "app"."judge"();"#, false
        ),
        (
            "TRIGGER", "note tombstone", #"CREATE TRIGGER "tombstone" EXECUTE FUNCTION "app"."_tombstone_deleted"();"#,
            false
        ),
        ("PROCEDURE", "_tombstone_deleted()", "AS $$BEGIN END$$;", false),
        ("TABLE", "note", "CREATE TABLE note ();", true),
    ])
    func whatSkyrowMadeIsToldByItsText(kind: String, name: String, text: String, isOwn: Bool) {
        let script = """
            --
            -- Name: \(name); Type: \(kind); Schema: app; Owner: -
            --

            CREATE … LANGUAGE "x" STABLE
                \(text)

            """
        #expect(ArchiveCode.foreign(in: script).map(\.name) == (isOwn ? [] : [name]))
    }

    @Test func aRoleThatMayRunCommandsRestoresOnlyWhatIsTrusted() async throws {
        try await Self.withArchive(running: "PERFORM 1") { archive, _ in
            try await withTemporaryDatabaseAndPsql { target in
                let refused = try await Tool.run("restore", archive, "--database-url", target.url)
                #expect(refused.status == .exited(1))
                #expect(refused.errors.contains("--trust-archive"))
                #expect(try await target.psql("SELECT to_regnamespace('app') IS NULL") == "t")

                try await target.psql(
                    "CREATE ROLE \(target.name) LOGIN; ALTER DATABASE \(target.name) OWNER TO \(target.name)"
                )
                let url = target.url.replacing("user=postgres", with: "user=\(target.name)")
                let restored = try await Tool.run("restore", archive, "--database-url", url)
                #expect(restored.status == .exited(0), "\(restored.errors)")
                #expect(try await target.psql("SELECT _id FROM app.note") == "1")
                let trusted = try await Tool.run(
                    "restore",
                    archive,
                    "--replace",
                    "--trust-archive",
                    "--database-url",
                    target.url
                )
                #expect(trusted.status == .exited(0), "\(trusted.errors)")
                try await target.psql("DROP SCHEMA app CASCADE; REASSIGN OWNED BY \(target.name) TO postgres")
            }
        }
    }

    @Test func theServiceOwnsItsDatabaseAndIsNoSuperuser() async throws {
        try await withService { service in
            _ = try await service.saveNote("1")
            try await Self.expectOrdinaryRole(service)
            // What psql changes is noticed all the same.
            _ = try await service.psql("SELECT _create_type('film'); ALTER TABLE film ADD title text")
            try await waiting(until: "the service has heard of the table") {
                try await service.call("schema:fetch", "{}").contains("\"film\"")
            }
            await #expect(throws: ServiceFailure.self) {
                try await service.psql("COPY (SELECT 1) TO PROGRAM 'true'")
            }
            let administrator = try await Tool.run(
                "psql",
                "--administrator",
                "--data-directory",
                service.directory,
                "-X",
                "-At",
                "-c",
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
            )
            #expect(administrator.output == "t")
        }
    }

    /// A cluster as earlier versions made it, where everything was the superuser's.
    @Test func anEarlierClusterIsHandedOverToTheService() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        _ = try await first.saveNote("1")
        _ = try await first.psql(
            """
            CREATE TYPE mood AS ENUM ('good'); CREATE DOMAIN short AS text; CREATE TYPE pair AS (a int, b int);
            CREATE VIEW shown AS SELECT _id FROM note; CREATE SEQUENCE counter; CREATE SCHEMA other;
            CREATE TABLE other.part (id int GENERATED ALWAYS AS IDENTITY, n serial);
            CREATE STATISTICS linked ON _id, content FROM note; CREATE TABLE public.plain (m mood);
            CREATE AGGREGATE total (int) (SFUNC = int4pl, STYPE = int);
            """
        )
        _ = await first.terminate()
        let undone = try await Tool.run(
            "psql",
            "--administrator",
            "--data-directory",
            data,
            "-X",
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            """
            DROP EVENT TRIGGER skyrow_ddl_command_end; DROP EVENT TRIGGER skyrow_sql_drop;
            DROP SCHEMA skyrow_admin CASCADE;
            REASSIGN OWNED BY skyrow_service TO skyrow; DROP OWNED BY skyrow_service; DROP ROLE skyrow_service;
            SET search_path = app, app_internal; SELECT app._install_event_triggers();
            """
        )
        #expect(undone.status == .exited(0), "\(undone.errors)")
        try FileManager.default.removeItem(atPath: "\(data)/postgres/\(ClusterRole.marker)")

        let second = try await RunningService.start(in: data)
        #expect(try await second.psql("SELECT _id FROM note") == "1")
        _ = try await second.saveNote("2")
        try await Self.expectOrdinaryRole(second)
        let triggers = try await second.psql("SELECT evtname, evtfoid::regproc FROM pg_event_trigger ORDER BY 1")
        #expect(
            triggers == """
                skyrow_ddl_command_end|skyrow_admin.announce_schema
                skyrow_sql_drop|skyrow_admin.announce_schema
                """
        )
        #expect(await second.terminate() == .exited(0))
    }

    private static func expectOrdinaryRole(_ service: RunningService) async throws {
        let role = try await service.psql("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user")
        #expect(role == "skyrow_service|f")
        let others = try await service.psql(
            """
            SELECT 'relation', relname, relowner::regrole FROM pg_class
            WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace, to_regnamespace('other'), 'public'::regnamespace)
                AND relowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'type', typname, typowner::regrole FROM pg_type
            WHERE typnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace, to_regnamespace('other'), 'public'::regnamespace)
                AND typowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'function', proname, proowner::regrole FROM pg_proc
            WHERE pronamespace = 'app'::regnamespace AND proowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'statistics', stxname, stxowner::regrole FROM pg_statistic_ext
            WHERE stxowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'publication', pubname, pubowner::regrole FROM pg_publication
            WHERE pubowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'schema', nspname, nspowner::regrole FROM pg_namespace
            WHERE nspname IN ('app', 'app_internal', 'other') AND nspowner <> 'skyrow_service'::regrole
            UNION ALL
            SELECT 'database', datname, datdba::regrole FROM pg_database
            WHERE datname = current_database() AND datdba <> 'skyrow_service'::regrole
            """
        )
        #expect(others == "")
        // Changes are streamed by a role that may do nothing else, whatever the data directory was made by.
        let replication = try await service.psql(
            """
            SELECT current_setting('wal_level'), current_setting('max_wal_senders'), rolreplication, rolsuper, rolcanlogin,
                (SELECT count(*) FROM app._unpublished())
            FROM pg_roles WHERE rolname = 'skyrow_replication'
            """
        )
        #expect(replication == "logical|20|t|f|t|0")
    }
}
