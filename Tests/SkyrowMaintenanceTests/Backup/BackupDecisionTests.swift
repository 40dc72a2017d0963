import Foundation
import SkyrowCrypto
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

@Suite struct TarFileTests {
    @Test(arguments: [0, 1, 512, 8_589_934_591, 8_589_934_592, .max - 1])
    func aHeadIsReadAsItWasWritten(size: Int) {
        let header = TarHeader(name: "skyrow-backup/x", size: size, time: 1_700_000_000)
        #expect(TarHeader(header.block) == header)
        for place in 0..<512 {
            var block = header.block
            block[place] ^= 1
            #expect(TarHeader(block) != header, "byte \(place)")
        }
    }

    @Test(arguments: [1, 80, 100, 101, 153, 980, 1010])
    func aNameOfAnyLengthIsReadAsItWasWritten(length: Int) throws {
        let name = String(repeating: "n", count: length)
        let header = TarHeader(name: name, size: 3, time: 0)
        #expect(header.extended.isEmpty == (length <= 100))
        let archive = header.extended + header.block + Array("abc".utf8) + [UInt8](repeating: 0, count: 509 + 1024)
        func entries(_ archive: [UInt8]) throws -> [TarEntry] {
            var entries = TarEntries { offset, count throws(ToolError) in
                Array(archive[min(offset, archive.count)...].prefix(count))
            }
            var found: [TarEntry] = []
            while let entry = try entries.next() { found.append(entry) }
            return found
        }
        #expect(try entries(archive) == [TarEntry(name: name, offset: header.extended.count + 512, size: 3)])
        guard length > 100 else { return }
        for place in 0..<header.extended.count {
            var damaged = archive
            damaged[place] ^= 1
            let found = try? entries(damaged)
            // The name in the archive is compared with that of the checksums, which this value does not see.
            let isName = (512 + 9..<512 + TarPath.record(name).count - 1).contains(place)
            #expect(found == nil || isName && found?.map(\.name) != [name], "byte \(place)")
        }
    }

    @Test(arguments: [
        ("12 path=abc\n", "abc"), ("13 path=abc\n", nil), ("012 path=abc\n", nil), ("12 path=abc", nil),
        ("12 size=123\n", nil), ("12 path=abc\n12 path=abd\n", nil), ("", nil), ("9 path=\n", nil),
    ])
    func aRecordHasOneNameOfItsLength(text: String, name: String?) {
        #expect(TarPath.name(in: Array(text.utf8)) == name)
    }
}

@Suite struct BackupArchiveTests {
    private static let manifest = BackupManifest(
        schemaVersion: 3,
        postgresVersion: 15,
        time: Timestamp(microseconds: 1),
        schema: "app",
        hasSessions: false,
        tables: [.init(name: "note", rows: 2, bytes: 20, checksum: "ab")]
    )

