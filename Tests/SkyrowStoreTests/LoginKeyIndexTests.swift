import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The indexes of the fields that accounts log in with.
@Suite(.timeLimit(.minutes(60))) struct LoginKeyIndexTests {
    @Test func loginKeysAreMadeAtStart() async throws {
        try await withStore(loginKeys: [field("username"), field("phone")]) { fixture in
            #expect(fixture.store.knownFields("user")?[field("phone")] == .string)
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
                    "SET lock_timeout = '100s'; INSERT INTO \"user\" (_id, phone) VALUES ('fast', 'fast')"
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
