import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// How stores learn of a schema that another process or psql has changed, and what they read of it.
@Suite(.timeLimit(.minutes(60))) struct SchemaNoticeTests {
    @Test func otherProcessesLearnOfAChange() async throws {
        try await withStore { fixture in
            try await withOtherStore(fixture) { other in
                try await fixture.store.createMissingSchema(for: [draft("post/1", ["title": .string("x")])])
                try await until { other.cache.current[type("post")] != nil }
            }
        }
    }

    @Test func changesMadeInPsqlAreNoticed() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD COLUMN title text")
            try await until { fixture.store.knownFields("film") == [field("title"): .string] }
            try await fixture.psql("ALTER TABLE film RENAME COLUMN title TO name")
            try await until { fixture.store.knownFields("film") == [field("name"): .string] }
            try await fixture.psql("DROP TABLE film")
            try await until { fixture.store.cache.current[type("film")] == nil }
        }
    }

    @Test func withoutEventTriggersAnUnknownNameIsLookedFor() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                DROP EVENT TRIGGER skyrow_ddl_command_end_app; DROP EVENT TRIGGER skyrow_sql_drop_app;
                SELECT _create_type('film');
                """
            )
            try await until { try await fixture.store.table(of: type("film")) != nil }
            #expect(try await fixture.store.table(of: type("nothing")) == nil)
        }
    }

    @Test func unchangedTablesKeepTheirObjects() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("a/1", ["x": .integer(1)]), draft("b/1")])
            let before = fixture.store.cache.current
            try await fixture.store.createMissingSchema(for: [draft("b/1", ["y": .integer(1)])])
            let after = fixture.store.cache.current
            #expect(after.version > before.version)
            #expect(before[type("a")] === after[type("a")])
            #expect(before[type("b")] !== after[type("b")])
        }
    }

    // MARK: Large schemas

    /// The reading of everything grows with the schema; what follows a change is a matter of the types it is about.
    @Test func aChangeReadsTheTypesItIsAbout() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                DO $$ BEGIN FOR i IN 1..40 LOOP PERFORM _create_type('type' || i);
                    EXECUTE format('ALTER TABLE type%s ADD a text, ADD b bigint, ADD c text', i); END LOOP; END $$
                """
            )
            try await withOtherStore(fixture) { other in
                // The listeners may still have readings of everything before them; those end.
                var round = 0
                try await until {
                    round += 1
                    let name = "field\(round)"
                    let before = (fixture.store.cache.statistics, other.cache.statistics)
                    let untouched = other.cache.current[type("type2")]
                    try await fixture.store.createMissingSchema(for: [draft("type1/1", [name: .string("x")])])
                    try await until { other.knownFields("type1")?[field(name)] != nil }
                    let own = fixture.store.cache.statistics.rows - before.0.rows
                    let others = other.cache.statistics.rows - before.1.rows
                    return untouched != nil && other.cache.current[type("type2")] === untouched
                        && own > 0 && own < 3 * 40 && others == 3 + round
                }
            }
        }
    }

    @Test func anUnknownNameIsLookedForByItself() async throws {
        try await withStore { fixture in
            let cache = SchemaCache(client: fixture.store.client, schema: "app")
            try await cache.reload()
            let whole = cache.statistics
            try await cache.look(for: [type("film")])
            try await cache.look(for: [type("actor"), type("film")])
            #expect(cache.statistics.readings == whole.readings + 2)
            #expect(cache.statistics.rows == whole.rows)
            // It is there as soon as another process has made it.
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD a text, ADD b text")
            try await cache.look(for: [type("film")])
            #expect(cache.current[type("film")]?.columns.count == 2)
            #expect(cache.statistics.rows == whole.rows + 2)
        }
    }

    @Test func aFloodOfUnknownNamesIsNotLookedFor() async throws {
        try await withStore { fixture in
            let passed = Mutex<Duration>(.zero)
            let start = ContinuousClock.now
            let cache = SchemaCache(client: fixture.store.client, schema: "app") { start + passed.withLock { $0 } }
            for number in 0..<100 { try await cache.look(for: [type("flood\(number)")]) }
            #expect(cache.statistics.readings == 20)
            try await cache.look(for: [type("user")])
            #expect(cache.statistics.readings == 20 && cache.current[.user] == nil)
            passed.withLock { $0 += .seconds(1) }
            try await cache.look(for: [type("user")])
            #expect(cache.current[.user] != nil)
        }
    }

    /// No notice is waited for: nothing listens in the other process.
    @Test func whatAnotherProcessMadeIsThereWithItsSuccess() async throws {
        try await withStore { fixture in
            let other = RecordStore(
                client: fixture.store.client,
                schema: "app",
                mode: .production,
                schemaCheckInterval: .seconds(3600),
                rulesPatience: testPatience,
                logger: .quiet
            )
            try await other.prepare()
            func query(_ field: String) async throws -> [String] {
                let query = RecordQuery(type: type("note"), predicate: .compare(.eq, field, .string("x")))
                return try await other.query(query, in: .everyone, caller: .master).records.compactMap {
                    $0.collected()?.id.id
                }
            }
            #expect(try await query("title") == [])
            try await fixture.store.createMissingSchema(for: [draft("note/1", ["title": .string("x")])])
            try await fixture.psql("INSERT INTO note (_id, title) VALUES ('1', 'x')")
            #expect(try await query("title") == ["1"])
            await #expect(throws: SkyrowError.self) { try await query("more") }
            try await fixture.store.createMissingSchema(for: [draft("note/1", ["more": .string("x")])])
            try await fixture.psql("UPDATE note SET more = 'x'")
            #expect(try await query("more") == ["1"])
            try await fixture.store.createMissingSchema(for: [draft("note/1", ["third": .string("x")])])
            let saved = draft("note/2", ["third": .string("y")])
            try await other.createMissingSchema(for: [saved])
            let outcomes = try await other.save([.draft(saved)], in: .everyone, caller: .master, atomic: false)
            #expect(outcomes[0].error == nil)
        }
    }

    @Test func manyTypesAreMadeAndChangedInPieces() async throws {
        try await withStore { fixture in
            let watch = try await TransactionWatch(in: fixture)
            let names = (1...40).map { type("type\($0)") }
            let others = names.map { RecordType(name: $0, fields: [field("next"): .reference(names[0])]) }
            _ = try await fixture.store.createTypes(others)
            #expect(
                names.allSatisfy { fixture.store.knownFields($0.rawValue) == [field("next"): .reference(names[0])] }
            )
            try await watch.clear()
            let more = names.map { RecordType(name: $0, fields: [field("more"): .reference(names[1])]) }
            _ = try await fixture.store.createTypes(more)
            #expect(names.allSatisfy { fixture.store.knownFields($0.rawValue)?.count == 2 })
            let (transactions, tables) = try await watch.seen()
            #expect(transactions > 4 && (1...10).contains(tables), "\(transactions) transactions, \(tables) tables")
        }
    }

    /// One table that stays locked keeps nothing from being made that comes before, and nothing is half made.
    @Test func whatWasInterruptedIsCompletedByTheSameRequest() async throws {
        try await withStore { fixture in
            let names = (100...139).map { type("type\($0)") }
            try await fixture.psql("SELECT count(_create_type('type' || n)) FROM generate_series(100, 139) AS n")
            try await fixture.store.cache.reload()
            let request = names.map { RecordType(name: $0, fields: [field("a"): .integer]) }
            try await fixture.store.client.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE app.type139 IN SHARE MODE")
                let error = await #expect(throws: SkyrowError.self) { _ = try await fixture.store.createTypes(request) }
                #expect(error?.code == .overloaded)
                #expect(fixture.store.knownFields("type100") == [field("a"): .integer])
                #expect(fixture.store.knownFields("type139") == [:])
            }
            _ = try await fixture.store.createTypes(request)
            #expect(names.allSatisfy { fixture.store.knownFields($0.rawValue) == [field("a"): .integer] })
        }
    }
}