    private func write(
        _ path: String,
        dump: [UInt8] = Array("PGDMP and so on".utf8),
        files: [(name: String, text: String)] = [],
        _ manifest: BackupManifest = Self.manifest
    ) async throws -> [UInt8] {
        let writer = try BackupWriter(try OutputFile(path: path), time: Timestamp(microseconds: 0))
        try await writer.add(BackupArchive.dump) { write throws(ToolError) in try write(dump) }
        for file in files {
            try await writer.add(BackupArchive.files + file.name) { write throws(ToolError) in
                try write(Array(file.text.utf8))
            }
        }
        try await writer.add(BackupArchive.manifest) { write throws(ToolError) in try write(manifest.json) }
        try await writer.finish()
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test func whatWasWrittenIsReadByThisProgramAndByTar() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        _ = try await write(path, dump: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let reader = try BackupReader(opening: path)
        #expect(reader.manifest == Self.manifest)
        #expect(reader.dump.size == 100_000)
        let script = "cd '\(folder.path)' && tar xf b.tar && sha256sum --check skyrow-backup/SHA256SUMS"
        let checked = try await ProgramOutput.text(of: ["sh", "-c", script])
        #expect(checked == "skyrow-backup/database.dump: OK\nskyrow-backup/manifest.json: OK\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        await #expect(throws: ToolError.self) { try await write(path) }
    }

    @Test func aChangedByteIsNoticedWhereverItIs() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        let whole = try await write(path)
        for place in stride(from: 0, to: whole.count, by: 5) {
            var bytes = whole
            bytes[place] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: ToolError.self, "byte \(place)") { try BackupReader(opening: path) }
        }
        for length in stride(from: 0, to: whole.count, by: 100) + [whole.count - 1] {
            try Data(whole.prefix(length)).write(to: URL(fileURLWithPath: path))
            #expect(throws: ToolError.self, "\(length) bytes") { try BackupReader(opening: path) }
        }
        try Data(whole).write(to: URL(fileURLWithPath: path))
        #expect(try BackupReader(opening: path).manifest == Self.manifest)
    }

    private static let files = [
        (name: FileFixture.name(1).rawValue, text: "one"), (name: FileFixture.name(2, "empty").rawValue, text: ""),
        (name: FileFixture.name(3, String(repeating: "n", count: 200) + ".jpeg").rawValue, text: "three"),
    ]

    private static var withFiles: BackupManifest {
        var manifest = manifest
        manifest.files = BackupManifest.Files(count: 3, bytes: 8)
        return manifest
    }

    @Test func filesAreReadByThisProgramAndByTar() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        _ = try await write(path, files: Self.files, Self.withFiles)
        let reader = try BackupReader(opening: path)
        #expect(reader.manifest == Self.withFiles)
        var found: [String] = []
        try await reader.eachFile { name, next, check throws(ToolError) in
            var text: [UInt8] = []
            while case let part = try next(), !part.isEmpty { text += part }
            let line = String(decoding: text, as: UTF8.self)
            try check(FileContents(size: Int64(text.count), sha256: SHA256.hash(of: line).bytes))
            found.append("\(name) \(line)")
        }
        #expect(found == Self.files.map { "\($0.name) \($0.text)" })
        await #expect(throws: ToolError.self) {
            try await reader.eachFile { _, _, check throws(ToolError) in
                try check(FileContents(size: 3, sha256: SHA256.hash(of: "another").bytes))
            }
        }
        let script = """
            cd '\(folder.path)' && tar xf b.tar && sha256sum --quiet --check skyrow-backup/SHA256SUMS && ls skyrow-backup/files
            """
        let listed = try await ProgramOutput.text(of: ["sh", "-c", script])
        #expect(listed == Self.files.map { $0.name + "\n" }.joined())
    }

    @Test func aChangedByteOfAFileIsNoticedWhereverItIs() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        let whole = try await write(path, files: Self.files, Self.withFiles)
        // The files are behind the dump, which takes two blocks.
        for place in stride(from: 1024, to: whole.count, by: 7) {
            var bytes = whole
            bytes[place] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: ToolError.self, "byte \(place)") { try BackupReader(opening: path) }
        }
        for length in stride(from: 1024, to: whole.count, by: 256) {
            try Data(whole.prefix(length)).write(to: URL(fileURLWithPath: path))
            #expect(throws: ToolError.self, "\(length) bytes") { try BackupReader(opening: path) }
        }
    }

    /// Names in an archive become paths, so they are those of files and nothing else.
    @Test(arguments: ["../../../etc/passwd", "", "a", "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-a/b"])
    func aFileWithAnotherNameIsRefused(name: String) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        var manifest = Self.manifest
        manifest.files = BackupManifest.Files(count: 1, bytes: 1)
        _ = try await write(path, files: [(name, "x")], manifest)
        #expect(throws: ToolError.self) { try BackupReader(opening: path) }
    }

    @Test(
        arguments: [nil, .init(count: 2, bytes: 8), .init(count: 3, bytes: 9), .init(count: -1, bytes: 8)]
            as [BackupManifest.Files?]
    )
    func aManifestOfOtherFilesIsRefused(files: BackupManifest.Files?) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        var manifest = Self.manifest
        manifest.files = files
        _ = try await write(path, files: Self.files, manifest)
        #expect(throws: ToolError.self) { try BackupReader(opening: path) }
    }

    /// A size that no file has must not be computed with.
    @Test(arguments: [1 << 62, .max - 1024, .max - 513, .max - 512, .max - 511, .max - 1, .max])
    func aSizeBeyondTheFileIsRefused(size: Int) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/b.tar"
        let whole = try await write(path)
        // The first file, and the second one: the dump takes two blocks.
        for start in [0, 1024] {
            let name = start == 0 ? BackupArchive.dump : BackupArchive.manifest
            var bytes = whole
            bytes.replaceSubrange(start..<start + 512, with: TarHeader(name: name, size: size, time: 0).block)
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: ToolError.self) { try BackupReader(opening: path) }
            #expect(error?.description.contains("is truncated") == true)
        }
    }

    /// Whatever bytes a head has, its numbers do no harm.
    @Test(arguments: 1...20)
    func aHeadOfAnyBytesIsReadOrRefused(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<500 {
            var header = TarHeader(name: "skyrow-backup/x", size: 0, time: 0).block
            for place in 124..<148 where Bool.random(using: &generator) {
                header[place] =
                    [0, 0x20, 0x30, 0x37, 0x80, 0xFF, UInt8.random(in: 0...255, using: &generator)]
                    .randomElement(using: &generator) ?? 0
            }
            let sum = header.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
            let digits = String(sum, radix: 8)
            let field = String(repeating: "0", count: 6 - digits.count) + digits
            header.replaceSubrange(148..<156, with: Array(field.utf8) + [0, 0x20])
            let archive = header + [UInt8](repeating: 0, count: 1024)
            var entries = TarEntries { offset, count throws(ToolError) in
                Array(archive[min(offset, archive.count)...].prefix(max(count, 0)))
            }
            while let entry = try? entries.next() { #expect(entry.offset + entry.size <= archive.count) }
        }
    }

    @Test(arguments: [(Int64.max, 1, false), (-1, 1, false), (1, Int64.max, false), (Int64.max / 2, 2, true)])
    func countsThatNoArchiveHasAreRefused(rows: Int64, bytes: Int64, isTaken: Bool) throws {
        var manifest = Self.manifest
        manifest.tables = [
            .init(name: "a", rows: Int(rows), bytes: Int(bytes), checksum: ""),
            .init(name: "b", rows: 1, bytes: 1, checksum: ""),
        ]
        let json = manifest.json
        #expect((try? BackupManifest(json: json, path: "x")) == (isTaken ? manifest : nil))
    }

    @Test(arguments: [
        ("{\"skyrow_backup\":3}", "has archive version 3"), ("{}", "is damaged"),
        ("{\"skyrow_backup\":2}", "is damaged"), ("{\"skyrow_backup\":1}", "is from before the first release"),
    ])
    func aManifestThatIsNoneIsRefused(text: String, words: String) {
        let error = #expect(throws: ToolError.self) { try BackupManifest(json: Array(text.utf8), path: "x") }
        #expect(error?.description.contains(words) == true)
    }

    @Test func aManifestIsReadAsItWasWritten() throws {
        #expect(try BackupManifest(json: Self.manifest.json, path: "x") == Self.manifest)
        #expect(try BackupManifest(json: Self.withFiles.json, path: "x") == Self.withFiles)
    }

    @Test(arguments: [(2, "app", "up to 2"), (3, "other", "add --schema app")])
    func anArchiveForAnotherPlaceIsRefused(latest: Int, schema: String, words: String) async throws {
        let folder = try TemporaryDirectory()
        _ = try await write(folder.path + "/b.tar")
        let reader = try BackupReader(opening: folder.path + "/b.tar")
        let migrations = (1...latest).map { Migration(version: $0, name: "\($0)", script: "") }
        let error = #expect(throws: ToolError.self) {
            try RestoreRun(
                reader,
                schema: schema,
                replaces: true,
                time: Timestamp(microseconds: 0),
                migrator: Migrator(migrations: migrations),
                progress: { _, _ in NoProgress() }
            )
        }
        #expect(error?.description.contains(words) == true)
    }
}

