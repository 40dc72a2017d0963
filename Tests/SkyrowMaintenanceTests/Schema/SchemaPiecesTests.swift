import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// Schema files that change so many tables that others would wait too long for one transaction.
@Suite(.timeLimit(.minutes(60))) struct SchemaPiecesTests {
    private static let names = (100...139).map { type("type\($0)") }

    private func withTypes(test: String = #function, _ body: (StoreFixture) async throws -> Void) async throws {
        try await withStore(.production, test: test) { f in
            try await f.psql("SELECT count(_create_type('type' || n)) FROM generate_series(100, 139) AS n")
            try await f.store.cache.reload()
            try await body(f)
        }
    }

    private static let cuts: [(costs: [Int], pieces: [[Int]])] = [
        ([], []), ([1], [[1]]), ([60], [[60]]), ([30, 30, 1], [[30, 30], [1]]),
        ([59, 2, 58, 1], [[59], [2, 58], [1]]),
        ([100, 1], [[100], [1]]), ([1, 100, 100], [[1], [100], [100]]),
    ]

    @Test(arguments: cuts.indices)
    func aPlanIsCutInItsOrder(_ index: Int) {
        let (costs, pieces) = Self.cuts[index]
        #expect(SchemaPieces.cut(costs) { $0 } == pieces)
    }

    /// A type or field is never there without its rules, and none is without rules while it is there.
    @Test func rulesAreMadeBetweenWhatGoesAndWhatComes() throws {
        let note = Self.names[0]
        let plan: [SchemaFileChange] =
            [
                .renameType(Self.names[2], to: Self.names[1]), .common(.createType(note)),
                .common(.addField(field("fresh"), .string, to: note)), .common(.deleteField(field("secret"), of: note)),
                .deleteType(Self.names[3]), .setAccess(ClassAccess(), of: note),
            ] + (0..<60).map { .setComment("\($0)", nil, of: note) }
        let pieces = SchemaSchedule(plan, large: []).pieces
        #expect(pieces.count > 1 && Set(pieces.joined()) == Set(plan) && pieces.joined().count == plan.count)
        let order = pieces.joined().prefix(5)
        #expect(Array(order) == [plan[0], plan[3], plan[5], plan[1], plan[2]])
        // What has room in one transaction stays as it is.
        #expect(SchemaSchedule(Array(plan.prefix(6)), large: []).pieces == [Array(plan.prefix(6))])
        #expect(SchemaSchedule([], large: []).pieces == [[]])
    }

    @Test func manyTablesAreLockedSomeAtATime() async throws {
        try await withTypes { f in
            let watch = try await TransactionWatch(in: f)
            var document = try await f.store.schemaDocument()
            for name in Self.names {
                document.types[name]?.fields = [
                    field("title"): DocumentedField(.string),
                    field("first"): DocumentedField(.reference(Self.names[0])),
                ]
            }
            try await f.apply(document)
            #expect(try await f.store.compareSchema(with: document).difference.isEmpty)
            let (transactions, tables) = try await watch.seen()
            #expect(transactions > 4 && (2...10).contains(tables), "\(transactions) transactions, \(tables) tables")
        }
    }

    /// The same in one transaction, which the flag is for.
    @Test func theFlagMakesAllOrNothing() async throws {
        try await withTypes { f in
            let watch = try await TransactionWatch(in: f)
            var document = try await f.store.schemaDocument()
            for name in Self.names { document.types[name]?.fields = [field("title"): DocumentedField(.string)] }
            let report = try await f.store.compareSchema(with: document)
            func apply() async throws {
                try await f.store.applySchema(
                    document,
                    expecting: report.difference,
                    repairing: true,
                    allowingLoss: false,
                    lockingTables: true
                )
            }
            try await f.store.client.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE app.type139 IN SHARE MODE")
                let error = await #expect(throws: SkyrowError.self) { try await apply() }
                #expect(error?.message == "Another session keeps a table locked; try again when it is free.")
            }
            #expect(try await f.store.compareSchema(with: document) == report)
            try await apply()
            let (transactions, tables) = try await watch.seen()
            #expect(transactions == 1 && tables == 40, "\(transactions) transactions, \(tables) tables")
        }
    }

    /// Others would find the lock table full meanwhile.
    @Test func moreTypesThanTheLockTableHoldsAreRefusedInOneTransaction() async throws {
        try await withStore(.production) { f in
            let room = try #require(
                Int(
                    try await f.psql(
                        """
                        SELECT current_setting('max_locks_per_transaction')::int
                            * current_setting('max_connections')::int / 4 * 3
                        """
                    )
                )
            )
            var document = try await f.store.schemaDocument()
            for number in 0...(room / 9) { document.types[type("type\(number)")] = DocumentedType() }
            let report = try await f.store.compareSchema(with: document)
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.applySchema(
                    document,
                    expecting: report.difference,
                    repairing: true,
                    allowingLoss: false,
                    lockingTables: true
                )
            }
            #expect(error?.code == .incompatibleSchema)
            #expect(error?.message.contains("room for about \(room / 9) new ones") == true)
            #expect(try await f.psql("SELECT to_regclass('type1') IS NULL") == "t")
        }
    }

    private enum Interruption: CaseIterable {
        /// Somebody reads a table in a transaction that goes on.
        case lock
        /// The connection is cut off at its table.
        case crash
    }

    @Test(arguments: Interruption.allCases.indices)
    func whatWasInterruptedIsCompletedByTheSameFile(_ index: Int) async throws {
        try await withTypes { f in
            var document = try await f.store.schemaDocument()
            for name in Self.names { document.types[name]?.fields = [field("title"): DocumentedField(.string)] }
            let error: SkyrowError?
            switch Interruption.allCases[index] {
            case .lock:
                error = try await f.store.client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.type139 IN ACCESS SHARE MODE")
                    return await #expect(throws: SkyrowError.self) { try await f.apply(document) }
                }
            case .crash:
                try await f.psql(
                    """
                    CREATE FUNCTION public.crash() RETURNS event_trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'app.type139') THEN
                            PERFORM pg_terminate_backend(pg_backend_pid());
                        END IF;
                    END $$;
                    CREATE EVENT TRIGGER crash ON ddl_command_end EXECUTE FUNCTION public.crash();
                    """
                )
                error = await #expect(throws: SkyrowError.self) { try await f.apply(document) }
                try await f.psql("DROP EVENT TRIGGER crash")
            }
            // A field is two milliseconds' worth, so that a transaction has room for 30.
            #expect(error?.message.contains("30 of 40 steps were done") == true, "\(error?.message ?? "")")
            let report = try await f.store.compareSchema(with: document)
            #expect(report.difference.changes.count == 10)
            try await f.apply(document)
            #expect(try await f.store.compareSchema(with: document).difference.isEmpty)
        }
    }

    @Test func typesThatReferToEachOtherComeAndGoInPieces() async throws {
        try await withStore(.production) { f in
            let empty = try await f.store.schemaDocument()
            var document = empty
            let names = Self.names.prefix(12)
            for (place, name) in names.enumerated() {
                document.types[name] = DocumentedType(
                    fields: [
                        field("next"): DocumentedField(.reference(names[(place + 1) % names.count])),
                        field("last"): DocumentedField(.reference(names[(place + 11) % names.count])),
                        field("far"): DocumentedField(.relation(names[(place + 5) % names.count])),
                    ]
                )
            }
            let watch = try await TransactionWatch(in: f)
            try await f.apply(document)
            #expect(try await f.store.compareSchema(with: document).difference.changes == [])
            #expect(try await watch.seen().transactions > 4)
            try await watch.clear()
            try await f.apply(empty)
            #expect(try await f.store.compareSchema(with: empty).difference.isEmpty)
            #expect(try await watch.seen().transactions > 4)
            #expect(try await f.psql("SELECT count(*) FROM pg_class WHERE starts_with(relname, 'type1')") == "0")
        }
    }

    /// Whether the rules of a new type are there when its table comes.
    @Test func newTypesHaveTheirRulesFromTheBeginning() async throws {
        try await withStore(.production) { f in
            try await f.psql(
                """
                CREATE SCHEMA crowd;
                CREATE TABLE crowd.open (name text);
                CREATE FUNCTION crowd.look() RETURNS event_trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO crowd.open SELECT object_identity FROM pg_event_trigger_ddl_commands()
                    WHERE command_tag = 'CREATE TABLE' AND NOT EXISTS (
                        SELECT FROM app_internal._class_rule WHERE object_identity = 'app.' || type
                    );
                END $$;
                CREATE EVENT TRIGGER look ON ddl_command_end EXECUTE FUNCTION crowd.look();
                """
            )
            var document = try await f.store.schemaDocument()
            for name in Self.names.prefix(20) {
                var access = ClassAccess()
                access.rules[.delete] = ClassRule([], .override)
                document.types[name] = DocumentedType(fields: [field("a"): DocumentedField(.string)], access: access)
            }
            try await f.apply(document)
            #expect(try await f.psql("SELECT string_agg(name, ',') FROM crowd.open") == "")
            #expect(try await f.store.compareSchema(with: document).difference.isEmpty)
        }
    }
}
