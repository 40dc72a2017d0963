import Foundation
import Logging
import SkyrowClient
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowStore
@testable import SkyrowSystem
@testable import skyrow

/// What is backed up comes back as it was, and what cannot come back changes nothing.
@Suite struct BackupTests {
    /// Prints every row of every table of the application, and what a DBA would see of the tables.
    private static let contents = #"""
        SET search_path = app, app_internal; SET timezone = 'UTC';
        SELECT format(
            'SELECT %L; COPY (SELECT %s FROM %I AS t ORDER BY t::text COLLATE "C") TO STDOUT (FORMAT csv, FORCE_QUOTE *)',
            table_name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position), table_name
        ) FROM information_schema.columns
        WHERE table_schema IN ('app', 'app_internal') AND table_name NOT IN (
            '_meta', '_session', '_code', '_mail', '_pending_login', '_live_ticket', '_flow', '_upload', '_sessions', '_mails'
        )
        GROUP BY table_name ORDER BY table_name COLLATE "C"
        \gexec
        SELECT indexdef FROM pg_indexes WHERE schemaname IN ('app', 'app_internal') ORDER BY 1;
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), condeferrable FROM pg_constraint
        WHERE connamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) ORDER BY 1, 2;
        SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
            pg_get_expr(adbin, adrelid), col_description(pg_class.oid, attnum), obj_description(pg_class.oid, 'pg_class')
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
        ORDER BY relname, attname;
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal AND tgrelid IN (
            SELECT oid FROM pg_class WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace)
        ) ORDER BY 1, 2;
        SELECT proname, md5(prosrc), translate(proconfig::text, '\"', ''), obj_description(oid, 'pg_proc') FROM pg_proc
        WHERE pronamespace = 'app'::regnamespace AND proname <> '_revision' ORDER BY 1, 2;
        SELECT sequencename, last_value FROM pg_sequences WHERE schemaname IN ('app', 'app_internal') ORDER BY 1;
        SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = 'app'::regnamespace AND relkind = 'v' ORDER BY 1;
        """#

    /// What somebody has made by hand beside the nasty records.
    private static let additions = #"""
        SET search_path = app, app_internal; SET client_min_messages = warning;
        CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
        ALTER TABLE note ADD price numeric(10, 3), ADD judged boolean GENERATED ALWAYS AS (score IS NOT NULL) STORED,
            ADD CONSTRAINT cheap CHECK (price < 100),
            ADD CONSTRAINT spoken CHECK (title IS NULL OR 'pg_catalog.english'::regconfig IS NOT NULL);
        UPDATE note SET price = 1.50 WHERE _id = '1';
        CREATE INDEX by_title ON note USING gin (title public.gin_trgm_ops);
        CREATE INDEX by_words ON note USING gin (_words('pg_catalog.english', title));
        COMMENT ON INDEX by_title IS 'Found by parts.';
        COMMENT ON TABLE note IS 'What ann''s people note; \.
        COPY "app"."note" ("_id") FROM stdin;';
        CREATE VIEW shown AS SELECT _id, title FROM note;
        INSERT INTO _role VALUES ('editor', true, false);
        INSERT INTO _user_role VALUES ('ann', 'editor');
        INSERT INTO _session (token_hash, user_id) VALUES ('\x0102', 'ann');
        INSERT INTO _live_ticket SELECT '\x05', id, now(), now() + '1 min' FROM _session;
        INSERT INTO _flow (hash, kind, purpose, provider, challenge, redirect, user_id, session_id, expires_at)
        SELECT sha256('f'), 'state', 'link', 'google', repeat('c', 43), 'app:/', user_id, id, now() + '10 min' FROM _session;
        INSERT INTO _code (
            kind, address_key, id, user_id, epoch, target, language, link_hash, digits_hash, link_expires_at, digits_expire_at
        ) VALUES ('reset', '\x01', '\x02', 'ann', 0, 'ann@example.org', '', '\x03', '\x04', now() + '1 h', now() + '15 min');
        INSERT INTO _identity (provider, subject, user_id, profile) VALUES ('google', '1', 'ann', '{"name": "Ann"}');
        INSERT INTO _used_token VALUES (sha256('1'), now() + interval '1 h');
        INSERT INTO _mail (kind, user_id, target, language, digits) VALUES ('reset', 'ann', 'ann@example.org', '', '012345');
        INSERT INTO _pending_login (handle_hash, user_id, epoch, expires_at) VALUES ('h', 'ann', 0, now());
        INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at) VALUES ('ann', 'totp', 's', now());
        INSERT INTO _password_history (user_id, hash) VALUES ('ann', 'former');
        INSERT INTO _idempotency VALUES ('ann', 'key', '\x01', '\x7b7d');
        INSERT INTO _asset (name, filename, content_type, size, state, stored_at, owner, unreferenced_since)
        VALUES (gen_random_uuid() || '-a.png', 'ä.png', 'image/png', 3, 'stored', now(), 'ann', now());
        INSERT INTO _garbage (name, storage) VALUES (gen_random_uuid() || '-b.png', 'local');
        INSERT INTO _asset (name, filename, content_type, size, state, expires_at)
        VALUES (gen_random_uuid() || '-c.png', 'c.png', 'image/png', 3, 'expected', now() + '1 day');
        INSERT INTO _upload (id, name, incoming, metadata)
        SELECT gen_random_uuid(), name, gen_random_uuid(), '' FROM _asset WHERE state = 'expected';
        DELETE FROM note WHERE _id = '$1';
        SELECT _create_relation('note', 'likes', 'note');
        INSERT INTO "note.likes" SELECT a._id, b._id FROM note AS a JOIN note AS b ON a._database = b._database;
        ALTER TABLE note ADD _parent text COLLATE "C" REFERENCES note ON DELETE CASCADE DEFERRABLE;
        SELECT _keep_parent('note');
        ALTER TABLE note ADD _words_title tsvector GENERATED ALWAYS AS (_words('pg_catalog.english', title)) STORED;
        CREATE INDEX ON note USING gin (_words_title);
        UPDATE note SET _parent = (SELECT max(_id) FROM note AS b WHERE b._database = note._database AND b._id > note._id);
        """# + functions

    /// A function of the database that clients may call, and what a function server has registered.
    static let functions = #"""
        SET search_path = app, app_internal;
        CREATE FUNCTION titled(minimum bigint DEFAULT 0) RETURNS SETOF note LANGUAGE sql STABLE
        AS 'SELECT * FROM app.note WHERE stars >= minimum';
        SELECT _expose('titled', 'roles', 'game:titled', '{editor}', '3 s');
        INSERT INTO _function_server (name, digest, registration)
        VALUES ('referee', sha256('r'), '{"hook": [{"name": "whistle"}]}');
        """#

    /// Runs `body` with a database of nasty records and an empty one.
    private static func withDatabases(
        test: String = #function,
        _ body: (_ source: TemporaryDatabase, _ target: TemporaryDatabase, _ folder: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(test: test) { source in
            try await withTemporaryDatabaseAndPsql(test: test) { target in
                try await ExportTests.run("migrate", on: source)
                try await source.psql(NastyRecords.statements)
                try await source.psql(additions)
                try await body(source, target, folder.path)
            }
        }
    }

    /// The lines that only one of two texts has, as many as one wants to read.
    private static func difference(_ before: String, _ after: String) -> [String] {
        let (before, after) = (before.split(separator: "\n"), after.split(separator: "\n"))
        let lines = before.difference(from: after).map { change in
            switch change {
            case .insert(_, let line, _): "- \(line)"
            case .remove(_, let line, _): "+ \(line)"
            }
        }
        return Array(lines.prefix(20))
    }

    /// Runs a restore that must be refused, and requires that it changed nothing.
    private static func refuse(
        _ archive: String,
        _ arguments: String...,
        on target: TemporaryDatabase,
        because words: String,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let state =
            "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_proc), xmin FROM pg_namespace ORDER BY oid"
        let before = try await target.psql(state)
        let result = try await Tool.run(
            words: [Tool.path, "restore", archive, "--database-url", target.url, "--trust-archive"] + arguments
        )
        #expect(result.status == .exited(1), sourceLocation: location)
        #expect(result.errors.contains(words), "\(result.errors)", sourceLocation: location)
        #expect(try await target.psql(state) == before, sourceLocation: location)
    }

    @Test(arguments: [false, true])
    func everyRowOfEveryTableComesBack(withSessions: Bool) async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/b.tar"
            let flags = withSessions ? ["--with-sessions"] : []
            let made = try await Tool.run(
                words: [Tool.path, "backup", path, "--database-url", source.url, "--json"] + flags
            )
            let summary = try #require(try JSONSerialization.jsonObject(with: Data(made.output.utf8)) as? [String: Any])
            let tables = try #require(summary["tables"] as? [[String: Any]])
            #expect(tables.first { $0["name"] as? String == "note" }?["rows"] as? Int == 14)
            #expect(summary["bytes"] as? Int == (try Data(contentsOf: URL(fileURLWithPath: path))).count)

            let restored = try await ExportTests.run("restore", path, "--keep-sessions", on: target)
            #expect(restored.output.contains(" tables restored in "))
            #expect(restored.output.hasSuffix("'skyrow files verify' lists those that are missing."))
            let before = try await source.psql(Self.contents)
            let after = try await target.psql(Self.contents)
            #expect(Self.difference(before, after) == [])
            #expect(
                before.contains("by_title") && before.contains("by_words") && before.contains("spoken")
                    && before.contains("editor") && before.contains("Found by parts.") == false
            )
            for table in ["_session", "_code", "_mail", "_pending_login", "_live_ticket", "_flow", "_upload"] {
                let count = try await target.psql("SELECT count(*) FROM app_internal.\(table)")
                #expect(count == (withSessions ? "1" : "0"), "\(table)")
            }
            #expect(try await target.psql("SELECT obj_description('app.by_title'::regclass)") == "Found by parts.")
            #expect(["game:titled", "referee", "whistle"].allSatisfy { before.contains($0) })
            let exposed = try await target.psql("SELECT name, fault IS NULL FROM app._exposed()")
            #expect(exposed == "game:titled|t")

            // The next revision is beyond all that were restored, those of deletions too.
            let order = try await target.psql(
                """
                SET search_path = app, app_internal;
                INSERT INTO note (_id) VALUES ('next');
                SELECT _revision > (SELECT max(_revision) FROM note WHERE _id <> 'next')
                    AND _revision > (SELECT max(revision) FROM _tombstone) FROM note WHERE _id = 'next';
                """
            )
            #expect(order == "t")

            // Now that there is something, only --replace puts it back again.
            try await Self.refuse(path, on: target, because: "--replace")
            try await ExportTests.run("restore", path, "--replace", "--keep-sessions", on: target)
            let replaced = try await target.psql(Self.contents)
            #expect(Self.difference(before, replaced) == [])
        }
    }

    @Test func anAccountLogsInAfterARestoreOnANewMachine() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        var revision: Int64 = 0
        try await withService { service in
            let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            _ = try await ann.signUp(["username": "ann"], password: "correct horse")
            _ = try await ann.privateDatabase.save(RecordDraft("note/1", ["title": "Milk"]))
            revision = try #require(
                try await ann.publicDatabase.save(RecordDraft("note/1", ["title": "Beer"])).revision
            )
            // The service goes on meanwhile.
            let made = try await Tool.run("backup", path, "--data-directory", service.directory)
            #expect(made.output.contains(" tables backed up to \(path), "), "\(made.errors)")
            _ = try await service.saveNote("later")

            let refused = try await Tool.run("restore", path, "--replace", "--data-directory", service.directory)
            #expect(refused.status == .exited(1))
            #expect(refused.errors.contains("(process \(service.process.processID)) is running on"))
            #expect(try await service.saveNote("unharmed") == "unharmed")
        }
        let data = folder.path + "/new"
        let restored = try await Tool.run("restore", path, "--data-directory", data)
        #expect(restored.status == .exited(0), "\(restored.errors)")
        let service = try await RunningService.start(in: data)
        let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
        _ = try await ann.logIn(["username": "ann"], password: "correct horse")
        let note = try RecordID("note/1")
        #expect(try await ann.privateDatabase.fetch(note).fields == [try FieldName("title"): .string("Milk")])
        let saved = try await ann.publicDatabase.save(RecordDraft("note/1", ["title": "Wine"]))
        #expect(saved.revision ?? 0 > revision)
        #expect(try await service.psql("SELECT count(*) FROM note WHERE _id IN ('later', 'unharmed')") == "0")
        #expect(await service.terminate() == .exited(0))
    }

    @Test func anArchiveIsOfOneMoment() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { source in
            try await withTemporaryDatabaseAndPsql { target in
                try await ExportTests.run("migrate", on: source)
                try await source.psql(
                    """
                    SET search_path = app, app_internal; SET client_min_messages = warning;
                    SELECT _create_type('giver'), _create_type('taker');
                    ALTER TABLE giver ADD sum bigint; ALTER TABLE taker ADD sum bigint;
                    INSERT INTO giver (_id, sum) SELECT n, 1000 FROM generate_series(1, 5000) AS n;
                    INSERT INTO taker (_id, sum) SELECT n, 0 FROM generate_series(1, 5000) AS n;
                    """
                )
                try await withPostgresClient(source.url) { client in
                    let done = Counter()
                    let transfers = (1...4).map { seed in
                        Task {
                            var generator = SeededGenerator(seed: UInt64(seed))
                            while !Task.isCancelled {
                                let (from, to) = (
                                    "\(Int.random(in: 1...5000, using: &generator))",
                                    "\(Int.random(in: 1...5000, using: &generator))"
                                )
                                try await client.withTransaction { transaction in
                                    try await transaction.execute(
                                        "UPDATE app.giver SET sum = sum - 1 WHERE _id = \(from)"
                                    )
                                    try await transaction.execute(
                                        "UPDATE app.taker SET sum = sum + 1 WHERE _id = \(to)"
                                    )
                                }
                                done.increment()
                            }
                        }
                    }
                    try await waiting(until: "transfers are made", hearing: [done]) { done.value >= 100 }
                    try await ExportTests.run("backup", folder.path + "/b.tar", on: source)
                    let atTheEnd = done.value
                    try await waiting(until: "transfers are made after the backup too", hearing: [done]) {
                        done.value > atTheEnd
                    }
                    for transfer in transfers { transfer.cancel() }
                    for transfer in transfers {
                        do {
                            try await transfer.value
                        } catch is CancellationError {
                            // The transfer that ran at that moment was rolled back.
                        }
                    }
                }
                try await ExportTests.run("restore", folder.path + "/b.tar", on: target)
                let sums = try await target.psql(
                    """
                    SELECT (SELECT sum(sum) FROM app.giver) + (SELECT sum(sum) FROM app.taker),
                        (SELECT sum(sum) FROM app.taker) > 0
                    """
                )
                #expect(sums == "5000000|t")
            }
        }
    }

    @Test func whatCannotComeBackChangesNothing() async throws {
        try await Self.withDatabases { source, target, folder in
            // A view that shows what the other database does not have.
            try await source.psql(
                "CREATE FUNCTION public.secret() RETURNS int LANGUAGE sql RETURN 1; CREATE VIEW app.hidden AS SELECT public.secret()"
            )
            let path = folder + "/b.tar"
            try await ExportTests.run("backup", path, on: source)
            try await Self.refuse(path, on: target, because: "PostgreSQL rejected the contents of")
            try await ExportTests.run("migrate", on: target)
            try await target.psql("SELECT app._create_type('film'); INSERT INTO app.film (_id) VALUES ('1')")
            try await Self.refuse(path, on: target, because: "(film)")
            try await Self.refuse(path, "--replace", on: target, because: "Nothing was changed.")
            #expect(try await target.psql("SELECT _id FROM app.film") == "1")

            try await target.psql("CREATE FUNCTION public.secret() RETURNS int LANGUAGE sql RETURN 1")
            try await target.psql("CREATE VIEW public.films AS SELECT * FROM app.film")
            try await Self.refuse(path, "--replace", on: target, because: "public.films. Drop them first")
            try await target.psql("DROP VIEW public.films")

            // A service of this schema counts, one of another does not.
            for (schema, isRefused) in [("app", true), ("other", false)] {
                try await withPostgresClient(target.url) {
                    $0.applicationName = PostgresConfiguration.serviceName(of: try! SQLIdentifier(schema))
                } _: { client in
                    _ = try await client.read("SELECT 1")
                    if isRefused {
                        try await Self.refuse(
                            path,
                            "--replace",
                            on: target,
                            because: "A service is using the schema app"
                        )
                    } else {
                        try await ExportTests.run("restore", path, "--replace", on: target)
                    }
                }
            }
            #expect(try await target.psql("SELECT to_regclass('app.film') IS NULL, count(*) FROM app.note") == "t|14")
        }
    }

    @Test func damagedArchivesAreRefusedBeforeAnythingIsTouched() async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/b.tar"
            try await ExportTests.run("backup", path, on: source)
            let again = try await Tool.run("backup", path, "--database-url", source.url)
            #expect(again.errors.contains("--overwrite"))
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            func refuse(_ bytes: Data, _ words: String) async throws {
                let other = folder + "/other.tar"
                try bytes.write(to: URL(fileURLWithPath: other))
                try await Self.refuse(other, "--replace", on: target, because: words)
            }
            var flipped = whole
            flipped[whole.count / 2] ^= 4
            try await refuse(flipped, "is damaged: its checksums do not match")
            try await refuse(whole.prefix(whole.count / 2), "is truncated")
            try await refuse(Data("no archive at all".utf8), "is not a backup of skyrow")
            try await Self.refuse(folder + "/none.tar", on: target, because: "No such file")
            let shown = try await Tool.run("restore", path, "--dry-run")
            #expect(shown.output.contains("is complete: created 20"))
            #expect(shown.output.contains("note  14"))
            let leftOut = "_code, _flow, _live_ticket, _mail, _pending_login, _session, _upload"
            #expect(shown.output.contains("\nLeft out: \(leftOut).\n"))
            #expect(shown.output.contains("\nIt was not restored. "))
        }
    }

    /// Archives of earlier versions have live tickets without the sessions that these belong to.
    @Test func anArchiveWithTicketsOfSessionsThatItLacksIsRestored() async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/b.tar"
            let program = try #require(await DumpProgram.installed().min { $0.majorVersion < $1.majorVersion })
            let words = program.dump(
                schema: "app",
                internal: "app_internal",
                extensions: ["pg_trgm"],
                leftOut: ["_session", "_code", "_mail", "_pending_login", "_flow"]
            )
            let dump = folder + "/dump"
            _ = try await ProgramOutput.text(of: words + ["--file=\(dump)", source.url])
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: dump)))
            let writer = try BackupWriter(try OutputFile(path: path), time: Timestamp(microseconds: 0))
            try await writer.add(BackupArchive.dump) { write throws(ToolError) in try write(bytes) }
            let entry = TarEntry(name: "", offset: 0, size: bytes.count)
            let rows = try await DumpReader(path: dump, entry: entry, program: program).rows()
            while try await rows.next() != nil {}
            let manifest = BackupManifest(
                schemaVersion: rows.schemaVersion,
                postgresVersion: program.majorVersion,
                time: Timestamp(microseconds: 0),
                schema: "app",
                hasSessions: false,
                tables: rows.tables
            )
            #expect(rows.tables.first { $0.name == "_live_ticket" }?.rows == 1)
            let text = String(decoding: manifest.json, as: UTF8.self)
            let old = text.replacingOccurrences(of: #","left_out":[]"#, with: "")
            #expect(old != text)
            try await writer.add(BackupArchive.manifest) { write throws(ToolError) in try write(Array(old.utf8)) }
            try await writer.finish()

            try await ExportTests.run("restore", path, "--keep-sessions", on: target)
            #expect(Self.difference(try await source.psql(Self.contents), try await target.psql(Self.contents)) == [])
            #expect(try await target.psql("SELECT count(*) FROM app_internal._live_ticket") == "0")
        }
    }

    @Test func anOlderArchiveIsBroughtUpToDateAndANewerDatabaseIsNotBackedUp() async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/b.tar"
            try await ExportTests.run("backup", path, on: source)
            let later = Migration(version: 9001, name: "9001_later", script: "ALTER TABLE _user ADD shoe_size bigint")
            let run = try RestoreRun(
                try BackupReader(opening: path),
                schema: "app",
                replaces: false,
                trusts: true,
                time: Timestamp(microseconds: 0),
                migrator: Migrator(migrations: Migration.all + [later]),
                progress: Progress.maker
            )
            let settings = try SettingsLoader(flags: ["database-url": target.url], environment: [:]).load()
            try await withDatabase(settings, use: .alone) { database throws(ToolError) in
                let (summary, steps) = try await run(database.forBackup())
                #expect(steps.contains(.migrate(later)))
                #expect(summary.rows > 20)
            }
            let migrated = try await target.psql("SELECT count(shoe_size), count(*) FROM app_internal._user")
            #expect(migrated == "0|2")

            // What that database has is beyond the present program.
            let refused = try await Tool.run("backup", folder + "/newer.tar", "--database-url", target.url)
            #expect(refused.status == .exited(1))
            #expect(refused.errors.contains("schema version 9001"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/newer.tar"))
        }
    }

    @Test func whereThereIsNothingThereIsNoBackup() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabase { url in
            let result = try await Tool.run("backup", folder.path + "/b.tar", "--database-url", url)
            #expect(result.status == .exited(1))
            #expect(result.errors == "skyrow: The schema app has no application: start the service first.")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }
}
