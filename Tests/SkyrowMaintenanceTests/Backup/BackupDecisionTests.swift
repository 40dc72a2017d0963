import Foundation
import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
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

    private func write(_ path: String, dump: [UInt8] = Array("PGDMP and so on".utf8)) async throws -> [UInt8] {
        let writer = BackupWriter(try OutputFile(path: path), time: Timestamp(microseconds: 0))
        try await writer.add(BackupArchive.dump) { write throws(ToolError) in try write(dump) }
        try await writer.add(BackupArchive.manifest) { write throws(ToolError) in try write(Self.manifest.json) }
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

    @Test(arguments: [
        ("{\"skyrow_backup\":2}", "is an archive of version 2"), ("{}", "is damaged"),
        ("{\"skyrow_backup\":1}", "is damaged"),
    ])
    func aManifestThatIsNoneIsRefused(text: String, words: String) {
        let error = #expect(throws: ToolError.self) { try BackupManifest(json: Array(text.utf8), path: "x") }
        #expect(error?.description.contains(words) == true)
    }

    @Test func aManifestIsReadAsItWasWritten() throws {
        #expect(try BackupManifest(json: Self.manifest.json, path: "x") == Self.manifest)
    }

    @Test(arguments: [(2, "app", "up to 2"), (3, "other", "give --schema app")])
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
            DumpProgram.list(list, without: "app") == """
                ; Archive created at 2026-11-21 14:57:07 UTC
                ;     Format: CUSTOM
                3403; 0 0 COMMENT - SCHEMA "app" postgres
                2; 3079 16384 EXTENSION - pg_trgm
                218; 1259 16474 TABLE app SCHEMA postgres
                3250; 2604 16470 DEFAULT app a c postgres
                """
        )
    }
}
