import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Whether there is an account changes neither which statements are sent nor their order, whatever the machine's clock says of it;
/// times are compared by the attacks `mail-timing`.
@Suite(.timeLimit(.minutes(60))) struct SameStatementsTests {
    private final class Sent: Sendable {
        private let texts = Mutex<[String]>([])

        func append(_ text: String) { texts.withLock { $0.append(text) } }

        /// Those since the last time.
        func take() -> [String] {
            texts.withLock { texts in
                defer { texts = [] }
                return texts
            }
        }
    }

    /// What someone does who looks for accounts.
    enum Guess: String, CaseIterable, Sendable {
        case logIn, reset, verification, logInLink

        func make(_ email: String, _ service: ActionService) async throws(SkyrowError) {
            let client = ClientKey(high: 1, low: 1)
            let request = CodeRequest(email: email)
            switch self {
            case .logIn:
                do throws(SkyrowError) {
                    _ = try await service.logIn(
                        LogInRequest(authData: ["email": email], password: "wrong"),
                        from: client
                    )
                } catch {
                    guard error.code == .invalidCredentials else { throw error }
                }
            case .reset: _ = try await service.run(Actions.authResetRequest, request, from: client)
            case .verification:
                _ = try await service.run(Actions.authVerifyRequest, VerificationRequest(email: email), from: client)
            case .logInLink: _ = try await service.run(Actions.authLinkRequest, request, from: client)
            }
        }
    }

    private func withReportedService(
        test: String = #function,
        _ body: (ActionService, Sent, TemporaryDatabase, Counter) async throws -> Void
    ) async throws {
        let (sent, hashes) = (Sent(), Counter())
        var configuration = ServiceConfiguration(
            keys: GivenKeys(api: Secret("api"), master: Secret("master")),
            passwords: ServiceFixture.cheapHashing
        )
        let from = try #require(Mailbox("Example <no-reply@example.org>"))
        configuration.verification = .optional
        configuration.admitsLinkLogIn = true
        configuration.mail = MailConfiguration(
            transport: MemoryMailTransport(),
            from: from,
            publicURL: "https://api.example.org",
            templates: try MailTemplates(),
            title: "Example"
        )
        let configured = configuration
        try await withTemporaryDatabaseAndPsql(template: .prepared, test: test) { database in
            try await withPostgresClient(
                database.url,
                configure: {
                    $0.sendsSlowStatementsOnce()
                    $0.reporting = StatementReporting { sent.append("\($0.queue): \($0.text)") }
                },
                logger: .quiet
            ) { client in
                let store = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .development,
                    rulesPatience: testPatience,
                    logger: .quiet
                )
                try await store.prepare()
                let service = ActionService(
                    store: store,
                    configuration: configured,
                    clock: TestClock().clock,
                    logger: .quiet,
                    observe: { if case .passwordHashed = $0 { hashes.increment() } }
                )
                try await body(service, sent, database, hashes)
            }
        }
    }

    @Test(arguments: Guess.allCases)
    func noneOfThemTellsWhetherThereIsAnAccount(_ guess: Guess) async throws {
        try await withReportedService { service, sent, database, hashes in
            for name in ["known", "disabled", "proved", "passwordless"] {
                _ = try await service.signUp(
                    SignUpRequest(authData: ["username": name, "email": "\(name)@example.org"], password: "a secret")
                )
            }
            try await database.psql(
                """
                SET search_path = app, app_internal;
                DELETE FROM _mail;
                DELETE FROM _code;
                UPDATE _user SET disabled = true FROM "user" WHERE _id = id AND username = 'disabled';
                UPDATE _user SET verified_email = email FROM "user" WHERE _id = id AND username = 'proved';
                UPDATE _user SET password_hash = NULL FROM "user" WHERE _id = id AND username = 'passwordless';
                """
            )
            // Whatever is read once only is read.
            try await guess.make("first@example.org", service)
            _ = sent.take()
            var seen: [(statements: [String], hashes: Int)] = []
            for name in ["unknown", "known", "disabled", "proved", "passwordless"] {
                // The second request comes too soon.
                for _ in 0..<2 {
                    let before = hashes.value
                    try await guess.make("\(name)@example.org", service)
                    seen.append((sent.take(), hashes.value - before))
                }
            }
            #expect(!seen[0].statements.isEmpty)
            for (number, made) in seen.enumerated() {
                let other = seen[number % 2]
                #expect(made.statements == other.statements, "\(guess) \(number)")
                #expect(made.hashes == other.hashes, "\(guess) \(number)")
            }
            #expect(seen[0].hashes == (guess == .logIn ? 1 : 0))
        }
    }
}
