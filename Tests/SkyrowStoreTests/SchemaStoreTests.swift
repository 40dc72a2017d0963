import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct SchemaStoreTests {
    private func code(_ body: () async throws(SkyrowError) -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return error.code
        }
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
                fixture.store.knownFields("post")
                    == [
                        field("title"): .string, field("stars"): .integer,
                        field("author"): .reference(type("writer")),
                    ]
            )
            #expect(
                fixture.store.knownFields("writer") == [field("best"): .reference(type("post")), field("n"): .sequence]
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
            try await withOtherStore(fixture) { other in
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
            #expect(fixture.store.knownFields("item") == [field("price"): .integer])
            try await fixture.store.createMissingSchema(for: [draft("item/1", ["price": .number(2.5)])])
            #expect(fixture.store.knownFields("item") == [field("price"): .number])
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
            _ = try await fixture.store.createTypes([RecordType(name: type("post"), fields: [field("title"): .string])])
            try await fixture.store.createMissingSchema(for: [wanted])
        }
    }

    @Test func aConflictMeetsTheFieldThatAnotherProcessMade() async throws {
        try await withStore { fixture in
            try await withOtherStore(fixture) { other in
                try await other.createMissingSchema(for: [draft("post/1", ["title": .string("x")])])
                #expect(
                    await code { () async throws(SkyrowError) in
                        try await fixture.store.createMissingSchema(for: [draft("post/1", ["title": .integer(1)])])
                    } == .incompatibleSchema
                )
            }
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
            try await until { fixture.store.knownFields("odd")?[field("Upper")] != nil }
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
            let found = try #require(fixture.store.knownFields("odd"))
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
            #expect(fixture.store.knownFields("busy") == [field("late"): .integer])
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
                    _ = try await fixture.store.createTypes([good, other, bad])
                } == .incompatibleSchema
            )
            #expect(try await fixture.psql("SELECT to_regclass('good') IS NULL") == "t")
            let schema = try await fixture.store.createTypes([good, other])
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
                FieldRename(type: type("post"), field: field("title"), newName: field("name"))
            )
            #expect(renamed.types[type("post")]?.fields == [field("name"): .string, field("body"): .string])
            #expect(try await fixture.psql("SELECT name FROM post") == "kept")
            let deleted = try await fixture.store.deleteField(FieldDeletion(type: type("post"), field: field("name")))
            #expect(deleted.types[type("post")]?.fields == [field("body"): .string])
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.deleteField(FieldDeletion(type: type("post"), field: field("name")))
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
                    _ = try await fixture.store.deleteField(FieldDeletion(type: type("post"), field: field("title")))
                } == .incompatibleSchema
            )
        }
    }

    @Test func moreFieldsThanPostgreSQLHoldsAreRefused() async throws {
        try await withStore { fixture in
            let fields = Dictionary(uniqueKeysWithValues: (0..<1600).map { (field("f\($0)"), FieldType.string) })
            #expect(
                await code { () async throws(SkyrowError) in
                    _ = try await fixture.store.createTypes([RecordType(name: type("wide"), fields: fields)])
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
                FieldRename(type: type("post"), field: field("stars"), newName: field("points"))
            )
            #expect(try await stars() == [field("points"): .number(3)])
        }
    }
}
