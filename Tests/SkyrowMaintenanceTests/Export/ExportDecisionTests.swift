import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowSystem

@Suite struct ExportDecisionTests {
    private static func settings(
        _ types: [String],
        format: String? = nil,
        output: String? = nil
    ) throws -> ExportSettings {
        try ExportSettings(types: types, format: format, output: output) { $0 == "there" }
    }

    @Test(arguments: [
        (["movie"], nil, nil, ExportSettings.Destination.standardOutput, FileFormat.csv),
        (["movie"], "ndjson", "-", .standardOutput, .ndjson),
        (["movie", "movie"], nil, "movie.json", .file("movie.json"), .json),
        (["movie"], nil, "movie.ndjson.gz", .file("movie.ndjson.gz"), .ndjson),
        (["movie"], "csv", "movie.txt", .file("movie.txt"), .csv),
        (["movie"], nil, "out/", .directory("out"), .csv),
        (["movie"], "json", "there", .directory("there"), .json),
        ([], nil, "movie.json", .directory("movie.json"), .csv),
        (["movie", "actor"], nil, "out", .directory("out"), .csv),
    ])
    func flagsSayWhereRecordsGo(
        types: [String],
        format: String?,
        output: String?,
        destination: ExportSettings.Destination,
        chosen: FileFormat
    ) throws {
        let settings = try Self.settings(types, format: format, output: output)
        #expect(settings.destination == destination)
        #expect(settings.format == chosen)
    }

    @Test(arguments: [
        ([], nil, nil, "need a directory"), (["a", "b"], nil, nil, "need a directory"),
        (["a-b"], nil, nil, "--type must"),
        (["a"], "xml", nil, "--format must be one of csv, json, ndjson"),
        (["a"], nil, "a.txt", "is not clear from its name"),
        (["a"], nil, "a.tsv", "commas"), (["a"], nil, "", "--output must"),
    ])
    func wrongFlagsAreToldApart(types: [String], format: String?, output: String?, words: String) {
        let error = #expect(throws: ToolError.self) { try Self.settings(types, format: format, output: output) }
        #expect(error?.description.contains(words) == true)
        #expect(error?.status == .usage)
    }

    @Test(
        arguments: [
            ([], "out", nil), ([], "there", nil), (["movie"], "there", "leave out --type"),
            (["movie"], nil, "leave out --type"), (["movie"], "movie.csv", "leave out --type"),
            ([], nil, "need a directory"),
        ] as [([String], String?, String?)]
    )
    func filesOfAllTypesGoToADirectory(types: [String], output: String?, refusal: String?) throws {
        func settings() throws -> ExportSettings {
            try ExportSettings(types: types, format: nil, output: output, withFiles: true) { $0 == "there" }
        }
        guard let refusal else {
            #expect(try settings().withFiles)
            return
        }
        let error = #expect(throws: ToolError.self) { try settings() }
        #expect(error?.description.contains(refusal) == true)
    }

    @Test(arguments: [
        ("csv", nil, nil), ("csv", "movie.csv", nil), ("json", nil, "is for CSV"),
        ("csv", "there", "cannot read a directory"),
    ])
    func formulasAreDefusedInASingleCSVFile(format: String, output: String?, refusal: String?) throws {
        func settings() throws -> ExportSettings {
            try ExportSettings(types: ["movie"], format: format, output: output, isForSpreadsheets: true) {
                $0 == "there"
            }
        }
        guard let refusal else {
            #expect(try settings().isForSpreadsheets)
            return
        }
        let error = #expect(throws: ToolError.self) { try settings() }
        #expect(error?.description.contains(refusal) == true)
    }

    @Test func aManifestIsReadAsItWasWritten() throws {
        let entry = ExportManifest.Entry(
            type: try RecordTypeName("movie"),
            file: "movie.csv",
            records: 3,
            bytes: 90,
            fields: ["title": "string", "director": "ref(person)", "price": "unknown"],
            sequences: [try FieldName("number"): .max],
            deleteRules: [try FieldName("director"): .cascade],
            textLanguages: [try FieldName("title"): .english],
            storedTexts: [try FieldName("title")]
        )
        let manifest = ExportManifest(format: .csv, time: Timestamp(microseconds: 1), types: [entry])
        #expect(try ExportManifest(json: manifest.json, path: "x") == manifest)
        #expect(entry.knownFields.count == 2)
        // One that an older program wrote says nothing of rules and languages.
        var older = entry
        (older.deleteRules, older.textLanguages, older.storedTexts) = ([:], [:], [])
        let text = String(decoding: manifest.json, as: UTF8.self)
            .replacing(
                #","on_delete":{"director":"cascade"},"text":{"title":"english"},"stored_text":["title"]"#,
                with: ""
            )
        #expect(try ExportManifest(json: Array(text.utf8), path: "x").types == [older])
    }

