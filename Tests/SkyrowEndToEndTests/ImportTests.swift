import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

@Suite struct ImportTests {
    /// The root of the project, for its examples.
    static let project = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Imports a text as a file and hands on what came of it, with the data directory.
    static func withImport(
        _ text: String,
        name: String = "film.csv",
        _ arguments: String...,
        body: (Tool.Result, _ rows: (String) async -> String) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let path = folder.path + "/" + name
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        let words = [Tool.path, "import", path, "--type", "film", "--data-directory", data] + arguments
        let result = try await Tool.run(words: words)
        try await body(result) { query in
            do {
                let shown = try await Tool.run("psql", "--data-directory", data, "-X", "-At", "-c", query)
                return shown.output + shown.errors
            } catch {
                return "\(error)"
            }
        }
    }

    @Test func theShippedAirportsAreImportedWhileTheServiceRuns() async throws {
        try await withService { service in
            let result = try await Tool.run(
                "import",
                Self.project + "/Examples/airports.csv",
                "--type",
                "airport",
                "--id-column",
                "iata",
                "--data-directory",
                service.directory
            )
            #expect(result.status == .exited(0))
            #expect(result.output.contains("latitude   latitude   number (new)     3,376 of 3,376"))
            #expect(result.output.contains("3,376 records imported to airport in "))
            // No terminal, no progress.
            #expect(result.errors.isEmpty)

            let answer = try await service.call("record:fetch", #"{"ids":["airport/SFO"]}"#)
            #expect(answer.contains("San Francisco International"))
            let count = try await service.call(
                "record:query",
                #"{"record_type":"airport","count":true,"limit":1,"predicate":["eq",{"$type":"keypath","$val":"state"},"CA"]}"#
            )
            #expect(count.contains("_id"))
            #expect(try await service.psql("SELECT count(*) FROM airport") == "3376")
        }
    }

    @Test func aBadLineIsToldByItsNumberAndNothingIsWritten() async throws {
        try await Self.withImport("title,year\nAlien,1979\nBrazil\nThe Thing,1982\n") { result, rows in
            #expect(result.status == .exited(1))
            #expect(result.errors.contains("line 3: fields: 1, columns in the header: 2"))
            #expect(result.errors.contains("Nothing was imported."))
            #expect(await rows("SELECT count(*) FROM film").contains("does not exist"))
        }
    }

    @Test func aBadLineIsLeftOutWhenThatIsAsked() async throws {
        let text = "title,year\nAlien,1979\nBrazil\nThe Thing,1982\n"
        try await Self.withImport(text, "--continue-on-error") { result, rows in
            #expect(result.status == .exited(0))
            #expect(result.errors.contains("line 3: fields: 1, columns in the header: 2"))
            #expect(result.output.contains("2 records imported to film"))
            #expect(result.output.hasSuffix("; 1 left out"))
            #expect(await rows("SELECT title, year FROM film ORDER BY year") == "Alien|1979\nThe Thing|1982")
        }
    }

    @Test func aRecordThatPostgresRefusesIsToldByItsLineAndNothingIsWritten() async throws {
        let text = "code,title\n1,Alien\n2,Brazil\n1,Again\n"
        try await Self.withImport(text, "--id-column", "code") { result, rows in
            #expect(result.status == .exited(1))
            #expect(result.errors.contains("line 4: "))
            #expect(result.errors.hasSuffix("Nothing was imported."))
            // The type neither.
            #expect(await rows("SELECT count(*) FROM film").contains("does not exist"))
        }
    }

    @Test func recordsOfNDJSONKeepTheirTypes() async throws {
        let text = """
            {"_id": "film/1", "title": "Alien", "seen": true, "cast": ["Weaver", {"role": "Ash"}], "year": 1979}
            {"_id": "2", "title": "Brazil", "at": {"$type": "date", "$date": "1985-02-20T00:00:00Z"}, "year": 1985}

            """
        try await Self.withImport(text, name: "film.ndjson") { result, rows in
            #expect(result.status == .exited(0))
            #expect(
                await rows(#"SELECT _id, title, seen, "cast", year, at FROM film ORDER BY _id"#) == """
                    1|Alien|t|["Weaver", {"role": "Ash"}]|1979|
                    2|Brazil|||1985|1985-02-20 00:00:00+00
                    """
            )
        }
    }

    @Test func anArrayOfJSONIsImportedToo() async throws {
        try await Self.withImport(#"[{"title": "Alien"}, {"title": "Brazil"}]"#, name: "film.json") { result, rows in
            #expect(result.output.contains("2 records imported"))
            #expect(await rows("SELECT count(*) FROM film") == "2")
        }
    }

    @Test func aDryRunShowsTheTableAndWritesNothing() async throws {
        try await Self.withImport("title,year\n\"Al\nien\",1979\n", "--dry-run") { result, rows in
            #expect(result.status == .exited(0))
            #expect(result.output.contains("year    year   integer (new)  1 of 1"))
            #expect(await rows("SELECT count(*) FROM film").contains("does not exist"))
        }
    }

    @Test func aCompressedFileIsReadAsItIs() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let path = folder.path + "/film.csv"
        try "title\nAlien\n".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(try await Tool.run(words: ["gzip", path]).status == .exited(0))
        let result = try await Tool.run("import", path + ".gz", "--type", "film", "--data-directory", data)
        #expect(result.output.contains("1 records imported"))

        // Cut off in the middle, it must not pass for whole.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path + ".gz"))
        try bytes.prefix(bytes.count - 6).write(to: URL(fileURLWithPath: path + ".gz"))
        let cut = try await Tool.run("import", path + ".gz", "--type", "film", "--data-directory", data)
        #expect(cut.status == .exited(1))
        #expect(cut.errors.contains("is truncated"))
    }

    @Test(arguments: [
        (["--type", "no-name"], "--type must be"),
        ([], "Specify the record type"),
        (["--type", "film", "--format", "xml"], "--format must be one of csv, json, ndjson"),
        (["--type", "film", "--delimiter", "ab"], "--delimiter must be"),
    ])
    func aWrongFlagIsOneSentenceAndExit64(flags: [String], words: String) async throws {
        let result = try await Tool.run(words: [Tool.path, "import", "film.csv"] + flags)
        #expect(result.status == .exited(64))
        #expect(result.errors.contains(words))
    }
}
