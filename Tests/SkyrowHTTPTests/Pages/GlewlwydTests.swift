import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowRemote
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Sign-ins with a provider that others have written: https://github.com/babelouest/glewlwyd
@Suite(.timeLimit(.minutes(60))) struct GlewlwydTests {
    private static let callback = "https://api.example.org/auth/callback/glewlwyd"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private func configuration(_ provider: TemporaryGlewlwyd, secret: String) throws -> ProviderConfiguration {
        let fetcher = try WebFetcher(timeout: .seconds(60))
        let source = ProviderKeySource(issuer: provider.issuer, address: nil, allowsLoopback: true, fetcher: fetcher)
        return ProviderConfiguration(
            name: "glewlwyd",
            issuers: [provider.issuer],
            clientIDs: [TemporaryGlewlwyd.clientID],
            trustsEmail: true,
            flow: ProviderFlow(
                kind: .openID,
                clientID: TemporaryGlewlwyd.clientID,
                authentication: .secret(Secret(secret)),
                scopes: ["openid"],
                redirects: ["org.example.app:/in"].compactMap { RegisteredRedirect($0) },
                callback: Self.callback,
                locate: { await source.endpoints() },
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

    private func withProvider(
        secret: String = TemporaryGlewlwyd.clientSecret,
        test: String = #function,
        _ body: (TestService, TemporaryGlewlwyd) async throws -> Void
    ) async throws {
        try await withGlewlwyd(redirect: Self.callback) { provider in
            try await withService(
                providers: [try configuration(provider, secret: secret)],
                test: test
            ) { service in
                try await body(service, provider)
            }
        }
    }

    /// Has the user sign in, and returns what the application gets.
    private func signIn(_ service: TestService, _ provider: TemporaryGlewlwyd) async throws -> [String: String] {
        let started = try await service.call(
            "auth:provider:start",
            #"{"provider":"glewlwyd","redirect":"org.example.app:/in","code_challenge":"\#(Self.challenge)"}"#
        )
        let back = try await provider.visit(try #require(started["result"]["url"].string))
        #expect(back.hasPrefix(Self.callback + "?"))
        let query = try #require(back.split(separator: "?", maxSplits: 1).last)
        let response = try await service.get("/auth/callback/glewlwyd?\(query)")
        #expect(response.status == 303)
        return TestService.fields(of: try #require(response["location"]))
    }

    @Test func anAccountIsMadeOnceAndFoundAgain() async throws {
        try await withProvider { service, provider in
            var users: [JSONValue] = []
            for isNew in [true, false] {
                let code = try #require(try await signIn(service, provider)["code"])
                let result = try await service.call(
                    "auth:provider:finish",
                    #"{"code":"\#(code)","code_verifier":"\#(Self.verifier)"}"#
                )["result"]
                #expect((result["is_new"] == .boolean(true)) == isNew)
                #expect(result["access_token"].string != nil)
                users.append(result["user_id"])
            }
            #expect(users.count == 2 && users[0] == users[1] && users[0].string != nil)
        }
    }

    @Test func aClientWithAnotherSecretGetsNothing() async throws {
        try await withProvider(secret: "another one") { service, provider in
            let fields = try await signIn(service, provider)
            #expect(fields["error"] == "server_error" && fields["code"] == nil)
            #expect(try await service.database.psql("SELECT count(*) FROM app_internal._identity") == "0")
        }
    }
}
