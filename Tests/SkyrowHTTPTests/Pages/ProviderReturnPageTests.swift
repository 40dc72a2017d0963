import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// The address that providers send users back to, as a browser uses it.
@Suite(.timeLimit(.minutes(60))) struct ProviderReturnPageTests {
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private func withProvider(
        test: String = #function,
        _ body: (TestService, TemporaryIdentityProvider) async throws -> Void
    ) async throws {
        try await withIdentityProvider { provider in
            try await withService(providers: [try .known(as: "example", provider)], test: test) { service in
                try await body(service, provider)
            }
        }
    }

    private func start(_ service: TestService, redirect: String = "https://app.example.org/in") async throws -> String {
        let result = try await service.call(
            "auth:provider:start",
            #"{"provider":"example","redirect":"\#(redirect)","code_challenge":"\#(Self.challenge)","state":"s 1"}"#
        )
        return try #require(result["result"]["url"].string)
    }

    private func query(_ provider: TemporaryIdentityProvider, _ url: String) async throws -> String {
        let back = try await provider.signIn(at: url)
        return String(try #require(back.split(separator: "?", maxSplits: 1).last))
    }

    @Test func aBrowserIsSentOnWithACodeThatOpensASession() async throws {
        try await withProvider { service, provider in
            let query = try await query(provider, try await start(service, redirect: "org.example.app:/in"))
            let response = try await service.get("/auth/callback/example?\(query)")
            #expect(response.status == 303)
            let location = try #require(response["location"])
            #expect(location.hasPrefix("org.example.app:/in?code="))
            #expect(response["referrer-policy"] == "no-referrer")
            #expect(response["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
            #expect(response["cache-control"]?.contains("no-store") == true)
            #expect(response.body.contains("<a href=\"\(location.replacing("&", with: "&amp;"))\">"))
            let fields = TestService.fields(of: location)
            #expect(fields["state"] == "s 1")
            let code = try #require(fields["code"])
            let result = try await service.call(
                "auth:provider:finish",
                #"{"code":"\#(code)","code_verifier":"\#(Self.verifier)"}"#
            )
            #expect(result["result"]["is_new"] == .boolean(true))
            let token = try #require(result["result"]["access_token"].string)
            let me = try await service.call("me", "{}", token: token)
            #expect(me["result"]["user_id"] == result["result"]["user_id"])
            // Once more with what is in the history of the browser.
            let again = try await service.get("/auth/callback/example?\(query)")
            #expect(again.status == 400 && again["location"] == nil && again.body.contains("role=\"alert\""))
        }
    }

    @Test func aFormComesBackAsAQueryDoes() async throws {
        try await withProvider { service, provider in
            let query = try await query(provider, try await start(service))
            let response = try await withConnection(port: service.port) { connection in
                try await connection.send(
                    """
                    POST /auth/callback/example HTTP/1.1\r\nHost: api.example.org\r\n\
                    Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(query.utf8.count)\r\n\r\n\(query)
                    """
                )
                return try await connection.response()
            }
            #expect(
                response.status == 303 && response["location"]?.hasPrefix("https://app.example.org/in?code=") == true
            )
        }
    }

    @Test func withoutAStateNothingIsChangedAndTheBrowserStays() async throws {
        try await withProvider { service, provider in
            let query = try await query(provider, try await start(service))
            let before = try await service.database.psql(
                "SELECT md5(string_agg(flow::text, '')) FROM app_internal._flow AS flow"
            )
            for path in [
                "/auth/callback/example", "/auth/callback/example?", "/auth/callback/example?code=x&state=y",
                "/auth/callback/example?error=access_denied&error_description=%3Cscript%3E",
                "/auth/callback/example?%ff=%zz",
                "/auth/callback/example?state=%00",
                "/auth/callback/example?state=\(String(repeating: "s", count: 5000))",
                "/auth/callback/example?redirect=https://evil.example&state=x",
            ] {
                let response = try await service.get(path)
                #expect(response.status == 400 && response["location"] == nil, "\(path.prefix(60))")
                #expect(!response.body.contains("script") && !response.body.contains("evil"), "\(path.prefix(60))")
            }
            for path in [
                "/auth/callback/none?\(query)", "/auth/callback/?\(query)", "/auth/callback/example/x?\(query)",
            ] {
                #expect(try await service.get(path).status == 404, "\(path.prefix(60))")
            }
            for method in ["PUT", "DELETE"] {
                #expect(try await service.get("/auth/callback/example?\(query)", method: method).status == 405)
            }
            let after = try await service.database.psql(
                "SELECT md5(string_agg(flow::text, '')) FROM app_internal._flow AS flow"
            )
            #expect(before == after)
            #expect(try await service.get("/auth/style.css").status == 200)
        }
    }

    @Test func whatGoesWrongAtTheProviderIsForTheApplicationToShow() async throws {
        try await withProvider { service, provider in
            let url = try await start(service)
            try await provider.set(.denied)
            #expect(
                try await service.comeBack(from: "example", at: url, by: provider)
                    == ["error": "access_denied", "state": "s 1"]
            )
        }
    }
}
