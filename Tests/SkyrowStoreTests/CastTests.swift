import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Texts in fields of other types, which saves and predicates take for values alike.
@Suite(.timeLimit(.minutes(60))) struct CastTests {
    private static let values: [(field: String, text: String, value: RecordValue)] = [
        ("stars", "12", .integer(12)), ("stars", "-9223372036854775808", .integer(.min)),
        ("score", "1.25", .number(1.25)), ("score", "12", .number(12)), ("score", "1e3", .number(1000)),
        ("done", "true", .boolean(true)),
        ("due", "2000-01-01T00:00:00.000001Z", .datetime(Timestamp(microseconds: 1))),
        ("due", "infinity", .datetime(.infinity)),
        ("data", "AAEC", .bytes([0, 1, 2])), ("serial", "77", .integer(77)),
        ("category", "home", .reference(id("category/home"))),
        ("title", "12", .string("12")),
    ]

    @Test func aTextThatIsAValueIsSavedAndCompared() async throws {
        try await withRecords { f in
            try await f.save("category/home")
            for (name, text, value) in Self.values {
                let saved = try await f.save("note/1", [name: .string(text)])
                #expect(saved.fields[field(name)] == value, "\(name) \(text)")
                #expect(try await f.query(.compare(.eq, name, .string(text))) == ["1"], "\(name) \(text)")
                #expect(try await f.query(.compare(.neq, name, .string(text))) == [], "\(name) \(text)")
                #expect(try await f.query(.isIn(name, [.string(text), .null])) == ["1"], "\(name) \(text)")
            }
        }
    }

    private static let misfits: [(field: String, texts: [String])] = [
        ("stars", ["", "12 ", "1e1", "1.0", "x", "9223372036854775808"]),
        ("score", ["", " 1", "NaN", "1e400", "x"]), ("done", ["", "1", "True"]),
        ("due", ["", "2000-01-01", "2000-01-01T00:00:00.0000001Z"]), ("data", ["A", "AB==", "\\x00"]),
        ("serial", ["", "1.5"]), ("category", ["", "~ann/1"]),
    ]

    @Test func anyOtherTextIsRefusedWithTheField() async throws {
        try await withRecords { f in
            for (name, texts) in Self.misfits {
                for text in texts {
                    let drafts = [draft("note/1", [name: .string(text)]), draft("note/2")]
                    // It is a matter of one record, and none of the schema.
                    #expect(try f.store.schemaPlan(saving: drafts).isEmpty)
                    let outcomes = try await f.store.save(
                        drafts.map { .draft($0) },
                        in: .everyone,
                        caller: .ann,
                        atomic: false
                    )
                    #expect(outcomes[0].error?.code == .invalidArgument, "\(name) \(text)")
                    #expect(outcomes[0].error?.info["arguments"] == .list([.string(name)]))
                    #expect(outcomes[0].error?.path == "records[0].\(name)")
                    #expect(outcomes[1].error == nil)
                    for (predicate, path) in [
                        (Predicate.compare(.eq, name, .string(text)), "predicate[2]"),
                        (.isIn(name, [.null, .string(text)]), "predicate[2][1]"),
                    ] {
                        let error = await #expect(throws: SkyrowError.self) { try await f.query(predicate) }
                        #expect(error?.code == .invalidArgument, "\(name) \(text)")
                        #expect(error?.path == path)
                    }
                }
            }
        }
    }

    @Test func anIntegerThatADoubleDoesNotHoldStaysExact() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["score": .number(9_007_199_254_740_992)])
            #expect(try await f.query(.compare(.lt, "score", .string("9007199254740993"))) == ["1"])
            #expect(try await f.query(.compare(.eq, "score", .string("9007199254740993"))) == [])
            let outcomes = try await f.store.save(
                [.draft(draft("note/1", ["score": .string("9007199254740993")]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes[0].error?.code == .invalidArgument)
        }
    }

    @Test func aTemporaryIDMayBeAText() async throws {
        try await withRecords { f in
            let saved = try await f.save([draft("category/$c"), draft("note/1", ["category": .string("$c")])])
            #expect(saved[1].fields[field("category")] == .reference(saved[0].id))
        }
    }

    @Test func nothingIsWidenedForAText() async throws {
        try await withRecords { f in
            let drafts = [draft("note/1", ["stars": .string("1.5")])]
            try await f.store.createMissingSchema(for: drafts)
            #expect(f.store.cache.current[type("note")]?[field("stars")]?.type == .integer)
        }
    }
}