@Suite struct DumpScriptTests {
    private static let text = #"""
        --
        -- PostgreSQL database dump
        --

        \restrict abc

        SET statement_timeout = 0;

        COPY "app"."note" ("_id", "two
        lines") FROM stdin;
        1	\\.
        \\N	COPY "app"."x" FROM stdin;
        \.


        COPY "app"."a""b" ("_id") FROM stdin;
        \.

        SELECT pg_catalog.setval('"app"."n"', 7, true);

        \unrestrict abc

        """#

    private func pieces(_ text: String, size: Int) throws -> [DumpPiece] {
        var script = DumpScript()
        var pieces: [DumpPiece] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            pieces += try script.take(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return try pieces + script.take([])
    }

    @Test(arguments: [1, 2, 7, 64, 10_000])
    func rowsAreCutOutHoweverTheTextComes(size: Int) throws {
        let pieces = try pieces(Self.text, size: size)
        var lines = ""
        var count = 0
        var rest: [DumpPiece] = []
        for piece in pieces {
            if case .lines(let bytes, let more) = piece {
                lines += String(decoding: bytes, as: UTF8.self)
                count += more
            } else {
                rest.append(piece)
            }
        }
        #expect(lines == "1\t\\\\.\n\\\\N\tCOPY \"app\".\"x\" FROM stdin;\n")
        #expect(count == 2)
        #expect(rest.count == 6)
        #expect(
            rest[1] == .copy(statement: "COPY \"app\".\"note\" (\"_id\", \"two\nlines\") FROM stdin;", table: "note")
        )
        #expect(rest[3] == .copy(statement: "COPY \"app\".\"a\"\"b\" (\"_id\") FROM stdin;", table: "a\"b"))
        #expect(rest[2] == .endOfCopy && rest[4] == .endOfCopy)
        guard case .script(let first) = rest[0], case .script(let last) = rest[5] else {
            Issue.record("There are no scripts around the rows.")
            return
        }
        #expect(first.hasSuffix("SET statement_timeout = 0;\n\n"))
        #expect(!(first + last).contains("restrict"))
        #expect(last.contains("setval('\"app\".\"n\"', 7, true);"))
    }

    @Test(arguments: [
        "COPY \"a\".\"b\" (\"c\") FROM stdin;\n1\n", "COPY \"a\".\"b\" (\"c\") FROM stdin;\n1\n\\.", "COPY \"a\"",
    ])
    func rowsThatEndTooEarlyAreRefused(text: String) {
        #expect(throws: ToolError.self) { try pieces(text, size: 1000) }
    }

    @Test func commandsOfPsqlAreTakenOffAScript() {
        let script = "--\n\\restrict x\nSELECT 'a\n\\restrict y\n';\n\\unrestrict x\n"
        #expect(DumpReader.withoutCommands(script) == "--\nSELECT 'a\n\\restrict y\n';\n")
    }
}

@Suite struct DumpProgramTests {
    @Test(arguments: [
        ([15], 15, 15), ([13, 15, 17], 14, 15), ([17, 15], 15, 15), ([17], 13, 17), ([14], 15, nil), ([], 15, nil),
    ])
    func theProgramIsAsNewAsWhatItReads(installed: [Int], version: Int, chosen: Int?) throws {
        let programs = installed.map { DumpProgram(majorVersion: $0, directory: "") }
        if let chosen {
            #expect(try DumpProgram.fitting(version, among: programs).majorVersion == chosen)
        } else {
            let error = #expect(throws: ToolError.self) { try DumpProgram.fitting(version, among: programs) }
            #expect(error?.description.contains("apt-get install postgresql-client-\(version)") == true)
        }
    }

    @Test func theListLeavesOutWhatIsThereAlready() {
        let list = """
            ; Archive created at 2026-11-21 14:57:07 UTC
            ;     Format: CUSTOM
            7; 2615 16465 SCHEMA - app postgres
            3403; 0 0 COMMENT - SCHEMA "app" postgres
            2; 3079 16384 EXTENSION - pg_trgm
            3404; 0 0 COMMENT - EXTENSION "pg_trgm"
            218; 1259 16474 TABLE app SCHEMA postgres
            3250; 2604 16470 DEFAULT app a c postgres
            """
        #expect(
            DumpProgram.entries(of: list) == [
                "3403; 0 0 COMMENT - SCHEMA \"app\" postgres", "2; 3079 16384 EXTENSION - pg_trgm",
                "218; 1259 16474 TABLE app SCHEMA postgres", "3250; 2604 16470 DEFAULT app a c postgres",
            ]
        )
    }
}

@Suite struct DumpReferenceTests {
    @Test func foreignKeysBetweenTablesOfTheApplicationAreFound() {
        let script = #"""
            ALTER TABLE ONLY "app_internal"."_live_ticket"
                ADD CONSTRAINT "_live_ticket_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "app_internal"."_session"("id") ON DELETE CASCADE;


            ALTER TABLE "app"."a""b"
                ADD CONSTRAINT "x, y" FOREIGN KEY ("c, (d", "e") REFERENCES "app"."f.""g"("h", "i)") DEFERRABLE;

            ALTER TABLE ONLY "app"."visit"
                ADD CONSTRAINT "visit_fkey" FOREIGN KEY ("session") REFERENCES "app_internal"."_session"("id");

            ALTER TABLE ONLY "app"."note"
                ADD CONSTRAINT "abroad" FOREIGN KEY ("place") REFERENCES "other"."place"("id");

            ALTER TABLE ONLY "app"."note"
                ADD CONSTRAINT "note_pkey" PRIMARY KEY ("_id");

            """#
        #expect(
            DumpReference.all(in: script, of: "app") == [
                DumpReference(
                    table: "_live_ticket",
                    target: "_session",
                    removal: #"""
                        DELETE FROM "app_internal"."_live_ticket" WHERE ("session_id") IS NOT NULL AND ("session_id") NOT IN (SELECT "id" FROM "app_internal"."_session")
                        """#
                ),
                DumpReference(
                    table: "a\"b",
                    target: "f.\"g",
                    removal: #"""
                        DELETE FROM "app"."a""b" WHERE ("c, (d", "e") IS NOT NULL AND ("c, (d", "e") NOT IN (SELECT "h", "i)" FROM "app"."f.""g")
                        """#
                ),
                DumpReference(
                    table: "visit",
                    target: "_session",
                    removal: #"""
                        DELETE FROM "app"."visit" WHERE ("session") IS NOT NULL AND ("session") NOT IN (SELECT "id" FROM "app_internal"."_session")
                        """#
                ),
            ]
        )
    }
}
