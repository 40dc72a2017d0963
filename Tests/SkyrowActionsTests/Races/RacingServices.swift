import Foundation
import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// How many rounds a race has: few where it runs with every change, else as many as `SKYROW_TEST_ROUNDS` says (`make races`).
func raceRounds(_ usual: Int) -> Int {
    ProcessInfo.processInfo.environment["SKYROW_TEST_ROUNDS"].flatMap { Int($0) } ?? usual
}

/// How services learn what another one has changed.
enum Hearing: String, CaseIterable, Sendable {
    /// By notices alone: nothing that they remember gets old.
    case notices
    /// Without notices, as where LISTEN fails: what they remember gets old when a test lets a second pass.
    case none
    /// Through a PgBouncer, which hands each transaction another session and so loses notices.
    case pooler
}

/// Three services on one database, as three processes are, each with connections of its own.
final class RacingServices: Sendable {
    let services: [ActionService]
    let fixtures: [ServiceFixture]
    private let hearing: Hearing
    private let transport: MemoryMailTransport
    /// How many of the mails to an address were looked at.
    private let seen = Mutex<[String: Int]>([:])

    static let password = "a long secret"

    init(_ fixtures: [ServiceFixture], _ hearing: Hearing, _ transport: MemoryMailTransport) {
        services = fixtures.map(\.service)
        self.fixtures = fixtures
        self.hearing = hearing
        self.transport = transport
    }

    /// The service of a task.
    subscript(task: Int) -> ActionService { services[task % services.count] }

    /// Has the clocks of services go on that hear of nothing.
    func letASecondPass() {
        guard hearing != .notices else { return }
        for fixture in fixtures { fixture.clock.advance(by: .seconds(1)) }
    }

    /// Runs statements on a connection of the first service.
    func run(_ statements: String) async throws {
        try await services[0].store.client.withTransaction { transaction in
            try await transaction.executeScript("SET LOCAL search_path = app, app_internal, pg_temp")
            try await transaction.executeScript(SQL(trustedText: statements))
        }
    }

    /// The number that a query of one row has; its tables are named with the schema `app`.
    func number(_ query: String) async throws -> Int64 {
        try await services[0].store.client.read(SQL(trustedText: query)).decode(row: 0, column: 0)
    }

    /// The texts that the one column of a query has; its tables are named with the schema `app`.
    func texts(_ query: String) async throws -> [String] {
        try await services[0].store.client.read(SQL(trustedText: query)).decodeColumn(0, as: String.self)
    }

    /// The next mail to an address, whichever service sends it; the address may get another one at once.
    func mail(to address: String) async throws -> MailMessage {
        let number = seen.withLock { $0[address] ?? 0 }
        var mails: [MailMessage] = []
        await services[0].sendMail()
        try await waiting(until: "\(address) has mail \(number)", hearing: [transport]) {
            mails = transport.messages.filter { $0.to.description == address }
            return mails.count > number
        }
        seen.withLock { $0[address] = number + 1 }
        try await run("DELETE FROM _mail")
        return mails[number]
    }

    /// Makes an account with a password and an address.
    func signUp(_ name: String) async throws -> (result: AuthResult, caller: Caller, own: Credentials) {
        let address = "\(name)@example.org"
        let result = try await services[0].signUp(
            SignUpRequest(authData: ["username": name, "email": address], password: Self.password)
        )
        if services[0].configuration.verification != .off { _ = try await mail(to: address) }
        let own = Credentials.token(result.accessToken)
        return (result, try await services[0].authenticate(own, for: .user), own)
    }
}

/// Runs `body` with three services on one database that send mail and take any number of guesses.
func withRacingServices(
    _ hearing: Hearing = .notices,
    test: String = #function,
    configure: (inout ServiceConfiguration) throws -> Void = { _ in },
    _ body: (RacingServices) async throws -> Void
) async throws {
    let transport = MemoryMailTransport()
    guard let from = Mailbox("Example <no-reply@example.org>") else { throw MailingFixture.NoMail() }
    var configuration = ServiceConfiguration(
        keys: GivenKeys(api: Secret("api"), master: Secret("master")),
        passwords: ServiceFixture.cheapHashing,
        accounts: AccountPolicy(passwords: PasswordPolicy(minimumLength: 1))
    )
    // Who loses shall lose the race, and not be refused before.
    configuration.passwords.guesses = GuessLimits(client: nil, account: nil, total: nil)
    configuration.passwords.queueShare = 64
    configuration.admitsLinkLogIn = true
    configuration.mail = MailConfiguration(
        transport: transport,
        from: from,
        publicURL: "https://api.example.org",
        templates: try MailTemplates(),
        title: "Example"
    )
    configuration.mail?.logInURL = "https://app.example.org/in"
    try configure(&configuration)
    let configured = configuration
    try await withTemporaryDatabaseAndPsql(template: .prepared, test: test) { database in
        func run(through pooler: TemporaryPooler?) async throws {
            try await withServices(3, configured, hearing, on: database, through: pooler) { fixtures in
                try await body(RacingServices(fixtures, hearing, transport))
            }
        }
        switch hearing {
        case .notices, .none: try await run(through: nil)
        case .pooler: try await withTemporaryPooler(of: database.cluster) { try await run(through: $0) }
        }
    }
}