    @Test(arguments: [
        ("{}", "damaged"), ("{", "damaged"), (#"{"skyrow_export":2}"#, "has version 2"),
        (#"{"skyrow_export":1,"format":"xml","exported_at":"2020-01-01T00:00:00Z","types":[]}"#, "damaged"),
        (
            #"{"skyrow_export":1,"format":"csv","exported_at":"2020-01-01T00:00:00Z","types":[{"type":"a","file":"../b","#
                + #""records":1,"bytes":1,"fields":{}}]}"#, "damaged"
        ),
        (
            #"{"skyrow_export":1,"format":"csv","exported_at":"2020-01-01T00:00:00Z","types":[{"type":"a","file":"b","#
                + #""records":1,"bytes":1,"fields":{"c":"ref(a)"},"on_delete":{"c":"ignore"}}]}"#, "damaged"
        ),
        (
            #"{"skyrow_export":1,"format":"csv","exported_at":"2020-01-01T00:00:00Z","types":[{"type":"a","file":"b","#
                + #""records":1,"bytes":1,"fields":{"c":"string"},"text":{"c":1}}]}"#, "damaged"
        ),
        (
            #"{"skyrow_export":1,"format":"csv","exported_at":"2020-01-01T00:00:00Z","types":[{"type":"a","file":"b","#
                + #""records":1,"bytes":1,"fields":{"c":"string"},"stored_text":["c"]}]}"#, "damaged"
        ),
    ])
    func aManifestThatIsNoneIsRefused(text: String, words: String) {
        let error = #expect(throws: ToolError.self) { try ExportManifest(json: Array(text.utf8), path: "x") }
        #expect(error?.description.contains(words) == true)
    }

    @Test func typesComeBeforeThoseThatReferToThem() throws {
        func entry(_ name: String, _ targets: String...) throws -> ExportManifest.Entry {
            let fields = targets.map { ("to_\($0)", "ref(\($0))") }
            return ExportManifest.Entry(
                type: try RecordTypeName(name),
                file: "",
                records: 0,
                bytes: 0,
                fields: Dictionary(uniqueKeysWithValues: fields),
                sequences: [:]
            )
        }
        let entries = [try entry("a", "b", "elsewhere"), try entry("b", "c", "b"), try entry("c", "a"), try entry("d")]
        #expect(DirectoryImport.order(entries).map(\.type.rawValue) == ["c", "b", "a", "d"])
    }

    @Test(arguments: [
        ("9", "_public", true), ("~ann/9", "ann", true), ("~ann/a/b", "ann", true), ("~ann/9", "_public", false),
        ("9", "ann", false), ("~bob/9", "ann", false), ("~ann/", "ann", false), ("", "_public", false),
        ("~_x/9", "_x", false), ("~a/b/9", "a/b", false), (String(repeating: "x", count: 256), "_public", false),
    ])
    func storedIDsFitTheirDatabase(id: String, database: String, fits: Bool) {
        #expect(StoredID.fits(id, database: database) == fits)
    }

    @Test(arguments: [
        ("_id,_database\n1,\n", "line 2: _database has no value"),
        ("_id,_database,_created_at\n1,_public,\n", "line 2: _created_at has no value"),
        ("_id,_database,_access\n1,_public,{}\n", "line 2: _access is not a list"),
        ("_id,_database,_access\n1,_public,\"[{\"\"public\"\":true}]\"\n", "line 2: _access is not a list"),
        (
            "_id,_database,_access\n1,_public,\"[{\"\"odd\"\":1,\"\"level\"\":\"\"read\"\"}]\"\n",
            "line 2: _access is not a list"
        ),
        ("_id,_database\n~ann/1,bob\n", "line 2: _id is not an id of the database 'bob'"),
    ])
    func aRowThatIsNoneIsAFault(text: String, words: String) throws {
        let (plan, _, records) = try ImportPlanTests.plan(text)
        let fault = #expect(throws: LineFault.self) { try plan.row(from: try #require(records.first).get()) }
        #expect(fault?.description.hasPrefix(words) == true, "\(String(describing: fault))")
    }

    @Test func aFileWithItsDatabasesKeepsReservedColumns() throws {
        let (plan, _, records) = try ImportPlanTests.plan(
            "_id,_database,_owner,_revision,next\nfilm/1,_public,ann,7,film/2\n~ann/1,ann,,8,~ann/2\n",
            existing: [("next", .reference(try RecordTypeName("film")))]
        )
        #expect(plan.reserved == [.id, .database, .owner])
        let rows = try records.map { try plan.row(from: $0.get()) }
        // Ids and references are taken by the letter.
        #expect(rows[0].reserved == [.string("film/1"), .string("_public"), .string("ann")])
        #expect(rows[0].values == [.string("film/2")])
        #expect(rows[1].reserved == [.string("~ann/1"), .string("ann"), nil])
        #expect(rows[1].values == [.string("~ann/2")])
        #expect(throws: ToolError.self) { try ImportPlanTests.plan("_database,code\n_public,1\n", idColumn: "code") }
    }
}
