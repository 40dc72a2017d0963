import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport

@testable import SkyrowActions

/// A service whose users sign in with a provider by way of their browsers.
struct FlowFixture: Sendable {
    let service: ActionService
    let fixture: ServiceFixture
    let provider: TemporaryIdentityProvider

    static let redirect = "https://app.example.org/in"
    static let callback = "https://api.example.org/auth/callback/"
    static let verifier = String(repeating: "v", count: 43)
    static let client = ClientKey(high: 1, low: 1)

    /// Begins a sign-in; the user of `result` is to be linked or to step up.
    func start(
        _ name: String = "test",
        redirect: String = FlowFixture.redirect,
        state: String? = nil,
        purpose: ProviderFlowPurpose = .logIn,
        scopes: [String] = [],
        as result: AuthResult? = nil,
        from client: ClientKey = FlowFixture.client
    ) async throws -> ProviderStart {
        let request = ProviderStartRequest(
            provider: name,
            redirect: redirect,
            codeChallenge: FlowSecret.challenge(of: Self.verifier),
            state: state,
            purpose: purpose,
            scopes: scopes
        )
        return try await service.run(Actions.authProviderStart, request, with: credentials(of: result), from: client)
    }

    func credentials(of result: AuthResult?) -> Credentials {
        Credentials(key: "api", accessToken: result?.accessToken)
    }

    /// Has the user sign in, and returns the fields that the browser brings back.
    func signIn(_ start: ProviderStart) async throws -> [String: String] {
        FlowFixture.fields(of: try await provider.signIn(at: start.url))
    }

    /// What becomes of a browser that comes back.
    func back(_ fields: [String: String], from name: String = "test") async throws -> ProviderReturn? {
        try await service.returned(from: name, AuthorizationResponse { fields[$0] })
    }

    /// The fields of the address that the application gets.
    func redirected(_ fields: [String: String], from name: String = "test") async throws -> [String: String] {
        guard case .redirect(let address)? = try await back(fields, from: name) else { return [:] }
        return FlowFixture.fields(of: address)
    }

    /// The code that the application gets of a whole sign-in.
    func code(
        _ name: String = "test",
        purpose: ProviderFlowPurpose = .logIn,
        as result: AuthResult? = nil
    ) async throws -> String? {
        let start = try await start(name, purpose: purpose, as: result)
        return try await redirected(try await signIn(start), from: name)["code"]
    }

    func finish(
        _ code: String?,
        verifier: String = FlowFixture.verifier,
        as result: AuthResult? = nil
    ) async throws -> AuthResult {
        let request = ProviderFinishRequest(code: code ?? "", codeVerifier: verifier)
        return try await service.run(Actions.authProviderFinish, request, with: credentials(of: result))
    }

    /// A whole sign-in.
    func logIn(_ name: String = "test") async throws -> AuthResult {
        try await finish(try await code(name))
    }

    /// Reads the query of an address.
    static func fields(of address: String) -> [String: String] {
        guard let mark = address.firstIndex(of: "?") else { return [:] }
        var fields: [String: String] = [:]
        for field in address[address.index(after: mark)...].split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[String(parts[0])] = parts.count > 1 ? decoded(parts[1]) : ""
        }
        return fields
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ProviderConfiguration {
    /// A provider whose users sign in by way of their browsers, which knows the service as `app-1`.
    static func browsing(
        _ name: String,
        _ provider: TemporaryIdentityProvider,
        kind: ProviderKind = .openID,
        timeout: Duration = .seconds(60)
    ) throws -> ProviderConfiguration {
        let fetcher = try WebFetcher(timeout: timeout)
        let source = ProviderKeySource(issuer: provider.issuer, address: nil, allowsLoopback: true, fetcher: fetcher)
        func address(_ path: String) throws -> WebAddress {
            guard let address = WebAddress(provider.issuer + path, allowsLoopback: true) else {
                throw SkyrowError.unexpected
            }
            return address
        }
        let given = ProviderEndpoints(
            authorization: try address("/authorize"),
            token: try address("/token"),
            user: try address("/user"),
            emails: kind == .github ? try address("/emails") : nil,
            postsSecret: true
        )
        return ProviderConfiguration(
            name: name,
            issuers: kind.hasIDTokens ? [provider.issuer] : [],
            clientIDs: ["app-1"],
            flow: ProviderFlow(
                kind: kind,
                clientID: "app-1",
                authentication: .secret(Secret("s:e/c r")),
                redirects: [
                    FlowFixture.redirect, "https://app.example.org/in?from=browser", "http://127.0.0.1/in",
                    "org.example.app:/in",
                ].compactMap { RegisteredRedirect($0) },
                callback: FlowFixture.callback + name,
                locate: { kind.hasIDTokens ? await source.endpoints() : .success(given) },
                send: { request in
                    do throws(WebFailure) {
                        return .success(try await fetcher.response(to: request))
                    } catch {
                        return .failure(error)
                    }
                }
            ),
            fetchKeys: { await source.keys() }
        )
    }
}

/// Runs `body` with a service that has the providers `test` and `second` of OpenID Connect, and `hub` as GitHub is.
///
/// - Parameters:
///   - off: a provider by which users do not log in.
///   - unregistered: a provider without addresses to go back to.
func withFlows(
    timeout: Duration = .seconds(60),
    trustsEmail: Bool = false,
    keepsTokens: Bool = false,
    domains: [String] = [],
    off: String? = nil,
    unregistered: String? = nil,
    test: String = #function,
    _ body: (FlowFixture) async throws -> Void
) async throws {
    try await withIdentityProvider { provider in
        try await withService(test: test) { fixture in
            var providers = [
                try ProviderConfiguration.browsing("test", provider, timeout: timeout),
                try ProviderConfiguration.browsing("second", provider, timeout: timeout),
                try ProviderConfiguration.browsing("hub", provider, kind: .github, timeout: timeout),
            ]
            for index in providers.indices {
                let name = providers[index].name
                providers[index].trustsEmail = trustsEmail
                providers[index].domains = domains
                providers[index].allowsLogIn = name != off
                providers[index].flow?.keepsTokens = keepsTokens
                providers[index].flow?.furtherScopes = ["calendar.read", "https://x.example/drive"]
                if name == unregistered { providers[index].flow = nil }
            }
            let configured = providers
            let service = fixture.configured { configuration in
                configuration.providers = configured
            }
            try await body(FlowFixture(service: service, fixture: fixture, provider: provider))
        }
    }
}
