import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

/// A service whose users log in by a provider that a test has control of.
struct ProviderFixture: Sendable {
    let service: ActionService
    let fixture: ServiceFixture
    let provider: TemporaryIdentityProvider

    static let clientID = "app-1"

    /// The claims of a token that counts now, some of them changed; nil leaves one out.
    func claims(_ subject: String, nonce: String, _ changes: [String: String?] = [:]) -> String {
        let now = Int(fixture.clock.clock.now().secondsSince1970)
        var claims = [
            "iss": "\"\(provider.issuer)\"", "aud": "\"\(Self.clientID)\"", "sub": "\"\(subject)\"",
            "exp": "\(now + 600)",
            "iat": "\(now)", "auth_time": "\(now)", "nonce": "\"\(nonce)\"",
        ]
        for (name, value) in changes { claims[name] = value }
        return "{" + claims.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// A token of its own nonce that counts.
    func token(_ subject: String, of name: String = "test") async throws -> ProviderToken {
        let nonce = "nonce-\(drawnNonces.add(1, ordering: .relaxed).newValue)"
        return ProviderToken(
            provider: name,
            idToken: try await provider.token(claims(subject, nonce: nonce)),
            nonce: nonce
        )
    }

    func logIn(_ subject: String) async throws -> AuthResult {
        try await logIn(by: try await token(subject))
    }

    func logIn(by token: ProviderToken, from client: ClientKey = .none) async throws -> AuthResult {
        try await service.run(Actions.authProviderLogIn, ProviderLogIn(token: token), from: client)
    }

    /// Who has this session.
    func caller(_ result: AuthResult) async throws -> (Caller, Credentials) {
        let credentials = Credentials.token(result.accessToken)
        return (try await service.authenticate(credentials, for: .user), credentials)
    }

    func link(_ subject: String, with result: AuthResult, of name: String = "test") async throws {
        let (caller, credentials) = try await caller(result)
        let token = try await token(subject, of: name)
        try await service.run(Actions.authProviderLink, token, by: caller, with: credentials)
    }

    func unlink(_ name: String, from result: AuthResult) async throws {
        let (caller, credentials) = try await caller(result)
        try await service.run(Actions.authProviderUnlink, name, by: caller, with: credentials)
    }
}

private let drawnNonces = Atomic(0)

/// Runs `body` with a service that knows a provider by the names `test`, `second`, `closed` (no sign-ups) and `off` (no logins).
func withProviderService(
    algorithms: [SignatureAlgorithm] = [.rs256],
    test: String = #function,
    configure: (inout ServiceConfiguration) -> Void = { _ in },
    _ body: (ProviderFixture) async throws -> Void
) async throws {
    try await withIdentityProvider { provider in
        try await withService(test: test) { fixture in
            let source = ProviderKeySource(
                issuer: provider.issuer,
                address: nil,
                allowsLoopback: true,
                fetcher: try WebFetcher(timeout: .seconds(60))
            )
            let service = fixture.configured { configuration in
                configuration.providers = [
                    ("test", true, true), ("second", true, true), ("closed", true, false), ("off", false, true),
                ]
                .map { name, allowsLogIn, allowsSignUp in
                    ProviderConfiguration(
                        name: name,
                        issuers: [provider.issuer],
                        clientIDs: [ProviderFixture.clientID],
                        algorithms: algorithms,
                        allowsLogIn: allowsLogIn,
                        allowsSignUp: allowsSignUp,
                        fetchKeys: { await source.keys() }
                    )
                }
                configure(&configuration)
            }
            try await body(ProviderFixture(service: service, fixture: fixture, provider: provider))
        }
    }
}
