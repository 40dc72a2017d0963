import SkyrowModel
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(2))) struct ImportTests {
    private let fields = ["title", "stars", "score", "done", "due", "tags", "data", "category", "next"].map(field)

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
            var values = SaveTests.everyValue
            values["serial"] = nil
            let summary = try await f.store.importRecords(
                stream([row(1, id: "a", values), row(2), row(3, id: "c", ["stars": .number(3), "score": .integer(4)])]),
                of: type("note"),
                fields: fields
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
                (row(9_001, ["stars": .string("x")]), .incompatibleSchema),
                (row(9_001, id: "7"), .duplicated),
                (row(9_001, id: "~x"), .invalidArgument),
            ] {
                var rows = (1...12_000).map { row($0, id: "\($0)", ["stars": .integer(Int64($0))]) }
                rows[9_000] = bad
                let fault = await #expect(throws: ImportFault.self) {
                    try await f.store.importRecords(stream(rows), of: type("note"), fields: fields)
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
            var told: [Int] = []
            let summary = try await f.store.importRecords(
                stream(rows),
                of: type("note"),
                fields: fields,
                keepsGoing: true
            ) { told.append($0) }
            #expect(summary.imported == 11_997)
            #expect(summary.faults.map(\.line) == [11, 6_001, 12_000])
            #expect(summary.faults.map(\.error.code) == [.duplicated, .invalidArgument, .incompatibleSchema])
            #expect(told == [4_999, 9_998, 11_997])
            #expect(try await f.psql("SELECT count(*) FROM note") == "11997")
        }
    }

    @Test func recordsMayReferToLaterOnesWhenAllOrNothing() async throws {
        try await withRecords { f in
            let chain = (1...6_000).map {
                row($0, id: "\($0)", $0 == 6_000 ? [:] : ["next": .reference(id("note/\($0 + 1)"))])
            }
            let summary = try await f.store.importRecords(stream(chain), of: type("note"), fields: fields)
            #expect(summary.imported == 6_000)
            let fault = await #expect(throws: ImportFault.self) {
                try await f.store.importRecords(
                    stream([row(1, id: "x", ["next": .reference(id("note/missing"))])]),
                    of: type("note"),
                    fields: fields
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
                    try await f.store.importRecords(stream([]), of: type(name), fields: names)
                }
                #expect(error?.code == .incompatibleSchema)
            }
        }
    }
}
