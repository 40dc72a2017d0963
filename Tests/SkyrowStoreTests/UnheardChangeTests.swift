import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Changes of the schema of which no notice arrives.
@Suite(.timeLimit(.minutes(60))) struct UnheardChangeTests {
    @Test(arguments: [
        "ALTER TABLE note ADD COLUMN stars bigint",
        "ALTER TABLE note RENAME COLUMN title TO stars",
        "ALTER TABLE note DROP COLUMN title",
        "ALTER TABLE note RENAME TO memo",
        "DROP TABLE note",
        "ALTER TABLE note ADD COLUMN other text REFERENCES note; ALTER TABLE note DROP COLUMN other, DROP COLUMN title",
    ])
    func aChangeIsFoundBehindAPooler(change: String) async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                let url = pooler.url(database: database.name)
                try await withPostgresClient(
                    url,
                    configure: {
                        $0.preparedStatements = .never
                        $0.searchPath = ["app"]
                    }
                ) { client in
                    let store = RecordStore(
                        client: client,
                        schema: "app",
                        mode: .development,
                        schemaCheckInterval: .milliseconds(20),
                        rulesPatience: testPatience,
                        logger: .quiet
                    )
                    try await store.prepare()
                    try await store.createMissingSchema(for: [draft("note/1", ["title": .string("x")])])
                    let readings = store.cache.statistics.readings
                    try await withRunning {
                        await store.run()
                    } while: {
                        // The first event of the listener has everything read.
                        try await waiting(until: "the store listens") { store.cache.statistics.readings > readings }
                        let before = store.cache.current[type("note")]?.recordType
                        #expect(before != nil)
                        try await database.psql("SET search_path = app, app_internal; \(change)")
                        try await waiting(until: "the change is known") {
                            store.cache.current[type("note")]?.recordType != before
                        }
                    }
                }
            }
        }
    }

    /// A check finds a change once, so a reading that fails then must be repeated.
    @Test func aReadingThatFailedIsRepeated() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withPostgresClient(database.url, configure: { $0.searchPath = ["app"] }) { client in
                let store = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .development,
                    schemaCheckInterval: .milliseconds(20),
                    rulesCheckInterval: .seconds(3600),
                    rulesPatience: testPatience,
                    logger: .silent
                )
                try await store.prepare()
                let readings = store.cache.statistics.readings
                try await withRunning {
                    await store.run()
                } while: {
                    try await waiting(until: "the store listens") { store.cache.statistics.readings > readings }
                    let failures = store.cache.statistics.failures
                    // The changes of a replica are not announced by event triggers.
                    try await database.psql(
                        """
                        SET session_replication_role = replica;
                        ALTER TABLE app_internal._class_rule RENAME TO _away;
                        ALTER TABLE app."user" ADD COLUMN stars bigint;
                        """
                    )
                    try await waiting(until: "a reading fails") { store.cache.statistics.failures > failures }
                    try await database.psql(
                        """
                        SET session_replication_role = replica;
                        ALTER TABLE app_internal._away RENAME TO _class_rule;
                        """
                    )
                    try await waiting(until: "the field is known") {
                        store.cache.current[type("user")]?[field("stars")] != nil
                    }
                }
            }
        }
    }

    /// A type that came and went between two checks is in the versions of neither, but in the catalog.
    @Test(arguments: [
        "ALTER TABLE note RENAME TO memo", "DROP TABLE note", "ALTER TABLE note ADD stars bigint",
        "DROP TABLE note; CREATE VIEW note AS SELECT 1 AS one",
    ])
    func aTypeThatCameAfterTheLastCheckIsFoundChanged(change: String) async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withPostgresClient(database.url, configure: { $0.searchPath = ["app"] }) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                try await database.psql("SET search_path = app, app_internal; SELECT _create_type('note')")
                try await store.cache.reload()
                let catalog = store.cache.current
                #expect(catalog[type("note")] != nil)
                try await database.psql("SET search_path = app, app_internal; \(change)")
                #expect(try await store.lookForChanges(since: catalog))
                #expect(store.cache.current[type("note")]?.recordType != catalog[type("note")]?.recordType)
                let readings = store.cache.statistics.readings
                #expect(try await !store.lookForChanges(since: store.cache.current))
                #expect(store.cache.statistics.readings == readings)
            }
        }
    }

    /// A request finds a change that the reading of an earlier request failed for.
    @Test func aRequestWhoseReadingFailedLosesNoChange() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withPostgresClient(database.url, configure: { $0.searchPath = ["app"] }) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                let catalog = store.cache.current
                try await database.psql(
                    """
                    ALTER TABLE app_internal._class_rule RENAME TO _away;
                    ALTER TABLE app."user" ADD COLUMN stars bigint;
                    """
                )
                await #expect(throws: (any Error).self) { try await store.lookForChanges(since: catalog) }
                try await database.psql("ALTER TABLE app_internal._away RENAME TO _class_rule")
                #expect(try await store.lookForChanges(since: catalog))
                #expect(store.cache.current[type("user")]?[field("stars")] != nil)
            }
        }
    }

    @Test func whatChangedIsReadAndNothingElse() {
        let old = SchemaVersions(numbers: ["note": 1, "memo": 2, "gone": 3, "not a type": 4])
        #expect(old.changes(since: old) == nil)
        let new = SchemaVersions(numbers: ["note": 1, "memo": 5, "new": 3, "not a type": 6])
        #expect(new.changes(since: old) == .types([type("memo"), type("gone"), type("new")]))
        #expect(new.changes(since: new, known: [type("note"), type("came")]) == .types([type("came")]))
    }
}
