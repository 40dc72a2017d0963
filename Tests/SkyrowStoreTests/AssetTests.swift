import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A file is saved by its name, to a column whose foreign key admits the names there are.
@Suite(.timeLimit(.minutes(60))) struct AssetTests: AggregateSuite {
    private static let cat = asset("cat.png")
    private static let dog = asset("dog.png", number: 1)
    private static let missing = asset("missing.png", number: 2)

    private func withFiles(
        _ mode: SchemaMode = .development,
        test: String = #function,
        _ body: (StoreFixture) async throws -> Void
    ) async throws {
        try await withStore(mode, test: test) { f in
            try await f.psql(insertion(of: [Self.cat, Self.dog]))
            try await body(f)
        }
    }

    private func outcomes(
        _ f: StoreFixture,
        _ drafts: [RecordDraft],
        in scope: DatabaseScope = .everyone,
        atomic: Bool = false
    ) async throws -> [RecordOutcome] {
        try await f.store.createMissingSchema(for: drafts)
        return try await f.store.save(drafts.map { .draft($0) }, in: scope, caller: .ann, atomic: atomic)
    }

    private func photos(_ f: StoreFixture, _ ids: [String]) async throws -> [RecordValue?] {
        try await f.store.fetch(ids.map { id($0) }, in: .everyone, caller: .ann).map {
            try $0.record.fields[field("photo")]
        }
    }

    private func ids(_ f: StoreFixture, _ query: RecordQuery) async throws -> [String] {
        try await f.store.query(query, in: .everyone, caller: .ann).records.compactMap { $0.collected()?.id.id }
    }

    @Test func theFirstSaveMakesAColumnThatRefersToTheFiles() async throws {
        try await withFiles { f in
            // One alone, then several as arrays, over new rows and old ones.
            let values: [RecordValue] = [.asset(Self.cat), .asset(Self.dog), .asset(Self.cat)]
            for part in [values[..<1], values[...], values[...]] {
                let drafts = part.enumerated().map { draft("shop/\($0)", ["photo": $1]) }
                let saved = try await outcomes(f, drafts).map { try $0.record.fields[field("photo")] }
                #expect(saved == Array(part))
                #expect(try await photos(f, drafts.map(\.id.description)) == Array(part))
            }
            #expect(try await f.psql("SELECT photo FROM shop WHERE _id = '1'") == Self.dog.name.rawValue)
            #expect(
                try await f.psql(
                    """
                    SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'shop'::regclass AND contype = 'f';
                    SELECT format_type(atttypid, atttypmod), attcollation = 'pg_catalog."C"'::regcollation,
                        col_description(attrelid, attnum)
                    FROM pg_attribute WHERE attrelid = 'shop'::regclass AND attname = 'photo';
                    SELECT indexdef LIKE '%(photo) WHERE (photo IS NOT NULL)' FROM pg_indexes WHERE indexname = 'shop_photo_idx'
                    """
                ) == "FOREIGN KEY (photo) REFERENCES _asset(name) DEFERRABLE\ntext|t|The name of a file.\nt"
            )
            // Kept, and then taken away.
            _ = try await outcomes(f, [draft("shop/0", ["name": .string("x")])]).map { try $0.record }
            #expect(try await photos(f, ["shop/0"]) == [.asset(Self.cat)])
            _ = try await outcomes(f, [draft("shop/0", ["photo": .null])]).map { try $0.record }
            #expect(try await photos(f, ["shop/0"]) == [nil])
        }
    }

    @Test(arguments: [DatabaseScope.everyone, .user("ann")])
    func aNameThatNoFileHasIsRefusedAlone(_ scope: DatabaseScope) async throws {
        try await withFiles { f in
            try await f.psql(
                "INSERT INTO \"user\" (_id, _owner) VALUES ('ann', 'ann'); INSERT INTO _user (id) VALUES ('ann')"
            )
            let drafts = [
                draft("shop/0", ["photo": .asset(Self.cat)]), draft("shop/1", ["photo": .asset(Self.missing)]),
                draft("shop/2", ["photo": .asset(Self.dog)]),
            ]
            let expected = SkyrowError.missingFile(of: field("photo"))
            #expect(expected.code == .invalidArgument && expected.message == "The file does not exist.")
            for outcome in try await outcomes(f, [drafts[1]], in: scope) { #expect(outcome.error == expected) }
            #expect(try await outcomes(f, drafts, in: scope).map(\.error) == [nil, expected, nil])
            await #expect(throws: SkyrowError.self) { try await outcomes(f, drafts, in: scope, atomic: true) }
            #expect(try await f.psql("SELECT count(*) FROM shop WHERE photo IS NOT NULL") == "2")
        }
    }

    @Test func onlyFilesFitTheField() async throws {
        try await withFiles { f in
            let drafts = [draft("shop/0", ["photo": .asset(Self.cat), "name": .string("x")])]
            _ = try await outcomes(f, drafts).map { try $0.record }
            for (name, value) in [
                ("photo", RecordValue.integer(1)), ("photo", .reference(id("shop/0"))), ("name", .asset(Self.cat)),
            ] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await outcomes(f, [RecordDraft(id: id("shop/0"), fields: [(field(name), value)])])
                }
                #expect(error?.code == .incompatibleSchema && error?.info == ["arguments": .list([.string(name)])])
            }
            let text = [draft("shop/0", ["photo": .string(Self.cat.name.rawValue)])]
            #expect(try await outcomes(f, text)[0].error?.code == .invalidArgument)
        }
    }

    @Test func filesAreComparedByTheirNames() async throws {
        try await withFiles { f in
            let drafts = [
                draft("shop/0", ["photo": .asset(Self.cat)]), draft("shop/1", ["photo": .asset(Self.dog)]),
                draft("shop/2", ["photo": .asset(Self.cat)]), draft("shop/3"),
            ]
            _ = try await outcomes(f, drafts).map { try $0.record }
            let rows: [(Predicate, [String])] = [
                (.compare(.eq, "photo", .asset(Self.cat)), ["0", "2"]),
                (.compare(.neq, "photo", .asset(Self.cat)), ["1"]),
                (.compare(.eq, "photo", .asset(Self.missing)), []), (.compare(.eq, "photo", .null), ["3"]),
                (.compare(.exists, "photo", .boolean(true)), ["0", "1", "2"]),
                (.isIn("photo", [.asset(Self.dog), .asset(Self.missing)]), ["1"]),
                (.comparison(.nin, .keyPath(path("photo")), .list([.asset(Self.dog)])), ["0", "2"]),
                (.comparison(.eq, .keyPath(path("photo")), .keyPath(path("photo"))), ["0", "1", "2"]),
            ]
            for (predicate, found) in rows {
                #expect(
                    try await ids(f, RecordQuery(type: type("shop"), predicate: predicate)) == found,
                    "\(predicate)"
                )
            }
            // As for references, the order tells only which records have the same value.
            let sorted = RecordQuery(type: type("shop"), sort: [SortKey(path("photo"), .descending, .last)])
            #expect(try await ids(f, sorted) == ["1", "2", "0", "3"])
            var page = sorted
            page.limit = 3
            let first = try await f.store.query(page, in: .everyone, caller: .ann)
            page.position = .after(try #require(first.cursor))
            #expect(try await ids(f, page) == ["3"])
        }
    }

    @Test func groupsHaveFilesAsTheirKeys() async throws {
        try await withRecords { f in
            try await f.psql(insertion(of: [Self.dog]))
            try await f.save(
                [Self.cat, Self.dog, Self.cat].enumerated().map { draft("note/\($0)", ["photo": .asset($1)]) }
            )
            let query = AggregateQuery(
                type: type("note"),
                groupKeys: [Self.key("photo")],
                aggregates: [Self.aggregate("n", .count)],
                having: .compare(.neq, "photo", .asset(Self.missing))
            )
            #expect(
                try await Self.groups(f, query) == [
                    ["photo": .asset(Self.cat), "n": .integer(2)], ["photo": .asset(Self.dog), "n": .integer(1)],
                ]
            )
        }
    }

    /// Which columns of psql are files: text with a foreign key to the names in the internal schema.
    @Test func columnsOfPsqlAreRecognizedByTheirForeignKey() async throws {
        try await withFiles { f in
            try await f.psql(
                """
                CREATE TABLE app._asset (name text PRIMARY KEY, _id text UNIQUE);
                CREATE TABLE app_internal._other (name text PRIMARY KEY);
                SELECT _create_type('shop');
                ALTER TABLE shop ADD plain text REFERENCES app_internal._asset (name),
                    ADD cleared text COLLATE "C" REFERENCES app_internal._asset (name) ON DELETE SET NULL,
                    ADD other text REFERENCES app_internal._other (name), ADD wrong text REFERENCES app._asset (name),
                    ADD id text REFERENCES app._asset (_id), ADD loose text;
                """
            )
            try await f.store.cache.reload()
            #expect(
                f.store.cache.current[type("shop")]?.recordType.fields == [
                    field("plain"): .asset, field("cleared"): .asset, field("other"): .string, field("wrong"): .string,
                    field("id"): .string, field("loose"): .string,
                ]
            )
            try await f.psql(
                "INSERT INTO shop (_id, plain, cleared) VALUES ('1', '\(Self.cat.name)', '\(Self.dog.name)')"
            )
            let record = try await f.store.fetch([id("shop/1")], in: .everyone, caller: .ann)[0].record
            #expect(record.fields == [field("plain"): .asset(Self.cat), field("cleared"): .asset(Self.dog)])
            let refused = [draft("shop/2", ["plain": .asset(Self.missing)])]
            #expect(try await outcomes(f, refused)[0].error == .missingFile(of: field("plain")))
        }
    }

    @Test func onlyASchemaMakesTheFieldInProduction() async throws {
        try await withFiles(.production) { f in
            let drafts = [draft("shop/0", ["photo": .asset(Self.cat)])]
            let error = await #expect(throws: SkyrowError.self) { try await outcomes(f, drafts) }
            #expect(error?.code == .incompatibleSchema)
            _ = try await f.store.createTypes([RecordType(name: type("shop"), fields: [field("photo"): .asset])])
            let saved = try await outcomes(f, drafts)[0].record
            #expect(saved.fields == [field("photo"): .asset(Self.cat)])
        }
    }

    /// A file stays while a record has it, and one transaction can take both away in any order.
    @Test func aFileThatARecordHasIsKept() async throws {
        try await withFiles { f in
            _ = try await outcomes(f, [draft("shop/0", ["photo": .asset(Self.cat)])]).map { try $0.record }
            let deletion = "DELETE FROM _asset WHERE name = '\(Self.cat.name)'"
            await #expect(throws: (any Error).self) { try await f.psql(deletion) }
            try await f.psql("BEGIN; SET CONSTRAINTS ALL DEFERRED; \(deletion); UPDATE shop SET photo = NULL; COMMIT")
            #expect(try await f.psql("SELECT name FROM _asset") == Self.dog.name.rawValue)
            #expect(try await photos(f, ["shop/0"]) == [nil])
        }
    }

    /// The new foreign key locks the table of files too, for as long as it takes to make it.
    @Test func aNewFieldWaitsForTheTableOfFiles() async throws {
        let change = SchemaChange.addField(field("photo"), .asset, to: type("shop"))
        #expect(change.tableLocks == [TableLock(.changed, type("shop")), TableLock(.files, type("shop"))])
        try await withFiles { f in
            try await f.psql("SELECT _create_type('shop')")
            let held = try await f.store.client.withTransaction { transaction in
                try await transaction.lock(change.tableLocks, in: "app")
                return try await transaction.query(
                    """
                    SELECT string_agg(format('%s %s', relation::regclass, mode), ', ' ORDER BY relation::regclass::text COLLATE "C")
                    FROM pg_locks JOIN pg_class ON pg_class.oid = relation
                    WHERE pid = pg_backend_pid() AND relname IN ('shop', '_asset') AND mode LIKE '%Exclusive%'
                    """
                ).decode(row: 0, column: 0, as: String.self)
            }
            #expect(held == "app.shop AccessExclusiveLock, app_internal._asset ShareRowExclusiveLock")
        }
    }
}