private func withServices(
    _ count: Int,
    _ configuration: ServiceConfiguration,
    _ hearing: Hearing,
    on database: TemporaryDatabase,
    through pooler: TemporaryPooler?,
    with others: [ServiceFixture] = [],
    _ body: ([ServiceFixture]) async throws -> Void
) async throws {
    guard others.count < count else { return try await body(others) }
    func connect(_ connection: inout PostgresConfiguration) {
        if pooler != nil { connection.preparedStatements = .never }
        if hearing == .none { connection.listenConnection = "host=/nowhere" }
    }
    let url = pooler?.url(database: database.name) ?? database.url
    let logger = hearing == .notices ? Logger.quiet : .silent
    try await withPostgresClient(url, configure: connect, logger: logger) { client in
        let store = RecordStore(
            client: client,
            schema: "app",
            mode: .development,
            rulesPatience: testPatience,
            logger: .quiet
        )
        try await store.prepare()
        let (clock, observations) = (TestClock(), ObservationLog())
        let service = ActionService(
            store: store,
            configuration: configuration,
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
                if hearing == .notices {
                    try await observations.wait(for: "listening") { $0 == .listening(again: false) }
                }
                let fixture = ServiceFixture(
                    service: service,
                    observations: observations,
                    clock: clock,
                    database: database
                )
                try await withServices(
                    count,
                    configuration,
                    hearing,
                    on: database,
                    through: pooler,
                    with: others + [fixture],
                    body
                )
            }
        }
    }
}

/// Things that are done at once, each by the service of its place.
struct Race: Sendable {
    var attempts: [@Sendable (ActionService) async throws -> Void]
    /// How many of them succeed.
    var winners = 1
    /// What the others get.
    var refusals: Set<ErrorCode> = [.invalidToken]
    /// A query of one number, and that number afterwards.
    var outcome: (query: String, number: Int64)?

    static let tasks = 8

    init(
        winners: Int = 1,
        refusals: Set<ErrorCode> = [.invalidToken],
        outcome: (query: String, number: Int64)? = nil,
        _ attempts: [@Sendable (ActionService) async throws -> Void]
    ) {
        self.attempts = attempts
        self.winners = winners
        self.refusals = refusals
        self.outcome = outcome
    }

    /// The same thing, several times at once.
    init(
        of count: Int = tasks,
        winners: Int = 1,
        refusals: Set<ErrorCode> = [.invalidToken],
        outcome: (query: String, number: Int64)? = nil,
        _ attempt: @escaping @Sendable (_ task: Int, ActionService) async throws -> Void
    ) {
        self.init(
            winners: winners,
            refusals: refusals,
            outcome: outcome,
            (0..<count).map { task in { service in try await attempt(task, service) } }
        )
    }

    /// Runs it, and returns what is not as it should be; nil for nothing.
    func fault(_ racing: RacingServices) async throws -> String? {
        let errors = try await withThrowingTaskGroup(of: SkyrowError?.self) { group in
            for (task, attempt) in attempts.enumerated() {
                group.addTask {
                    do {
                        try await attempt(racing[task])
                        return nil
                    } catch let error as SkyrowError {
                        return error
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let won = errors.count { $0 == nil }
        guard won == winners else { return "\(won) won, not \(winners)" }
        if let error = errors.compactMap({ $0 }).first(where: { !refusals.contains($0.code) }) {
            return "an attempt was refused with \(error)"
        }
        guard let outcome else { return nil }
        let number = try await racing.number(outcome.query)
        return number == outcome.number ? nil : "\(outcome.query) says \(number), not \(outcome.number)"
    }
}

extension RacingServices {
    /// Runs races of all kinds again and again, each with things of its own; a kind ends with the first that goes wrong.
    func run<Kind>(_ kinds: Kind.Type, rounds: Int, _ prepare: (Kind, String) async throws -> Race) async throws
    where Kind: CaseIterable & RawRepresentable<String> {
        for kind in Kind.allCases {
            for round in 0..<rounds {
                let race = try await prepare(kind, "\(kind.rawValue.lowercased())-\(round)")
                guard let fault = try await race.fault(self) else { continue }
                Issue.record("\(kind.rawValue), round \(round): \(fault)")
                break
            }
        }
    }
}

/// What a race has shown.
struct RaceLost: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
