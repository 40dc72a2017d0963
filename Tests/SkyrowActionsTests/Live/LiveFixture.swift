import Foundation
import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// A connection of a test's own: what it gets, and what a client that applies it then holds.
final class MemoryOutlet: LiveOutlet, Changing {
    /// An event as its client sees it.
    struct Event: Hashable {
        let phase: String
        let subscription: String
        let event: String
        let id: String
        /// The members of the record, without those that change with every write.
        var record: [String: String] = [:]
        var previous: [String: String]?
    }

    fileprivate struct State {
        var events: [Event] = []
        var held: [String: [String: [String: String]]] = [:]
        var tokens: [String: String] = [:]
        var ready: Set<String> = []
        var resets: [String: [String: String]] = [:]
        var closure: LiveClosure?
        var messages = 0
        var generation = 0
        /// What no client should have got.
        var faults: [String] = []
        /// The subscriptions that have resumed: records of a page may be newer than its moment, and then changes come twice.
        var resumed: Set<String> = []
    }

    private let state = Mutex(State())
    let changes = ChangeSignal()
    /// What happens while a page of records waits to leave.
    let whileWaiting = Mutex<(@Sendable () async -> Void)?>(nil)

    var generation: Int { state.withLock { $0.generation } }

    func waitForRoom(atMost limit: Duration) async {
        let happens = whileWaiting.withLock { happens in
            defer { happens = nil }
            return happens
        }
        await happens?()
    }

    func send(_ message: LiveMessage, in generation: Int) -> Bool {
        let bytes = Data(message.parameters.parts.joined())
        let json = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
        defer { changes.notify() }
        return state.withLock { state in
            guard generation == state.generation, generation.isMultiple(of: 2) else { return false }
            state.messages += 1
            guard let json else {
                state.faults.append("no JSON: \(String(decoding: bytes, as: UTF8.self))")
                return true
            }
            if bytes.count != message.byteCount { state.faults.append("another length than \(message.byteCount)") }
            switch message.method {
            case .changes: state.take(json)
            case .checkpoint:
                for (name, token) in json["subscriptions"] as? [String: String] ?? [:] { state.tokens[name] = token }
                if json["ready"] as? Bool == true {
                    state.ready.formUnion((json["subscriptions"] as? [String: String] ?? [:]).keys)
                }
            case .reset:
                state.resets[json["subscription"] as? String ?? ""] = json.mapValues { "\($0)" }
            }
            return true
        }
    }

    func close(_ reason: LiveClosure) {
        state.withLock { $0.closure = reason }
        changes.notify()
    }

    /// Drops everything from now on, or takes messages again.
    func beginNextGeneration() { state.withLock { $0.generation += 1 } }

    var events: [Event] { state.withLock { $0.events } }
    var faults: [String] { state.withLock { $0.faults } }
    var closure: LiveClosure? { state.withLock { $0.closure } }
    func held(_ name: String) -> [String: [String: String]] { state.withLock { $0.held[name] ?? [:] } }
    func token(_ name: String) -> String? { state.withLock { $0.tokens[name] } }
    func reset(_ name: String) -> [String: String]? { state.withLock { $0.resets[name] } }
    func isReady(_ name: String) -> Bool { state.withLock { $0.ready.contains(name) } }
    func clear() { state.withLock { $0.events = [] } }
    func hold(_ records: [String: [String: String]], _ name: String, token: String? = nil) {
        state.withLock { state in
            state.held[name] = records
            state.tokens[name] = token
        }
    }

    /// What a client holds that begins a subscription anew when it is told to, as texts of ids and some members.
    func texts(_ name: String, _ members: [String]) -> Set<String> {
        Set(
            held(name).map { id, record in
                let values = members.map { member in record[member].flatMap { $0 == "null" ? nil : $0 } ?? "-" }
                return ([id] + values).joined(separator: " ")
            }
        )
    }

    func waitUntilReady(_ name: String) async throws {
        try await waiting(until: "\(name) is ready", hearing: [self]) { isReady(name) || reset(name) != nil }
        #expect(reset(name) == nil)
    }
}

extension MemoryOutlet.State {
    fileprivate mutating func take(_ json: [String: Any]) {
        let phase = json["phase"] as? String ?? ""
        for change in json["changes"] as? [[String: Any]] ?? [] {
            let name = change["subscription"] as? String ?? ""
            let kind = change["event"] as? String ?? ""
            let record = change["record"] as? [String: Any]
            guard let id = record?["_id"] as? String ?? change["id"] as? String else {
                faults.append("an event without an id")
                continue
            }
            let event = MemoryOutlet.Event(
                phase: phase,
                subscription: name,
                event: kind,
                id: id,
                record: record.map(stable) ?? [:],
                previous: (change["previous"] as? [String: Any]).map(stable)
            )
            events.append(event)
            let isHeld = held[name]?[id] != nil
            if phase == "resume" { resumed.insert(name) }
            let comesOnce = phase == "live" && !resumed.contains(name)
            switch kind {
            case "changed", "created", "entered", "updated":
                if comesOnce, (kind == "updated") != isHeld { faults.append("\(kind) of \(id): held \(isHeld)") }
                held[name, default: [:]][id] = event.record
            case "removed", "left", "deleted":
                if comesOnce, !isHeld { faults.append("\(kind) of \(id), which is not held") }
                held[name]?[id] = nil
            default: faults.append("an event \(kind)")
            }
        }
    }
}

