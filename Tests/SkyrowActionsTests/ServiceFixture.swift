import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

extension DatabaseTemplate {
    /// A database whose schema `app` is ready for a service.
    static let prepared = DatabaseTemplate(key: "prepared") { url in
        try await withPostgresClient(url, logger: .quiet) { client in
            try await RecordStore(client: client, schema: "app", mode: .development, logger: .quiet).prepare()
        }
    }
}

/// A clock that stands still until a test moves it.
final class TestClock: Sendable {
    private let start = (now: ServiceClock.system.now(), instant: ContinuousClock.now)
    private let passed = Mutex<Duration>(.zero)

    func advance(by duration: Duration) {
        passed.withLock { $0 += duration }
    }

    var clock: ServiceClock {
        ServiceClock(
            now: { self.start.now.adding(self.passed.withLock { $0 }) },
            instant: { self.start.instant + self.passed.withLock { $0 } },
            // The periodic work has its first round only.
            sleep: { _ in throw CancellationError() }
        )
    }
}

/// What a service observed, for a test to count or to wait for.
final class ObservationLog: Changing {
    private let all = Mutex<[Observation]>([])
    let changes = ChangeSignal()

    func record(_ observation: Observation) {
        all.withLock { $0.append(observation) }
        changes.notify()
    }

    func count(_ isIt: (Observation) -> Bool) -> Int {
        all.withLock { $0.count(where: isIt) }
    }

    func clear() {
        all.withLock { $0 = [] }
    }

    /// Returns at once when it was observed since the log was last cleared, else as soon as it is.
    func wait(for what: String, _ isIt: (Observation) -> Bool) async throws {
        try await waiting(until: what + " is observed", hearing: [self]) { count(isIt) > 0 }
    }
}

/// A running service on a database of the test's own.
struct ServiceFixture: Sendable {
    let service: ActionService
    let observations: ObservationLog
    let clock: TestClock
    let database: TemporaryDatabase

    static let key = Credentials(key: "api")
    static let master = Credentials(key: "master")
    static let masterCaller = Caller(kind: .master(actingAs: nil))
    /// As cheap as scrypt gets.
    static let cheapHashing = PasswordConfiguration(
        cost: ScryptCost(logN: 1, r: 1, p: 1),
        threads: 2,
        patience: testPatience
    )

    @discardableResult
    func psql(_ statements: String) async throws -> String {
        try await database.psql("SET search_path = app, app_internal;\n\(statements)")
            .split(separator: "\n").filter { $0 != "SET" }.joined(separator: "\n")
    }

    /// The same service with another configuration, which neither listens nor does periodic work.
    func configured(_ change: (inout ServiceConfiguration) -> Void) -> ActionService {
        var configuration = service.configuration
        change(&configuration)
        return ActionService(
            store: service.store,
            configuration: configuration,
            clock: clock.clock,
            logger: .quiet,
            observe: { observations.record($0) }
        )
    }

    /// A further service on the same database, as another process would be.
    func withSecondService(
        _ mode: SchemaMode = .development,
        _ body: (ServiceFixture) async throws -> Void
    ) async throws {
        try await withRunningService(mode, on: database, passwords: Self.cheapHashing, body)
    }
}

/// Runs `body` with a running service on a database of the test's own.
func withService(
    _ mode: SchemaMode = .development,
    passwords: PasswordConfiguration = ServiceFixture.cheapHashing,
    scans: ScanPolicy = .allow,
    test: String = #function,
    _ body: (ServiceFixture) async throws -> Void
) async throws {
    try await withTemporaryDatabaseAndPsql(template: .prepared, test: test) { database in
        try await withRunningService(mode, on: database, passwords: passwords, scans: scans, body)
    }
}

private func withRunningService(
    _ mode: SchemaMode,
    on database: TemporaryDatabase,
    passwords: PasswordConfiguration,
    scans: ScanPolicy = .allow,
    _ body: (ServiceFixture) async throws -> Void
) async throws {
    try await withPostgresClient(database.url, logger: .quiet) { client in
        let store = RecordStore(client: client, schema: "app", mode: mode, rulesPatience: testPatience, logger: .quiet)
        try await store.prepare()
        let clock = TestClock()
        let observations = ObservationLog()
        let service = ActionService(
            store: store,
            configuration: ServiceConfiguration(
                keys: GivenKeys(api: Secret("api"), master: Secret("master")),
                passwords: passwords,
                // Shorter than what is asked of people.
                accounts: AccountPolicy(passwords: PasswordPolicy(minimumLength: 1)),
                scans: scans
            ),
            clock: clock.clock,
            logger: .quiet,
            observe: { observations.record($0) }
        )
        try await withRunning {
            await store.run()
        } while: {
            try await withRunning {
                try await service.run()
            } while: {
                try await observations.wait(for: "listening") { $0 == .listening(again: false) }
                try await body(
                    ServiceFixture(service: service, observations: observations, clock: clock, database: database)
                )
            }
        }
    }
}
