import SkyrowMaintenance
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Collects what it is told as one text a record.
private struct LineSink: RecordSink {
    var lines: [String] = []
    private var line = ""

    mutating func beginRecord() { line = "" }
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        switch value {
        case .null: break
        case .recordID(let type, let id): line += "\(key.name)=\(text(type))/\(text(id)) "
        case .string(let utf8): line += "\(key.name)='\(text(utf8))' "
        case .integer(let number): line += "\(key.name)=\(number) "
        case .number(let number): line += "\(key.name)=\(number) "
        case .boolean(let flag): line += "\(key.name)=\(flag) "
        case .json(let utf8): line += "\(key.name)=\(text(utf8)) "
        case .reference(let type, let id): line += "\(key.name)->\(text(type))/\(text(id)) "
        case .bytes(let bytes): line += "\(key.name)=\(Array(bytes)) "
        case .datetime(let instant): line += "\(key.name)=\(instant.microseconds) "
        case .plainDatetime: break
        case .location(let location): line += "\(key.name)=\(location.latitude),\(location.longitude) "
        case .asset(let name): line += "\(key.name)@\(text(name)) "
        case .geometry(let ewkb): line += "\(key.name)=\(Array(ewkb)) "
        case .array(let elements): line += "\(key.name)[\(elements.count)] "
        case .relation(let type): line += "\(key.name)~\(text(type)) "
        case .unknown(let type): line += "\(key.name)?\(text(type)) "
        }
    }
    mutating func endRecord() { lines.append(line) }
}

private func text(_ utf8: UnsafeRawBufferPointer) -> String {
    String(decoding: utf8, as: UTF8.self)
}

@Suite(.timeLimit(.minutes(60))) struct ExportTests {
    @Test func everyColumnIsToldAsItIsStored() async throws {
        try await withRecords { f in
            try await f.save("category/home")
            var values = RecordsFixture.everyValue
            values["serial"] = nil
            try await f.save("note/a", values)
            try await f.save("note/p", ["next": .reference(id("note/p"))], .ann, in: .user("ann"))
            try await f.psql("UPDATE note SET price = 1.50 WHERE _id = 'a'")
            // A save that is tried again draws another number.
            let last = try #require(Int64(try await f.psql("SELECT max(serial) FROM note")))
            try await f.store.withExport { export in
                let note = try #require(export.types.first { $0.name == type("note") })
                #expect(export.types.map(\.name) == export.types.map(\.name).sorted())
                #expect(Array(note.columnNames.prefix(3)) == ["_id", "_database", "_owner"])
                #expect(!note.columnNames.contains("_revision"))
                #expect(note.sequences == [field("serial"): last])
                var sink = LineSink()
                var parts = 0
                let count = try await export.write(note, to: &sink) { _, _ in parts += 1 }
                #expect(count == 2 && sink.lines.count == 2 && parts == 1)
                sink.lines.sort()
                #expect(sink.lines[0].hasPrefix("_id=note/a _database='_public' _owner='ann' "))
                #expect(sink.lines[0].contains("category->category/home "))
                #expect(sink.lines[0].contains("photo@\(RecordsFixture.photo.name) "))
                // A column whose type is not ours is told as text.
                #expect(sink.lines[0].contains("price='$1.50' "))
                #expect(sink.lines[1].hasPrefix("_id=note/~ann/p _database='ann' "))
                #expect(sink.lines[1].contains("next->note/~ann/p "))
            }
        }
    }

    @Test func allTypesAreOfOneMomentWhateverIsWrittenMeanwhile() async throws {
        try await withRecords { f in
            try await f.save("category/home")
            try await f.store.withExport { export in
                var sink = LineSink()
                for type in export.types {
                    try await f.psql("INSERT INTO note (_id) VALUES ('\(type.name)')")
                    _ = try await export.write(type, to: &sink) { _, _ in }
                }
                #expect(sink.lines.filter { $0.hasPrefix("_id=note/") }.isEmpty)
                #expect(sink.lines.filter { $0.hasPrefix("_id=category/") }.count == 1)
                // Rows of a table that is truncated or rewritten would be gone from the snapshot.
                await #expect(throws: (any Error).self) {
                    try await f.psql("SET lock_timeout = '10ms'; TRUNCATE note")
                }
            }
            try await f.psql("TRUNCATE note")
        }
    }

    @Test func aReaderThatFailsEndsTheExport() async throws {
        struct Full: Error {}
        try await withRecords { f in
            try await f.psql("INSERT INTO note (title) SELECT repeat('x', 500) FROM generate_series(1, 5000)")
            await #expect(throws: Full.self) {
                try await f.store.withExport { export in
                    var sink = LineSink()
                    let note = try #require(export.types.first { $0.name == type("note") })
                    _ = try await export.write(note, to: &sink) { _, _ in throw Full() }
                }
            }
            #expect(try await f.fetch("note/none") == nil)
        }
    }
}