/// The members of a record by their texts, without those that change with every write.
private func stable(_ record: [String: Any]) -> [String: String] {
    let changing: Set<String> = [
        "_id", "_type", "_created_at", "_updated_at", "_created_by", "_updated_by", "_revision",
    ]
    return record.filter { !changing.contains($0.key) }.mapValues { value in
        if value is NSNull { return "null" }
        if let list = value as? [Any] { return "\(list.map { "\($0)" }.sorted())" }
        return "\(value)"
    }
}

/// A user with a session.
struct LiveUser: Sendable {
    let caller: Caller
    let credentials: Credentials

    static let anonymous = LiveUser(caller: .anonymous, credentials: ServiceFixture.key)
    func holder(from client: ClientKey = .none) -> LiveHolder {
        LiveHolder(caller: caller, credentials: credentials, client: client)
    }

    static let master = LiveUser(caller: ServiceFixture.masterCaller, credentials: ServiceFixture.master)
}

extension ServiceFixture {
    /// Signs a user up whose id is its name.
    func user(_ name: String) async throws -> LiveUser {
        let result = try await service.signUp(SignUpRequest(authData: ["username": name], password: "secret"))
        let credentials = Credentials(key: "api", accessToken: result.accessToken)
        return LiveUser(caller: try await service.authenticate(credentials, for: .user), credentials: credentials)
    }

    /// Changes records as users of psql do, in one transaction.
    func change(_ statements: String...) async throws {
        try await service.store.client.withTransaction { transaction in
            try await transaction.executeScript("SET LOCAL search_path = app, app_internal, pg_temp")
            for statement in statements { try await transaction.executeScript(SQL(trustedText: statement)) }
        }
    }
}

extension LiveSession {
    @discardableResult
    func subscribe(
        _ request: LiveSubscribeRequest,
        as user: LiveUser,
        from client: ClientKey = .none
    ) async throws(SkyrowError) -> LiveSubscribed {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(SkyrowError) {
                return try await subscribe(request, for: user.holder(from: client))
            } catch {
                // A slot is made when no transaction of the cluster writes, and other tests have some.
                guard error.message.hasPrefix("Changes of the database cannot be followed"), .now < deadline else {
                    throw error
                }
            }
        }
    }
}

/// Runs `body` with a running service whose changes come from a source, and a type `note`.
///
/// - Parameters:
///   - pooler: what its statements go through; notices and the stream do not.
///   - hearsNotices: whether it can listen at all.
///   - schemaCheckInterval: how often it is asked whether the schema changed unheard.
///   - files: nil for a service without files.
func withLiveService(
    _ source: LiveConfiguration.Source,
    on cluster: TemporaryCluster? = nil,
    through pooler: TemporaryPooler? = nil,
    hearsNotices: Bool = true,
    schemaCheckInterval: Duration = .seconds(5),
    rulesPatience: Duration = testPatience,
    files: FileConfiguration? = nil,
    test: String = #function,
    configure: @escaping (inout LiveConfiguration) -> Void = { _ in },
    _ body: @escaping (ServiceFixture) async throws -> Void
) async throws {
    let streaming: TemporaryCluster
    if let cluster { streaming = cluster } else { streaming = try await .streaming() }
    try await withTemporaryDatabaseAndPsql(template: .prepared, on: streaming, test: test) { database in
        func connect(_ configuration: inout PostgresConfiguration) {
            if let pooler {
                configuration.connection = pooler.url(database: database.name)
                configuration.preparedStatements = .never
                configuration.listenConnection = database.url
                configuration.replicationConnection = database.url
            }
            if !hearsNotices { configuration.listenConnection = "host=/nowhere" }
        }
        let logger = hearsNotices ? Logger.quiet : .silent
        try await withPostgresClient(database.url, configure: connect, logger: logger) { client in
            let store = RecordStore(
                client: client,
                schema: "app",
                mode: .development,
                schemaCheckInterval: schemaCheckInterval,
                rulesPatience: rulesPatience,
                logger: .quiet
            )
            try await store.prepare()
            let clock = TestClock()
            let observations = ObservationLog()
            var live = LiveConfiguration(source: source)
            configure(&live)
            let service = ActionService(
                store: store,
                configuration: ServiceConfiguration(
                    keys: GivenKeys(api: Secret("api"), master: Secret("master")),
                    passwords: ServiceFixture.cheapHashing,
                    accounts: AccountPolicy(passwords: PasswordPolicy(minimumLength: 1)),
                    live: live,
                    files: files
                ),
                clock: clock.clock,
                logger: .quiet,
                observe: { observations.record($0) }
            )
            let fixture = ServiceFixture(service: service, observations: observations, clock: clock, database: database)
            try await withRunning {
                await store.run()
            } while: {
                try await withRunning {
                    try await service.run()
                } while: {
                    if hearsNotices {
                        try await observations.wait(for: "listening") { $0 == .listening(again: false) }
                    }
                    try await fixture.psql(
                        """
                        SELECT _create_type('category');
                        SELECT _create_type('note');
                        ALTER TABLE note ADD title text COLLATE "C", ADD n bigint, ADD tags text[] COLLATE "C",
                            ADD small int, ADD secret text COLLATE "C",
                            ADD category text COLLATE "C" REFERENCES category (_id) DEFERRABLE;
                        """
                    )
                    try await store.cache.reload()
                    try await body(fixture)
                }
            }
        }
        // The process of the stream ends a moment after its connection, and no database with a slot in use is dropped.
        try await waiting(until: "the slot is gone") {
            try await database.psql("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()")
                == "0"
        }
    }
}
