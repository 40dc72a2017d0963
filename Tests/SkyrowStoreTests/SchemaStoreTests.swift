import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// Waits until something that comes by itself has come.
func until(_ condition: () async throws -> Bool) async throws {
    try await waiting(until: "the schema store has heard of it", condition)
}

@Suite(.timeLimit(.minutes(10))) struct SchemaStoreTests {
    /// A second store on the same database, as another process would have.
    private func withOther(
        _ fixture: StoreFixture,
        _ mode: SchemaMode = .development,
        _ body: (RecordStore) async throws -> Void
    ) async throws {
        try await withPostgresClient(fixture.database.url) { client in
            let store = RecordStore(
                client: client,
                schema: "app",
                mode: mode,
                schemaCheckInterval: .seconds(3600),
                rulesPatience: testPatience,
                logger: .quiet
            )
            try await store.prepare()
            try await withRunning {
                await store.run()
            } while: {
                try await body(store)
            }
        }
    }

    private func code(_ body: () async throws(SkyrowError) -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }

    private func fields(_ store: RecordStore, _ name: String) -> [FieldName: FieldType]? {
        store.cache.current[type(name)]?.recordType.fields
    }

    // MARK: First saves

    @Test func aFirstSaveMakesTypeAndFields() async throws {
        try await withStore { fixture in
            let drafts = [
                draft("post/1", ["title": .string("x"), "stars": .integer(1), "author": .reference(id("writer/1"))]),
                draft("writer/1", ["best": .reference(id("post/1")), "n": .sequence, "gone": .null]),
            ]
            #expect(try !fixture.store.schemaPlan(saving: drafts).isEmpty)
            try await fixture.store.createMissingSchema(for: drafts)
            #expect(try fixture.store.schemaPlan(saving: drafts).isEmpty)
            #expect(
                fields(fixture.store, "post")
                    == [
                        field("title"): .string, field("stars"): .integer,
                        field("author"): .reference(type("writer")),
                    ]
            )
            #expect(
                fields(fixture.store, "writer") == [field("best"): .reference(type("post")), field("n"): .sequence]
            )
            let made = try await fixture.psql(
                """
                SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'post'::regclass AND contype = 'f';
                SELECT count(*) FROM pg_indexes WHERE tablename = 'post' AND indexdef LIKE '%(author) WHERE%';
                SELECT col_description('post'::regclass, attnum) FROM pg_attribute
                WHERE attrelid = 'post'::regclass AND attname = 'author';
                """
            )
            #expect(made == "FOREIGN KEY (author) REFERENCES writer(_id) DEFERRABLE\n1\nThe _id of a writer.")
        }
    }

    @Test func aHundredFirstSavesAtOnceAllSucceed() async throws {
        try await withStore { fixture in
            try await withOther(fixture) { other in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        let store = number % 2 == 0 ? fixture.store : other
                        group.addTask {
                            let mine = draft("rush/\(number)", ["field\(number)": .integer(1), "shared": .string("x")])
                            try await store.createMissingSchema(for: [mine])
                            #expect(try store.schemaPlan(saving: [mine]).isEmpty)
                        }
                    }
                    try await group.waitForAll()
                }
                // Read anew: what the other store made last, this one may not have been told of yet.
                let (here, there) = (try await fixture.store.recordSchema(), try await other.recordSchema())
                #expect(here == there)
                #expect(here.types[type("rush")]?.fields.count == 101)
            }
        }
    }

    @Test func recordsThatReferToEachOtherCanBeSavedDeferred() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [
                draft("hen/1", ["egg": .reference(id("egg/1"))]), draft("egg/1", ["hen": .reference(id("hen/1"))]),
            ])
            try await fixture.psql(
                """
                BEGIN; SET CONSTRAINTS ALL DEFERRED;
                INSERT INTO hen (_id, egg) VALUES ('1', '1'); INSERT INTO egg (_id, hen) VALUES ('1', '1');
                COMMIT;
                """
            )
            await #expect(throws: (any Error).self) { try await fixture.psql("DELETE FROM hen") }
        }
    }

    @Test func anIntegerFieldIsWidenedByAFraction() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("item/1", ["price": .integer(1)])])
            try await fixture.psql("INSERT INTO item (_id, price) VALUES ('1', 3)")
            try await fixture.store.createMissingSchema(for: [draft("item/1", ["price": .number(2)])])
            #expect(fields(fixture.store, "item") == [field("price"): .integer])
            try await fixture.store.createMissingSchema(for: [draft("item/1", ["price": .number(2.5)])])
            #expect(fields(fixture.store, "item") == [field("price"): .number])
            #expect(try await fixture.psql("SELECT price, pg_typeof(price) FROM item") == "3|double precision")
        }
    }

    @Test func productionRefusesAndChangesNothing() async throws {
        try await withStore(.production) { fixture in
            let wanted = draft("post/1", ["title": .string("x")])
            #expect(
                await code { () async throws(SkyrowError) in
                    try await fixture.store.createMissingSchema(for: [wanted])
                } == .incompatibleSchema
            )
            #expect(try await fixture.psql("SELECT to_regclass('post') IS NULL") == "t")
            // An administrator makes it; the frozen service takes it from there.
            _ = try await fixture.store.createTypes(
                SchemaCreateRequest(types: [RecordType(name: type("post"), fields: [field("title"): .string])])
            )
            try await fixture.store.createMissingSchema(for: [wanted])
        }
    }

    @Test func aConflictMeetsTheFieldThatAnotherProcessMade() async throws {
        try await withStore { fixture in
            try await withOther(fixture) { other in
                try await other.createMissingSchema(for: [draft("post/1", ["title": .string("x")])])
                #expect(
                    await code { () async throws(SkyrowError) in
                        try await fixture.store.createMissingSchema(for: [draft("post/1", ["title": .integer(1)])])
                    } == .incompatibleSchema
                )
            }
        }
    }

    // MARK: Notices

    @Test func otherProcessesLearnOfAChange() async throws {
        try await withStore { fixture in
            try await withOther(fixture) { other in
                try await fixture.store.createMissingSchema(for: [draft("post/1", ["title": .string("x")])])
                try await until { other.cache.current[type("post")] != nil }
            }
        }
    }

    @Test func changesMadeInPsqlAreNoticed() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD COLUMN title text")
            try await until { fields(fixture.store, "film") == [field("title"): .string] }
            try await fixture.psql("ALTER TABLE film RENAME COLUMN title TO name")
            try await until { fields(fixture.store, "film") == [field("name"): .string] }
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
            try await withOther(fixture) { other in
                // The listeners may still have readings of everything before them; those end.
                var round = 0
                try await until {
                    round += 1
                    let name = "field\(round)"
                    let before = (fixture.store.cache.statistics, other.cache.statistics)
                    let untouched = other.cache.current[type("type2")]
                    try await fixture.store.createMissingSchema(for: [draft("type1/1", [name: .string("x")])])
                    try await until { fields(other, "type1")?[field(name)] != nil }
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
            _ = try await fixture.store.createTypes(SchemaCreateRequest(types: others))
            #expect(names.allSatisfy { fields(fixture.store, $0.rawValue) == [field("next"): .reference(names[0])] })
            try await watch.clear()
            let more = names.map { RecordType(name: $0, fields: [field("more"): .reference(names[1])]) }
            _ = try await fixture.store.createTypes(SchemaCreateRequest(types: more))
            #expect(names.allSatisfy { fields(fixture.store, $0.rawValue)?.count == 2 })
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
            let request = SchemaCreateRequest(types: names.map { RecordType(name: $0, fields: [field("a"): .integer]) })
            try await fixture.store.client.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE app.type139 IN SHARE MODE")
                let error = await #expect(throws: SkyrowError.self) { _ = try await fixture.store.createTypes(request) }
                #expect(error?.code == .overloaded)
                #expect(fields(fixture.store, "type100") == [field("a"): .integer])
                #expect(fields(fixture.store, "type139") == [:])
            }
            _ = try await fixture.store.createTypes(request)
            #expect(names.allSatisfy { fields(fixture.store, $0.rawValue) == [field("a"): .integer] })
        }
    }

    // MARK: What psql makes

    @Test func columnsOfPsqlHaveFieldTypes() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                CREATE DOMAIN score AS bigint;
                CREATE SEQUENCE counter;
                SELECT _create_type('category'), _create_type('odd');
                ALTER TABLE odd
                    ADD i2 smallint, ADD i4 int, ADD i8 bigint, ADD f4 real, ADD f8 float8, ADD s serial,
                    ADD bs bigserial, ADD nv bigint DEFAULT nextval('counter'), ADD ia bigint GENERATED ALWAYS AS IDENTITY,
                    ADD t text, ADD vc varchar(3), ADD u uuid, ADD n numeric, ADD d date, ADD ts timestamp,
                    ADD tz timestamptz, ADD j json, ADD jb jsonb, ADD b boolean, ADD by bytea, ADD dom score,
                    ADD tarr text[], ADD cat text REFERENCES category, ADD cat2 text REFERENCES category (_id),
                    ADD up text GENERATED ALWAYS AS (upper(t)) STORED, ADD "größe" text, ADD "two words" text,
                    ADD _hidden text, ADD role text REFERENCES _role, ADD "Upper" bigint;
                ALTER TABLE odd ADD gone text; ALTER TABLE odd DROP gone;
                """
            )
            try await until { fields(fixture.store, "odd")?[field("Upper")] != nil }
            // What was told of may be the statement before the last.
            _ = try await fixture.store.recordSchema()
            let expected: [String: FieldType] = [
                "i2": .integer, "i4": .integer, "i8": .integer, "f4": .number, "f8": .number, "s": .sequence,
                "bs": .sequence, "nv": .sequence, "ia": .sequence, "t": .string, "vc": .unknown("character varying"),
                "u": .unknown("uuid"), "n": .unknown("numeric"), "d": .unknown("date"),
                "ts": .unknown("timestamp without time zone"), "tz": .datetime, "j": .unknown("json"), "jb": .json,
                "b": .boolean, "by": .bytes, "dom": .unknown("app.score"), "tarr": .array(.string),
                "cat": .reference(type("category")), "cat2": .reference(type("category")), "up": .string,
                "role": .string, "Upper": .integer,
            ]
            let found = try #require(fields(fixture.store, "odd"))
            #expect(found == Dictionary(uniqueKeysWithValues: expected.map { (field($0.key), $0.value) }))
            let table = try #require(fixture.store.cache.current[type("odd")])
            let readOnly = table.columns.filter { !$0.isWritable }.map(\.field.rawValue)
            #expect(Set(readOnly) == ["vc", "u", "n", "d", "ts", "j", "dom", "ia", "up"])
            #expect(table[field("cat")]?.foreignKey == "odd_cat_fkey")
        }
    }

    @Test func onlyRecordTablesAreTypes() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                SELECT _create_type('film'), _create_type('_x' || '') WHERE false;
                CREATE TABLE plain (a text);
                CREATE TABLE almost (LIKE "user"); ALTER TABLE almost ALTER _revision TYPE int;
                CREATE VIEW shown AS SELECT * FROM "user";
                CREATE TABLE "no type" (LIKE "user");
                SELECT _create_type('film');
                """
            )
            try await until { fixture.store.cache.current[type("film")] != nil }
            let catalog = fixture.store.cache.current
            #expect(Set(catalog.tables.keys.map(\.rawValue)) == ["film", "user"])
            #expect(catalog.otherNames.isSuperset(of: ["plain", "almost", "shown", "no type", "film_pkey"]))
            #expect(!catalog.otherNames.contains { $0.hasPrefix("_") })
            #expect(
                await code { () async throws(SkyrowError) in
                    try await fixture.store.createMissingSchema(for: [draft("plain/1")])
                } == .incompatibleSchema
            )
        }
    }

    /// A question about a type that is none yet has no records for its answer; a view that could be none has no answer.
    @Test(arguments: [("shown", ErrorCode.resourceNotFound), ("plain", .resourceNotFound), ("later", nil)])
    func aViewIsNoEmptyType(name: String, expected: ErrorCode?) async throws {
        try await withStore { fixture in
            try await fixture.psql(#"CREATE TABLE plain (a text); CREATE VIEW shown AS SELECT * FROM "user";"#)
            let (store, access, asked) = (
                fixture.store, RecordAccess(.master, in: .everyone, for: .reading), type(name)
            )
            let query = await code { () async throws(SkyrowError) in
                let found = try await store.query(RecordQuery(type: asked), with: access)
                #expect(found.records.isEmpty)
            }
            #expect(query == expected)
            let aggregate = await code { () async throws(SkyrowError) in
                _ = try await store.aggregate(AggregateQuery(type: asked, aggregates: []), with: access)
            }
            #expect(aggregate == expected)
            let found = try await store.fetch([RecordID(type: asked, id: "1"), RecordID("user/none")], with: access)
            let codes = found.map { outcome -> ErrorCode? in
                if case .failure(let error, _) = outcome { error.code } else { nil }
            }
            #expect(codes == [.resourceNotFound, .resourceNotFound])
        }
    }

    // MARK: Locks

    @Test func aLockThatIsReleasedIsWaitedFor() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("busy/1")])
            async let change: Void = withPostgresClient(fixture.database.url) { client in
                try await client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.busy IN SHARE MODE")
                    // Until the change below stands in the queue.
                    try await until {
                        try await fixture.database.sessionsWaitingForALock() == 1
                    }
                }
            }
            try await until {
                try await fixture.database.locks(
                    where: "mode = 'ShareLock' AND granted AND relation = 'app.busy'::regclass"
                ) == 1
            }
            try await fixture.store.createMissingSchema(for: [draft("busy/1", ["late": .integer(1)])])
            try await change
            #expect(fields(fixture.store, "busy") == [field("late"): .integer])
        }
    }

    @Test func aLockThatIsKeptIsReportedAndHoldsNobodyUp() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("busy/1")])
            try await fixture.store.client.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE app.busy IN SHARE MODE")
                #expect(
                    await code { () async throws(SkyrowError) in
                        try await fixture.store.createMissingSchema(for: [draft("busy/1", ["late": .integer(1)])])
                    } == .overloaded
                )
            }
            try await fixture.store.createMissingSchema(for: [draft("busy/1", ["late": .integer(1)])])
        }
    }

    // MARK: Schema actions

    @Test func schemaCreateIsAllOrNothing() async throws {
        try await withStore { fixture in
            let good = RecordType(name: type("good"), fields: [field("other"): .reference(type("other"))])
            let other = RecordType(name: type("other"), fields: [field("good"): .reference(type("good"))])
            let bad = RecordType(name: .user, fields: [field("username"): .integer])
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.createTypes(SchemaCreateRequest(types: [good, other, bad]))
                } == .incompatibleSchema
            )
            #expect(try await fixture.psql("SELECT to_regclass('good') IS NULL") == "t")
            let schema = try await fixture.store.createTypes(SchemaCreateRequest(types: [good, other]))
            #expect(schema.types[type("good")] == good && schema.types[type("other")] == other)
            #expect(schema.types[.user]?.fields[field("username")] == .string)
        }
    }

    @Test func aFieldIsRenamedAndDeletedWithItsData() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [
                draft("post/1", ["title": .string("x"), "body": .string("x")])
            ])
            try await fixture.psql("INSERT INTO post (_id, title) VALUES ('1', 'kept')")
            let renamed = try await fixture.store.renameField(
                SchemaRenameRequest(type: type("post"), field: field("title"), newName: field("name"))
            )
            #expect(renamed.types[type("post")]?.fields == [field("name"): .string, field("body"): .string])
            #expect(try await fixture.psql("SELECT name FROM post") == "kept")
            let deleted = try await fixture.store.deleteField(
                SchemaDeleteRequest(type: type("post"), field: field("name"))
            )
            #expect(deleted.types[type("post")]?.fields == [field("body"): .string])
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.deleteField(
                        SchemaDeleteRequest(type: type("post"), field: field("name"))
                    )
                } == .resourceNotFound
            )
        }
    }

    @Test func aFieldThatAViewShowsIsNotDeleted() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("post/1", ["title": .string("x")])])
            try await fixture.psql("CREATE VIEW titles AS SELECT title FROM post")
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.deleteField(
                        SchemaDeleteRequest(type: type("post"), field: field("title"))
                    )
                } == .incompatibleSchema
            )
        }
    }

    @Test func moreFieldsThanPostgreSQLHoldsAreRefused() async throws {
        try await withStore { fixture in
            let fields = Dictionary(uniqueKeysWithValues: (0..<1600).map { (field("f\($0)"), FieldType.string) })
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.createTypes(
                        SchemaCreateRequest(types: [RecordType(name: type("wide"), fields: fields)])
                    )
                } == .incompatibleSchema
            )
        }
    }

    @Test func preparedStatementsOutliveAChange() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [draft("post/1", ["stars": .integer(1)])])
            try await fixture.psql("INSERT INTO post (_id, stars) VALUES ('1', 3)")
            func stars() async throws -> [FieldName: RecordValue]? {
                let outcome = try await fixture.store.fetch([id("post/1")], in: .everyone, caller: .anonymous)
                guard case .record(let source) = outcome.first else { return nil }
                return source.collected()?.fields
            }
            #expect(try await stars() == [field("stars"): .integer(3)])
            try await fixture.store.createMissingSchema(for: [draft("post/1", ["stars": .number(1.5)])])
            #expect(try await stars() == [field("stars"): .number(3)])
            _ = try await fixture.store.renameField(
                SchemaRenameRequest(type: type("post"), field: field("stars"), newName: field("points"))
            )
            #expect(try await stars() == [field("points"): .number(3)])
        }
    }

    // MARK: Login keys

    @Test func loginKeysAreMadeAtStart() async throws {
        try await withStore(loginKeys: [field("username"), field("phone")]) { fixture in
            #expect(fields(fixture.store, "user")?[field("phone")] == .string)
            try await fixture.psql("INSERT INTO \"user\" (phone) VALUES ('ABC')")
            await #expect(throws: (any Error).self) {
                try await fixture.psql("INSERT INTO \"user\" (phone) VALUES ('abc')")
            }
            try await fixture.store.prepare()
        }
    }

    /// A second process of another setting, on a database with accounts.
    private func withNewKey(
        bound: Int64,
        test: String = #function,
        _ body: (StoreFixture, RecordStore) async throws -> Void
    ) async throws {
        try await withStore(test: test) { fixture in
            try await fixture.psql(
                """
                ALTER TABLE "user" ADD phone text COLLATE "C";
                INSERT INTO "user" (_id, phone) SELECT n, 'p' || n FROM generate_series(1, 50) AS n;
                """
            )
            try await withPostgresClient(fixture.database.url) { client in
                let store = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .production,
                    loginKeys: [field("username"), field("phone")],
                    largeTableBound: bound,
                    logger: .quiet
                )
                try await body(fixture, store)
            }
        }
    }

    private static let phoneIndex = """
        SELECT indisvalid, pg_get_indexdef(indexrelid) LIKE 'CREATE UNIQUE INDEX%_login_canonical(phone)%' FROM pg_index
        WHERE indexrelid = to_regclass('_login_key_phone')
        """

    @Test(arguments: [0, LargeTables.bound] as [Int64])
    func accountsAreWrittenWhileALoginKeyIsIndexed(_ bound: Int64) async throws {
        try await withNewKey(bound: bound) { fixture, store in
            let watch = try await LockWatch("user", in: fixture)
            try await store.prepare()
            #expect(try await fixture.psql(Self.phoneIndex) == "t|t")
            #expect(try await (watch.blocking(rows: 50) == "") == (bound == 0))
            #expect(try await LoginKeys.existing(in: "app", of: store.client).contains(field("phone")))
        }
    }

    /// The build waits for a transaction that has written to accounts; others write meanwhile.
    @Test func nothingOfALoginKeyIsThereBeforeItsIndexIsValid() async throws {
        try await withNewKey(bound: 0) { fixture, store in
            async let prepared: Void = fixture.store.client.withTransaction { transaction in
                try await transaction.execute("INSERT INTO app.\"user\" (_id, phone) VALUES ('slow', 'slow')")
                // Until the build stands behind this transaction.
                try await until {
                    try await fixture.psql(
                        """
                        SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE UNIQUE INDEX CONCURRENTLY%'
                            AND datname = current_database() AND wait_event_type = 'Lock'
                        """
                    ) == "1"
                }
                try await fixture.psql(
                    "SET lock_timeout = '1s'; INSERT INTO \"user\" (_id, phone) VALUES ('fast', 'fast')"
                )
                #expect(try await !LoginKeys.existing(in: "app", of: fixture.store.client).contains(field("phone")))
            }
            try await until {
                try await fixture.database.locks(
                    where: "mode = 'RowExclusiveLock' AND granted AND relation = 'app.\"user\"'::regclass"
                ) == 1
            }
            try await store.prepare()
            try await prepared
            #expect(try await fixture.psql(Self.phoneIndex) == "t|t")
        }
    }

    @Test(arguments: [0, LargeTables.bound] as [Int64])
    func aLoginKeyOfWhichTwoAccountsHaveTheSameLeavesNothing(_ bound: Int64) async throws {
        try await withNewKey(bound: bound) { fixture, store in
            try await fixture.psql("INSERT INTO \"user\" (_id, phone) VALUES ('twice', 'P7')")
            let error = await #expect(throws: PostgresError.self) { try await store.prepare() }
            #expect(error?.sqlState == .uniqueViolation && error?.message?.contains("_login_key_phone") == true)
            #expect(try await fixture.psql(Self.phoneIndex) == "")
            try await fixture.psql("DELETE FROM \"user\" WHERE _id = 'twice'")
            try await store.prepare()
            #expect(try await fixture.psql(Self.phoneIndex) == "t|t")
        }
    }

    /// What a build has left that was cut off, here over another value.
    @Test(arguments: [0, LargeTables.bound] as [Int64])
    func anIndexThatWasCutOffIsBuiltAgain(_ bound: Int64) async throws {
        try await withNewKey(bound: bound) { fixture, store in
            try await fixture.psql(
                """
                CREATE UNIQUE INDEX _login_key_phone ON "user" (phone);
                UPDATE pg_index SET indisvalid = false WHERE indexrelid = '_login_key_phone'::regclass;
                """
            )
            #expect(try await !LoginKeys.existing(in: "app", of: store.client).contains(field("phone")))
            try await store.prepare()
            #expect(try await fixture.psql(Self.phoneIndex) == "t|t")
            #expect(try await LoginKeys.existing(in: "app", of: store.client).contains(field("phone")))
        }
    }

    @Test func aLoginKeyThatIsNoTextIsRefused() async throws {
        await #expect(throws: SkyrowError.self) {
            try await withStore(loginKeys: [field("last_login_at")]) { _ in }
        }
        await #expect(throws: SkyrowError.self) {
            try await withStore(loginKeys: [field(String(repeating: "x", count: 60))]) { _ in }
        }
    }
}
