import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport

@testable import SkyrowActions

/// A service that sends mail into memory.
struct MailingFixture {
    let service: ActionService
    let fixture: ServiceFixture
    let transport: MemoryMailTransport
    let observations: ObservationLog
    let clock: TestClock

    /// Sends what waits and returns all that was sent so far.
    func sent() async -> [MailMessage] {
        await service.sendMail()
        return transport.messages
    }

    /// The mail that was sent last.
    func lastMail() async throws -> MailMessage {
        guard let mail = await sent().last else { throw NoMail() }
        return mail
    }

    /// Lets the next mail to every address go, as a minute later.
    func waitAMinute() async throws {
        try await fixture.psql("UPDATE _mail SET created_at = created_at - interval '61 seconds'")
    }

    /// Makes an account with an address.
    @discardableResult
    func signUp(_ name: String, password: String = "a long secret") async throws -> AuthResult {
        try await service.signUp(
            SignUpRequest(authData: ["username": name, "email": "\(name)@example.org"], password: password)
        )
    }

    func logIn(_ name: String, _ password: String) async throws -> AuthResult {
        try await service.logIn(LogInRequest(authData: ["username": name], password: password))
    }

    /// The same with another configuration.
    func configured(_ change: (inout ServiceConfiguration) -> Void) -> MailingFixture {
        var configuration = service.configuration
        change(&configuration)
        let observations = observations
        let service = ActionService(
            store: service.store,
            configuration: configuration,
            clock: clock.clock,
            logger: .quiet,
            observe: { observations.record($0) }
        )
        return MailingFixture(
            service: service,
            fixture: fixture,
            transport: transport,
            observations: observations,
            clock: clock
        )
    }

    struct NoMail: Error {}
}

/// Runs `body` with a service that sends mail when the test says so.
func withMailingService(
    _ verification: AddressVerification = .off,
    failures: [MailFailure] = [],
    guesses: GuessLimits? = nil,
    test: String = #function,
    _ body: (MailingFixture) async throws -> Void
) async throws {
    try await withService(test: test) { fixture in
        let transport = MemoryMailTransport(failures: failures)
        let clock = TestClock()
        let observations = ObservationLog()
        var configuration = fixture.service.configuration
        guard let from = Mailbox("Example <no-reply@example.org>") else { throw MailingFixture.NoMail() }
        configuration.mail = MailConfiguration(
            transport: transport,
            from: from,
            publicURL: "https://api.example.org/base",
            templates: try MailTemplates(),
            title: "Example"
        )
        configuration.verification = verification
        if let guesses { configuration.passwords.guesses = guesses }
        // It does not run, so that mail goes when the test sends it.
        let service = ActionService(
            store: fixture.service.store,
            configuration: configuration,
            clock: clock.clock,
            logger: .quiet,
            observe: { observations.record($0) }
        )
        try await body(
            MailingFixture(
                service: service,
                fixture: fixture,
                transport: transport,
                observations: observations,
                clock: clock
            )
        )
    }
}
