import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// What a database login learns and holds up without a right to any table.
@Suite(.timeLimit(.minutes(60))) struct PolicyDisturbanceTests {
    /// The channels that a stranger can name.
    private static let channels: [SQLIdentifier] = [
        "skyrow_session", "skyrow_schema", "skyrow_index", "skyrow_application", "skyrow_probe", "skyrow_app", "app",
        "app_session", "_session", "skyrow__session",
    ]

    private func url(_ f: PolicyFixture) -> String {
        f.records.database.url.replacing("user=postgres", with: "user=\(f.role("ann"))")
    }

    /// What ends sessions and changes accounts, roles, keys, rules, types and indexes.
    private static let events = """
        UPDATE _user SET password_hash = 'scrypt$' || id;
        INSERT INTO _session (token_hash, user_id, expires_at) VALUES (sha256('secret token'), 'bob', now() + interval '1 day');
        DELETE FROM _session;
        INSERT INTO _role (name) VALUES ('hidden role'); INSERT INTO _user_role VALUES ('bob', 'hidden role');
        INSERT INTO _class_rule VALUES ('note', 'delete', '{owner}', 'require');
        SELECT _create_type('hidden');
        """

    @Test func aLoginHearsNothingOfUsersTokensAndTypes() async throws {
        try await withPolicies { f in
            try await f.apply()
            let before = f.store.cache.statistics.readings
            try await withRunning {
                await f.store.run()
            } while: {
                try await waiting(until: "the store listens") { f.store.cache.statistics.readings > before }
                try await withPostgresClient(url(f)) { login in
                    let heard = Self.channels.map { login.listen($0) }
                    for notifications in heard {
                        var events = notifications.makeAsyncIterator()
                        #expect(await events.next() == .connected)
                    }
                    try await f.psql(Self.events)
                    _ = try await f.store.createIndex(
                        IndexDefinition(of: type("note"), [IndexField("stars")], kind: .order)
                    )
                    for channel in Self.channels { try await f.psql("SELECT pg_notify('\(channel.name)', 'end')") }
                    for notifications in heard {
                        for await event in notifications {
                            guard case .notification(let channel, let payload, _) = event, payload != "end" else {
                                break
                            }
                            #expect(payload == "", "\(channel)")
                        }
                    }
                    // The channels that say more are named nowhere but in what a login does not read.
                    let shown = try await login.read(
                        "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'LISTEN' AND usename <> current_user"
                    ).decode(row: 0, column: 0, as: Int64.self)
                    #expect(shown == 0)
                }
            }
            for statement in [
                "SELECT channel FROM app_internal._meta", "SELECT FROM app_internal._lock FOR UPDATE",
                "BEGIN; LOCK TABLE app_internal._lock IN SHARE UPDATE EXCLUSIVE MODE NOWAIT",
                "BEGIN; LOCK TABLE app_internal._index IN SHARE UPDATE EXCLUSIVE MODE NOWAIT",
                "BEGIN; LOCK TABLE app_internal._migration IN ACCESS SHARE MODE NOWAIT",
            ] {
                #expect(try await f.refusal("ann", statement).contains("permission denied"), "\(statement)")
            }
            // These have the rights of the role that calls them, which finds no table of the name.
            for (statement, table) in [
                ("SELECT _notify('session', '/all')", "_meta"), ("SELECT _hold('schema')", "_lock"),
                ("SELECT _try_hold('sweep')", "_lock"),
            ] {
                #expect(try await f.refusal("ann", statement).contains("\"\(table)\" does not exist"), "\(statement)")
            }
        }
    }

    /// Pauses that end when a test lets them.
    private final class HeldPauses: Sendable {
        private let begun = Mutex<[Duration]>([])
        private let ends = AsyncStream.makeStream(of: Void.self)

        var durations: [Duration] { begun.withLock { $0 } }

        func hold(_ duration: Duration) async {
            begun.withLock { $0.append(duration) }
            for await _ in ends.stream { return }
        }

        func endOne() { ends.continuation.yield() }
    }

    /// Notices that a login sends cost the service a part of its time: after the catalogue was read, however many come, a pause.
    @Test func aFloodOfNoticesIsFollowedNowAndThen() async throws {
        try await withPolicies { f in
            try await f.apply()
            let pauses = HeldPauses()
            let client = f.records.client
            let store = RecordStore(
                client: client,
                schema: "app",
                mode: .development,
                pauseAfterHands: { await pauses.hold($0) },
                logger: .quiet
            )
            try await store.prepare()
            try await withRunning {
                await store.run()
            } while: {
                try await waiting(until: "the store hears") {
                    try await f.sql("ann", "SELECT pg_notify('skyrow_schema', '')")
                    return pauses.durations.count == 1
                }
                for round in 1...2 {
                    var end = client.listen("end_of_flood").makeAsyncIterator()
                    #expect(await end.next() == .connected)
                    for number in 0..<20 {
                        try await f.sql(
                            "ann",
                            "SELECT pg_notify('skyrow_schema', '\(number) ' || n) FROM generate_series(1, 1000) AS n"
                        )
                    }
                    // It comes behind all of them.
                    try await f.psql("SELECT pg_notify('end_of_flood', '')")
                    _ = await end.next()
                    #expect(pauses.durations.count == round)
                    pauses.endOne()
                    try await waiting(until: "it is followed") { pauses.durations.count > round }
                }
                #expect(pauses.durations.count == 3)
                #expect(pauses.durations.allSatisfy { $0 >= .milliseconds(200) })
            }
        }
    }

    @Test func aLoginThatHoldsEveryAdvisoryLockHoldsUpNothing() async throws {
        try await withPolicies { f in
            try await f.apply()
            try await f.store.createMissingSchema(for: [draft("ticket/1", ["number": .sequence])])
            try await withPostgresClient(url(f)) { login in
                try await login.withSession { session in
                    // The keys that can be computed of names, small numbers and what the catalogue shows, and those that are held.
                    let held = try await session.query(
                        """
                        SELECT count(pg_advisory_lock(part.number, key.number)) FROM generate_series(1936423270, 1936423290) AS part (number),
                            (
                                SELECT number FROM generate_series(0, 255) AS number
                                UNION SELECT hashtext(nspname) FROM pg_namespace
                                UNION SELECT oid::bigint::integer FROM pg_class WHERE relkind IN ('S', 'r') AND oid < 2147483648
                            ) AS key
                        """
                    ).decode(row: 0, column: 0, as: Int64.self)
                    #expect(held > 5000)
                    try await Self.use(f)
                    let others = try await session.query(
                        """
                        SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
                            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        """
                    ).decode(row: 0, column: 0, as: Int64.self)
                    #expect(others == 0)
                }
            }
        }
    }

    /// Everything that once waited for an advisory lock.
    private static func use(_ f: PolicyFixture) async throws {
        try await f.store.createMissingSchema(for: [draft("fresh/1", ["title": .string("x")])])
        try await f.records.save("fresh/1", ["title": .string("x")])
        #expect(f.store.cache.current[type("fresh")] != nil)
        let index = IndexDefinition(of: type("note"), [IndexField("stars")], kind: .order)
        let asked = try await f.store.createIndex(index)
        let isBuilt = try await IndexBuilder(client: f.records.client, logger: .quiet) { ["app"] }.pass()
        #expect(isBuilt)
        let indexes = try await f.store.indexes(of: type("note"))
        #expect(indexes.first { $0.name == asked.name }?.state == .ready)
        _ = try await f.store.relations.block(["bob"], by: "ann")
        _ = try await f.store.users.create(NewAccount(id: "eve", passwordHash: nil, profile: []), session: nil)
        try await f.psql("INSERT INTO _role (name) VALUES ('r1'), ('r2'); INSERT INTO _role_role VALUES ('r1', 'r2')")
        try await f.records.save("ticket/1", ["number": .integer(1_000_000)])
        try await f.psql(
            "DELETE FROM fresh; UPDATE _tombstone SET deleted_at = now() - interval '1 year'; SELECT _move_revisions()"
        )
        #expect(try await f.store.sweepTombstones(olderThan: .seconds(86_400)) == 1)
        // What is made again of the rules.
        try await f.apply()
    }
}
