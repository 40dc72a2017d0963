import SkyrowJSON
import SkyrowModel
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// What is a cursor of a query, and what is none.
@Suite(.timeLimit(.minutes(60))) struct CursorTests {
    private static let keys = CursorKeys(secrets: [1: [UInt8](repeating: 7, count: 32)])!
    private static let digest = QueryDigest(bytes: [1, 2, 3, 4, 5, 6, 7, 8])

    @Test func aCursorIsReadAsItWasMade() throws {
        for count in [0, 1, 2, 3, 100, 9000] {
            let values = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let text = try #require(Self.keys.seal(Self.digest, values))
            let opened = try #require(Self.keys.open(text))
            #expect(opened.digest == Self.digest)
            #expect(Array(opened.values) == values)
        }
        #expect(Self.keys.seal(Self.digest, [UInt8](repeating: 0, count: 9_190)) != nil)
        #expect(Self.keys.seal(Self.digest, [UInt8](repeating: 0, count: 9_191)) == nil)
    }

    @Test func noOtherBitsMakeACursor() throws {
        let text = try #require(Self.keys.seal(Self.digest, Array("some values".utf8)))
        let bytes = try #require(Base64URL.decode(text))
        for bit in 0..<(bytes.count * 8) {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(Self.keys.open(Base64URL.encode(changed)) == nil, "bit \(bit)")
        }
        let characters = Array(text.utf8)
        for place in characters.indices {
            for other in "Aa0-_=+/ é".utf8 where other != characters[place] {
                var changed = characters
                changed[place] = other
                #expect(Self.keys.open(String(decoding: changed, as: UTF8.self)) == nil)
            }
        }
        for length in 0..<bytes.count { #expect(Self.keys.open(Base64URL.encode(Array(bytes.prefix(length)))) == nil) }
        for other in ["", text + "A", text + "AAAA", "=" + text, String(repeating: "A", count: 12_289)] {
            #expect(Self.keys.open(other) == nil)
        }
    }

    @Test func oldKeysReadAndTheNewestWrites() throws {
        let old = [UInt8](repeating: 1, count: 32)
        let new = [UInt8](repeating: 2, count: 32)
        let before = try #require(CursorKeys(secrets: [1: old]))
        let both = try #require(CursorKeys(secrets: [1: old, 2: new]))
        let after = try #require(CursorKeys(secrets: [2: new]))
        let early = try #require(before.seal(Self.digest, []))
        let late = try #require(both.seal(Self.digest, []))
        #expect([before, both, after].map { $0.open(early) != nil } == [true, true, false])
        #expect([before, both, after].map { $0.open(late) != nil } == [false, true, true])
        // Two keys differ by more than the number.
        #expect(CursorKeys(secrets: [1: new])?.open(early) == nil)
        #expect(CursorKeys(secrets: [:]) == nil)
    }

    @Test func valuesAreReadAsTheyWereWritten() {
        let kinds: [ValueKind] = [.string, .integer, .number, .boolean, .datetime, .bytes, .id(type("note"))]
        let bytes: [UInt8] =
            [1, 0, 0, 0, 2, 0xC3, 0xA9] + [1, 0, 0, 0, 0, 0, 0, 1, 0] + [1, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0] + [1, 1]
            + [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + [1, 0, 0, 0, 1, 9] + [1, 0, 0, 0, 1, 0x37]
        let values: [ResolvedLiteral?] = [
            .text("é"), .integer(256), .number(1), .boolean(true), .datetime(Timestamp(microseconds: -1)), .bytes([9]),
            .text("7"),
        ]
        #expect(CursorValues.read(bytes[...], kinds: kinds) == values)
        #expect(CursorValues.read([0, 0][...], kinds: [.string, .number]) == [nil, nil])
        let digits: [UInt8] = [1, 0, 0, 0, 3] + Array("1.5".utf8)
        #expect(CursorValues.read(digits[...], kinds: [.decimal]) == [JSONDecimal("15e-1").map { .decimal($0) }])
        #expect(CursorValues.read([1, 0, 0, 0, 1, 0x78][...], kinds: [.decimal]) == nil)
        for length in 0..<bytes.count { #expect(CursorValues.read(bytes[..<length], kinds: kinds) == nil) }
        #expect(CursorValues.read((bytes + [0])[...], kinds: kinds) == nil)
        #expect(CursorValues.read([2][...], kinds: [.boolean]) == nil)
        #expect(CursorValues.read([1, 0, 0, 0, 1, 0xFF][...], kinds: [.string]) == nil)
        #expect(CursorValues.read([1, 0][...], kinds: [.json]) == nil)
    }

    // MARK: With a database

    private static func base() -> RecordQuery {
        RecordQuery(
            type: type("note"),
            predicate: .compare(.gte, "stars", .integer(1)),
            sort: [SortKey(path("title"), .descending)],
            limit: 2
        )
    }

    private static func fill(_ f: RecordsFixture) async throws {
        try await f.save((0..<6).map { draft("note/\($0)", ["title": .string("t\($0 / 2)"), "stars": .integer(3)]) })
    }

    private static func cursor(
        _ f: RecordsFixture,
        _ query: RecordQuery = base(),
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> String {
        try #require(try await f.store.query(query, in: scope, caller: caller).cursor)
    }

    private static func error(
        _ f: RecordsFixture,
        _ query: RecordQuery,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async -> SkyrowError? {
        do {
            _ = try await f.store.query(query, in: scope, caller: caller)
            return nil
        } catch {
            return error as? SkyrowError
        }
    }

    @Test func aCursorBelongsToItsQuery() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            try await f.save("category/1")
            let cursor = try await Self.cursor(f)
            typealias Change = (inout RecordQuery) -> Void
            let taken: [Change] = [
                { _ in }, { $0.limit = 7 }, { $0.desiredFields = [] }, { $0.countsMatches = true },
                { $0.include = [Inclusion(name: "c", keyPath: path("category"))] }, { $0.isRequired = true },
                { $0.position = .before(cursor) },
            ]
            for (place, change) in taken.enumerated() {
                var query = Self.base()
                query.position = .after(cursor)
                change(&query)
                #expect(await Self.error(f, query) == nil, "change \(place)")
            }
            let refused: [Change] = [
                { $0.predicate = .compare(.gte, "stars", .integer(2)) }, { $0.predicate = nil },
                { $0.predicate = .compare(.gt, "stars", .integer(1)) },
                { $0.predicate = .not(.compare(.gte, "stars", .integer(1))) },
                { $0.sort = [SortKey(path("title"))] }, { $0.sort = [SortKey(path("title"), .descending, .last)] },
                { $0.sort = [] }, { $0.sort = [SortKey(path("category.name"), .descending)] },
                { $0.sort = [SortKey(path("title"), .descending), SortKey(path("stars"))] },
                {
                    $0.type = type("category")
                    $0.predicate = nil
                    $0.sort = [SortKey(path("name"), .descending)]
                },
                { $0.type = type("nothing") },
            ]
            for (place, change) in refused.enumerated() {
                for position in [RecordQuery.Position.after(cursor), .before(cursor)] {
                    var query = Self.base()
                    query.position = position
                    change(&query)
                    let error = await Self.error(f, query)
                    #expect(error?.code == .invalidArgument, "change \(place)")
                    #expect(error?.path == position.cursor?.parameter)
                }
            }
            var own = Self.base()
            own.position = .after(cursor)
            #expect(await Self.error(f, own, .ann, in: .user("ann"))?.path == "after")
            // Who asks is no part of it: the page has what that caller may read.
            #expect(await Self.error(f, own, .bob) == nil)
            #expect(await Self.error(f, own, .anonymous) == nil)
        }
    }

    @Test func theLettersOfACursorAreAllLookedAt() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            let cursor = Array(try await Self.cursor(f).utf8)
            var query = Self.base()
            for place in cursor.indices {
                var changed = cursor
                changed[place] = cursor[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                query.position = .after(String(decoding: changed, as: UTF8.self))
                let error = await Self.error(f, query)
                #expect(error?.code == .invalidArgument && error?.path == "after")
                #expect(error?.info["arguments"] == .list([.string("after")]))
            }
        }
    }

    @Test func applicationsDoNotReadEachOthersCursors() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            let other = RecordStore(client: f.client, schema: "other", mode: .development, logger: .silent)
            try await other.prepare()
            _ = try await f.psql(
                "SET search_path = other; SELECT _create_type('note'); ALTER TABLE note ADD title text, ADD stars bigint"
            )
            try await other.cache.reload()
            // Even with the same secret: the name of the schema is part of the query.
            _ = try await f.psql("UPDATE other_internal._secret SET secret = (SELECT secret FROM app_internal._secret)")
            let copy = RecordStore(client: f.client, schema: "other", mode: .development, logger: .silent)
            try await copy.prepare()
            var query = Self.base()
            query.position = .after(try await Self.cursor(f))
            for store in [other, copy] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await store.query(query, in: .everyone, caller: .ann)
                }
                #expect(error?.path == "after")
            }
            // A process that starts later goes on where another one was.
            let later = RecordStore(client: f.client, schema: "app", mode: .development, logger: .silent)
            try await later.prepare()
            #expect(try await later.query(query, in: .everyone, caller: .ann).records.count == 2)
        }
    }

    @Test func aCursorHoldsWhatItsCallerReads() async throws {
        try await withRecords { f in
            try await f.psql("UPDATE \"user\" SET email = _id || '@example.org'")
            for (caller, seen) in [(Caller.ann, ["ann"]), (.bob, ["bob"]), (.master, ["ann", "bob"])] {
                var holds: Set<String> = []
                for offset in 0..<2 {
                    let query = RecordQuery(type: .user, sort: [SortKey(path("email"))], limit: 1, offset: offset)
                    let bytes = try #require(Base64URL.decode(try await Self.cursor(f, query, caller)))
                    let text = String(decoding: bytes, as: UTF8.self)
                    for user in ["ann", "bob"] where text.contains("\(user)@example.org") { holds.insert(user) }
                }
                #expect(holds == Set(seen))
            }
            // Behind a reference to a record that the caller may not read there is nothing.
            try await f.save("category/secret", ["name": .string("unheard")], access: AccessList([]), .bob)
            try await f.psql("INSERT INTO note (_id, category) VALUES ('1', 'secret')")
            let query = RecordQuery(type: type("note"), sort: [SortKey(path("category.name"))])
            for (caller, isSeen) in [(Caller.ann, false), (.bob, true)] {
                let bytes = try #require(Base64URL.decode(try await Self.cursor(f, query, caller)))
                #expect(String(decoding: bytes, as: UTF8.self).contains("unheard") == isSeen)
            }
        }
    }

    /// Where the values of a key are visible in some records only, pages follow on each other as one listing has them.
    @Test(arguments: [[.owner], [.owner, .field(field("member"))]] as [[Subject]])
    func pagesGoOnBehindValuesThatAreNotSeen(_ readers: [Subject]) async throws {
        try await withRecords { f in
            try await f.psql(#"ALTER TABLE note ADD member text COLLATE "C" REFERENCES "user" (_id) DEFERRABLE"#)
            try await f.store.cache.reload()
            let fields = ["title", "stars", "score", "due", "data"]
            for place in 0..<12 {
                let number = place * 7 % 12
                let values: [String: RecordValue] = [
                    "title": .string("t\(number)"), "stars": .integer(Int64(number)), "score": .number(Double(number)),
                    "due": .datetime(Timestamp(microseconds: Int64(number) * 1_000_000)),
                    "data": .bytes([UInt8(number)]),
                    "member": .reference(id(place.isMultiple(of: 3) ? "user/bob" : "user/ann")),
                ]
                try await f.save("note/\(place)", values, place.isMultiple(of: 2) ? .ann : .bob)
            }
            let rules = Dictionary(uniqueKeysWithValues: fields.map { ($0, [FieldUse.read: FieldSubjects(readers)]) })
            try await FieldRuleExitTests.set(f, rules)
            for caller in [Caller.ann, .bob, .master] {
                for name in fields {
                    for direction in [SortKey.Direction.ascending, .descending] {
                        var query = RecordQuery(type: type("note"), sort: [SortKey(path(name), direction)])
                        let whole = try await f.store.query(query, in: .everyone, caller: caller).records
                            .compactMap { $0.collected()?.id }
                        #expect(whole.count == 12)
                        for limit in [1, 5] {
                            query.limit = limit
                            query.position = .first
                            var paged: [RecordID] = []
                            while paged.count <= 12 {
                                let page = try await f.store.query(query, in: .everyone, caller: caller)
                                paged += page.records.compactMap { $0.collected()?.id }
                                guard page.hasMore else { break }
                                query.position = .after(try #require(page.cursor))
                            }
                            #expect(paged == whole, "\(name) \(direction) \(limit)")
                        }
                    }
                }
            }
        }
    }

    @Test func aLongValueMakesNoCursor() async throws {
        try await withRecords { f in
            try await f.save([
                draft("note/1", ["title": .string(String(repeating: "a", count: 8_192))]),
                draft("note/2", ["title": .string(String(repeating: "b", count: 8_193))]),
                draft("note/3", ["title": .string("c")]),
            ])
            var query = RecordQuery(type: type("note"), sort: [SortKey(path("title"))], limit: 1)
            let first = try await f.store.query(query, in: .everyone, caller: .ann)
            query.position = .after(try #require(first.cursor))
            let error = await Self.error(f, query)
            #expect(error?.code == .invalidArgument && error?.path == "sort")
            // Behind a page that ends otherwise there is one, and none is needed where nothing follows.
            query.limit = 2
            #expect(try await f.store.query(query, in: .everyone, caller: .ann).records.count == 2)
            query.position = .first
            query.sort = [SortKey(path("title"), .descending)]
            query.predicate = .compare(.eq, "_id", .string("2"))
            let only = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(only.records.count == 1 && only.cursor == nil && !only.hasMore)
        }
    }

    @Test func manySortKeysMakeNoCursor() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            let names = ["title", "stars", "score", "done", "due", "data", "serial", "category", "next"]
            for count in [8, 9] {
                var query = RecordQuery(
                    type: type("note"),
                    sort: names.prefix(count).map { SortKey(path($0)) },
                    limit: 2
                )
                let page = try await f.store.query(query, in: .everyone, caller: .ann)
                #expect(page.records.count == 2 && page.hasMore)
                #expect((page.cursor != nil) == (count == 8))
                query.position = .after(page.cursor ?? "x")
                #expect(await Self.error(f, query)?.path == (count == 8 ? nil : "sort[8]"))
            }
        }
    }
}
