import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct ImportTests {
    private let fields = ["title", "stars", "score", "done", "due", "tags", "data", "category", "next", "photo"].map(
        field
    )

    private func row(_ line: Int, id: String? = nil, _ values: [String: RecordValue] = [:]) -> ImportRow {
        ImportRow(line: line, id: id, values: fields.map { values[$0.rawValue] })
    }

    private func stream(_ rows: [ImportRow]) -> AsyncStream<ImportRow> {
        AsyncStream { continuation in
            for row in rows { continuation.yield(row) }
            continuation.finish()
        }
    }

    @Test func everyTypeOfValueIsImportedAsItWouldBeSaved() async throws {
        try await withRecords { f in
            try await f.save("category/home")
            var values = RecordsFixture.everyValue
            values["serial"] = nil
            let summary = try await f.store.importRecords(
                stream([row(1, id: "a", values), row(2), row(3, id: "c", ["stars": .number(3), "score": .integer(4)])]),
                to: ImportColumns(type: type("note"), fields: fields)
            )
            #expect(summary.imported == 3)
            let record = try #require(try await f.fetch("note/a", .anonymous))
            #expect(record.owner == nil && record.access == nil)
            #expect(record.revision != nil && record.createdAt != nil)
            #expect(
                record.fields.filter { $0.key != field("serial") }
                    == Dictionary(uniqueKeysWithValues: values.map { (field($0), $1) })
            )
            #expect(try await f.fetch("note/c")?.fields[field("stars")] == .integer(3))
            #expect(try await f.psql("SELECT count(*) FROM note WHERE length(_id) = 36") == "1")
        }
    }

    @Test func oneBadRecordKeepsAllOut() async throws {
        try await withRecords { f in
            try await f.psql("ALTER TABLE note ADD CONSTRAINT few CHECK (stars < 20000)")
            for (bad, code) in [
                (row(9_001, ["stars": .integer(20_000)]), ErrorCode.constraintViolated),
                (row(9_001, ["stars": .number(1.5)]), .invalidArgument),
                (row(9_001, ["stars": .string("x")]), .invalidArgument),
                (row(9_001, id: "7"), .duplicated),
                (row(9_001, id: "~x"), .invalidArgument),
            ] {
                var rows = (1...12_000).map { row($0, id: "\($0)", ["stars": .integer(Int64($0))]) }
                rows[9_000] = bad
                let fault = await #expect(throws: ImportFault.self) {
                    try await f.store.importRecords(stream(rows), to: ImportColumns(type: type("note"), fields: fields))
                }
                #expect(fault?.line == 9_001)
                #expect(fault?.error.code == code)
            }
            #expect(try await f.psql("SELECT count(*) FROM note") == "0")
        }
    }

    @Test func badRecordsAreLeftOutAndReportedWhenAskedTo() async throws {
        try await withRecords { f in
            var rows = (1...12_000).map { row($0, id: "\($0)", ["stars": .integer(Int64($0))]) }
            rows[10] = row(11, id: "7")
            rows[6_000] = row(6_001, ["category": .reference(id("category/404"))])
            rows[11_999] = row(12_000, ["stars": .string("x")])
            var reported: [Int] = []
            let summary = try await f.store.importRecords(
                stream(rows),
                to: ImportColumns(type: type("note"), fields: fields),
                keepsGoing: true
            ) { reported.append($0) }
            #expect(summary.imported == 11_997)
            #expect(summary.faults.map(\.line) == [11, 6_001, 12_000])
            #expect(summary.faults.map(\.error.code) == [.duplicated, .invalidArgument, .invalidArgument])
            #expect(reported == [4_999, 9_998, 11_997])
            #expect(try await f.psql("SELECT count(*) FROM note") == "11997")
        }
    }

    @Test func recordsMayReferToLaterOnesWhenAllOrNothing() async throws {
        try await withRecords { f in
            let chain = (1...6_000).map {
                row($0, id: "\($0)", $0 == 6_000 ? [:] : ["next": .reference(id("note/\($0 + 1)"))])
            }
            let summary = try await f.store.importRecords(
                stream(chain),
                to: ImportColumns(type: type("note"), fields: fields)
            )
            #expect(summary.imported == 6_000)
            let fault = await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(
                    stream([row(1, id: "x", ["next": .reference(id("note/missing"))])]),
                    to: ImportColumns(type: type("note"), fields: fields)
                )
            }
            #expect(fault?.error.code == .invalidArgument)
        }
    }

    @Test func aFieldThatDoesNotExistIsRefused() async throws {
        try await withRecords { f in
            for (name, names) in [
                ("nothing", [field("title")]), ("note", [field("missing")]), ("note", [field("price")]),
            ] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.importRecords(stream([]), to: ImportColumns(type: type(name), fields: names))
                }
                #expect(error?.code == .incompatibleSchema)
            }
        }
    }

    /// Who imports what is there already wants to know which record it is, and that none was changed.
    @Test func aRecordThatIsThereAlreadyIsNamed() async throws {
        try await withRecords { f in
            let columns = ImportColumns(type: type("note"), fields: [field("title")])
            let rows = ["a", "b", "c"].enumerated().map { place, id in
                ImportRow(line: place + 2, id: id, values: [.string("new")])
            }
            _ = try await f.store.importRecords(stream([rows[1]]), to: columns)
            let fault = await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(stream(rows), to: columns)
            }
            #expect(fault?.line == 3 && fault?.error.code == .duplicated)
            #expect(
                fault?.error.message
                    == "Key (_id)=(b) already exists. An import adds records, and never changes existing ones."
            )
            let summary = try await f.store.importRecords(stream(rows), to: columns, keepsGoing: true)
            #expect(summary.imported == 2 && summary.faults.map(\.line) == [3])
        }
    }

    @Test(arguments: [(1_000_000, true), (1_100_000, false)])
    func aRecordIsNoLargerThanOneThatIsSaved(size: Int, isTaken: Bool) async throws {
        try await withRecords { f in
            let columns = ImportColumns(type: type("note"), fields: [field("title")])
            let rows = [ImportRow(line: 2, id: "big", values: [.string(String(repeating: "x", count: size))])]
            let summary = try await f.store.importRecords(stream(rows), to: columns, keepsGoing: true)
            #expect(summary.imported == (isTaken ? 1 : 0))
            #expect(summary.faults.map(\.error.code) == (isTaken ? [] : [.payloadTooLarge]))
        }
    }

    @Test func aRefusedImportLeavesTheSchemaAsItWas() async throws {
        try await withRecords { f in
            let film = try RecordTypeName("film")
            let columns = ImportColumns(type: film, fields: [field("title")])
            let rows = [row(1), row(2)].map { ImportRow(line: $0.line, id: "same", values: [.string("x")]) }
            await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(stream(rows), to: columns, creating: [field("title"): .string])
            }
            #expect(try await f.psql("SELECT to_regclass('film') IS NULL") == "t")
            #expect(try await f.store.recordSchema().types[film] == nil)

            // A field that an existing type lacks is not left behind either.
            let more = ImportColumns(type: type("note"), fields: [field("extra")])
            await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(stream(rows), to: more, creating: [field("extra"): .string])
            }
            #expect(try await f.store.recordSchema().types[type("note")]?.fields[field("extra")] == nil)

            let summary = try await f.store.importRecords(
                stream([rows[0]]),
                to: columns,
                creating: [field("title"): .string]
            )
            #expect(summary.imported == 1)
            #expect(try await f.fetch("film/same", .anonymous)?.fields == [field("title"): .string("x")])
        }
    }

    @Test func typesThatReferToEachOtherAreImportedTogetherOrNotAtAll() async throws {
        try await withRecords { f in
            let (egg, hen) = (try RecordTypeName("egg"), try RecordTypeName("hen"))
            let (from, lays) = (field("from"), field("lays"))
            let types = [
                RecordType(name: egg, fields: [from: .reference(hen)]),
                RecordType(name: hen, fields: [lays: .reference(egg)]),
            ]
            func importBoth(_ lastHen: String) async throws {
                try await f.store.withImport(creating: types) { records in
                    let eggs = [ImportRow(line: 1, id: "1", values: [.reference(try RecordID("hen/1"))])]
                    let hens = [ImportRow(line: 1, id: lastHen, values: [.reference(try RecordID("egg/1"))])]
                    _ = try await records.add(stream(eggs), to: ImportColumns(type: egg, fields: [from]))
                    _ = try await records.add(stream(hens), to: ImportColumns(type: hen, fields: [lays]))
                }
            }
            let fault = await #expect(throws: ImportFault.self) { try await importBoth("2") }
            #expect(fault?.line == nil && fault?.error.code == .invalidArgument)
            #expect(fault?.error.info["arguments"] == .list([.string("from")]))
            #expect(try await f.psql("SELECT to_regclass('egg') IS NULL AND to_regclass('hen') IS NULL") == "t")
            try await importBoth("1")
            #expect(
                try await f.psql("SELECT count(*) FROM egg JOIN hen ON \"from\" = hen._id AND lays = egg._id") == "1"
            )
        }
    }

    /// A new type with references to one that is there.
    @Test func othersSaveAndChangeTheSchemaWhileTypesAreImported() async throws {
        try await withRecords { f in
            let egg = RecordType(name: type("egg"), fields: [field("of"): .reference(type("note"))])
            try await f.store.withImport(creating: [egg]) { _ in
                try await f.psql("SET lock_timeout = '100s'; INSERT INTO note (_id) VALUES ('meanwhile')")
                _ = try await f.store.createTypes([RecordType(name: type("other"), fields: [field("a"): .string])])
            }
            #expect(try await f.psql("SELECT count(*) FROM note WHERE _id = 'meanwhile'") == "1")
            #expect(
                try await f.psql("SELECT to_regclass('egg') IS NOT NULL AND to_regclass('other') IS NOT NULL") == "t"
            )
        }
    }

    @Test func rulesThatComeWithATypeAreInTheAuditLog() async throws {
        try await withRecords { f in
            let (egg, hen) = (try RecordTypeName("egg"), try RecordTypeName("hen"))
            var access = ClassAccess()
            access.rules[.create] = ClassRule([.role("writer")])
            let rules = access
            func importing(_ type: RecordTypeName, fails: Bool = false) async throws {
                try await f.store.withImport(
                    creating: [RecordType(name: type, fields: [field("a"): .string])],
                    access: [type: rules]
                ) { _ in
                    // They hold as soon as there is the type.
                    #expect(try await f.psql("SELECT count(*) FROM _class_rule WHERE type = '\(type)'") == "1")
                    #expect(try await f.psql("SELECT to_regclass('\(type)') IS NOT NULL") == "t")
                    if fails { throw SkyrowError.unexpected }
                }
            }
            let log = """
                SELECT event, outcome, actor, data ->> 'type', data ->> 'access' FROM _audit ORDER BY id
                """
            await #expect(throws: SkyrowError.self) { try await importing(hen, fails: true) }
            let gone = try await f.psql(log).split(separator: "\n")
            #expect(gone.count == 2 && gone.allSatisfy { $0.hasPrefix("rule|ok|operator|hen|") }, "\(gone)")
            #expect(gone.first?.contains("writer") == true && gone.last?.contains("writer") == false, "\(gone)")
            #expect(try await f.psql("SELECT count(*), to_regclass('hen') IS NULL FROM _class_rule") == "0|t")
            try await f.psql("DELETE FROM _audit")
            try await importing(egg)
            let written = try await f.psql(log)
            #expect(written.hasPrefix("rule|ok|operator|egg|") && written.contains("writer"), "\(written)")
            // Rules that are there stay, which is no change.
            try await f.store.withImport(access: [egg: ClassAccess()]) { _ in }
            #expect(try await f.psql(log) == written)
            // The same is stored of the change that an action makes.
            _ = try await f.store.classAccess.change(
                ClassAccessChange(type: hen, to: rules),
                recording: AuditEvent(.rule, by: .master)
            )
            let both = try await f.psql(
                "SELECT count(DISTINCT data #> '{access,rules}') FROM _audit WHERE event = 'rule'"
            )
            #expect(both == "1")
        }
    }

    @Test func rowsKeepTheirReservedColumnsAndSequencesCountOn() async throws {
        try await withRecords { f in
            let columns = ImportColumns(
                type: type("note"),
                reserved: [.id, .database, .owner, .access, .createdAt, .updatedBy],
                fields: [field("next"), field("serial")]
            )
            let early = Timestamp(microseconds: -1)
            func note(_ id: String, _ database: String, next: String, _ serial: Int64) -> ImportRow {
                ImportRow(
                    line: 1,
                    reserved: [
                        .string(id), .string(database), .string("ann"), .json(JSONText(validated: Array("{}".utf8))),
                        .datetime(early), nil,
                    ],
                    values: [.string(next), .integer(serial)]
                )
            }
            let rows = [note("~ann/1", "ann", next: "~ann/1", 41), note("1", "_public", next: "1", 7)]
            let summary = try await f.store.importRecords(stream(rows), to: columns)
            #expect(summary.imported == 2)
            let stored = try await f.psql(
                "SELECT _id, _database, _owner, _access, _created_at < '2000-01-01', _updated_by, next, serial FROM note ORDER BY 1"
            )
            #expect(stored == "1|_public|ann|{}|t||1|7\n~ann/1|ann|ann|{}|t||~ann/1|41")
            #expect(try await f.save("note/new").fields[field("serial")] == .integer(42))

            let fault = await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(stream([note("~bob/1", "ann", next: "1", 1)]), to: columns)
            }
            #expect(fault?.error.code == .constraintViolated)
        }
    }

    @Test func importedProfilesHaveAccountsThatCannotLogIn() async throws {
        try await withRecords { f in
            let columns = ImportColumns(type: .user, reserved: [.id, .database], fields: [field("username")])
            let rows = [
                ImportRow(line: 1, reserved: [.string("eve"), .string("_public")], values: [.string("eve")])
            ]
            _ = try await f.store.importRecords(stream(rows), to: columns)
            #expect(try await f.psql("SELECT id, password_hash IS NULL FROM _user WHERE id = 'eve'") == "eve|t")
        }
    }
}
