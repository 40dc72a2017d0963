import SkyrowActions
import SkyrowCrypto
import SkyrowModel
import SkyrowRemote
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct ProviderSettingsTests {
    private static let google = "google issuer=https://accounts.google.com client-ids=a.apps.example"
    private static let secret = "HS256:" + String(repeating: "A", count: 43) + "="
    private static let point =
        "ES256:MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ=="

    private func load(_ flags: [String: String] = [:], keys: String? = nil) throws -> Settings {
        try SettingsLoader(
            flags: flags,
            environment: keys.map { ["SKYROW_CUSTOM_TOKEN_KEYS": $0] } ?? [:]
        ).load()
    }

    @Test func withoutSettingsThereAreNone() throws {
        let settings = try load()
        #expect(settings.providers.customTokenKeys.isEmpty)
        #expect(try settings.providers.configuration(ProviderSurroundings(isDevelopment: false)).isEmpty)
    }

    @Test func entriesSayWhatProvidersMay() throws {
        let settings = try load([
            "providers":
                "\(Self.google); own issuer=https://id.example.org/realm client-ids=web,phone algorithms=ES256,EdDSA "
                + "keys=https://keys.example.org/set sign-up=off; old issuer=https://old.example.org client-ids=x login=off"
        ])
        let entries = settings.providers.entries
        #expect(entries.map(\.name) == ["google", "own", "old"])
        #expect(
            entries.map(\.allowsLogIn) == [true, true, false] && entries.map(\.allowsSignUp) == [true, false, true]
        )
        #expect(entries[0].algorithms == [.rs256] && entries[1].algorithms == [.es256, .edDSA])
        #expect(entries[1].clientIDs == ["web", "phone"])
        #expect(entries[1].keys?.description == "https://keys.example.org/set" && entries[0].keys == nil)
        let configurations = try settings.providers.configuration(ProviderSurroundings(isDevelopment: false))
        #expect(
            configurations.map(\.issuers) == [
                ["https://accounts.google.com"], ["https://id.example.org/realm"],
                ["https://old.example.org"],
            ]
        )
    }

    @Test(arguments: [
        "", ";", "google", "google issuer=https://a.example", "own client-ids=a",
        "github issuer=https://a.example kind=github client-ids=a", "own kind=none client-ids=a",
        "google client-ids=a redirects=", "google client-ids=a redirects=http://app.example.org/in",
        "google client-ids=a redirects=https://app.example.org/in,", "google client-ids=a domains=x@y",
        "google client-ids=a trust-email=yes", "google client-ids=a token=http://a.example",
        "google client-ids=a scopes=a,,b", "google client-ids=a further-scopes=a,,b",
        "Google issuer=https://a.example client-ids=a",
        "custom-token issuer=https://a.example client-ids=a", "google issuer=http://a.example client-ids=a",
        "google issuer=https://a.example?x=y client-ids=a", "google issuer=https://a.example client-ids=a,",
        "google issuer=https://a.example client-ids=a algorithms=HS256",
        "google issuer=https://a.example client-ids=a algorithms=none",
        "google issuer=https://a.example client-ids=a algorithms=RS256,HS256",
        "google issuer=https://a.example client-ids=a sign-up=maybe",
        "google issuer=https://a.example client-ids=a other=1",
        "google issuer=https://a.example issuer=https://b.example client-ids=a",
        "google issuer=https://a.example client-ids=a; google issuer=https://b.example client-ids=b",
        "google issuer=https://a.example client-ids=a keys=ftp://a.example",
    ])
    func otherTextsAreRefused(_ text: String) {
        let error = #expect(throws: ToolError.self) { try load(["providers": text]) }
        #expect(error?.description.contains("must be providers") == true, "\(error?.description ?? "")")
    }

    @Test func aProviderOnTheMachineItselfTakesDevelopment() throws {
        for entry in [
            "own issuer=http://127.0.0.1:8080 client-ids=a",
            "own issuer=https://id.example.org client-ids=a keys=http://localhost:8080/keys",
        ] {
            let settings = try load(["providers": entry])
            #expect(try settings.providers.configuration(ProviderSurroundings(isDevelopment: true)).count == 1)
            let error = #expect(throws: ToolError.self) {
                try settings.providers.configuration(ProviderSurroundings(isDevelopment: false))
            }
            #expect(error?.description.contains("requires development mode") == true)
        }
    }

    @Test func networksAreRead() throws {
        #expect(try load(["provider-networks": "10.1.0.0/16,::1"]).providers.networks.count == 2)
        for wrong in ["", "10.1.0.0/8", "id.example.org", "10.1.0.0/16,"] {
            #expect(throws: ToolError.self) { try load(["provider-networks": wrong]) }
        }
    }

    @Test func keysOfCustomTokensAreRead() throws {
        let keys = try load(keys: "\(Self.secret)\n2026=\(Self.point)").providers.customTokenKeys
        #expect(keys.map(\.algorithm) == [.hs256, .es256] && keys.map(\.id) == [nil, "2026"])
    }

    @Test(arguments: [
        "HS256:c2hvcnQ=", "HS256:", "HS256", "none:AAAA", "RS256:\(point.dropFirst(6))", "PS256:AAAA", "EdDSA:AAAA",
        "ES256:AAAA", "=\(secret)", "a=b=\(secret)", "\(secret) x", "hs256:\(secret.dropFirst(6))",
        Array(repeating: secret, count: 11).joined(separator: " "),
    ])
    func otherKeysAreRefusedAndNotPrinted(_ text: String) {
        let error = #expect(throws: ToolError.self) { try load(keys: text) }
        let said = error?.description ?? ""
        #expect(said.contains("must be up to 10 keys") && !said.contains("AAAA") && !said.contains("c2hv"), "\(said)")
    }

    @Test func anApplicationHasItsOwnAlone() throws {
        let loader = SettingsLoader(
            flags: ["providers": Self.google, "login-scripts": "any"],
            environment: ["SKYROW_CUSTOM_TOKEN_KEYS": Self.secret]
        )
        let service = try loader.load()
        #expect(service.providers.entries.count == 1 && service.providers.customTokenKeys.count == 1)
        let shop = try ApplicationName("shop")
        let without = try loader.load(of: shop, stored: [:])
        #expect(without.providers.entries.isEmpty && without.providers.customTokenKeys.isEmpty)
        // What the service has of other settings is the application's, too.
        #expect(without.accounts.loginScripts == .any)
        let own = try loader.load(
            of: shop,
            stored: ["providers": "id issuer=https://id.example.org client-ids=a", "custom-token-keys": Self.point]
        )
        #expect(own.providers.entries.map(\.name) == ["id"])
        #expect(own.providers.customTokenKeys.map(\.algorithm) == [.es256])
    }

    // MARK: Sign-ins by way of the browser

    private static let redirects = "redirects=https://app.example.org/in,org.example.app:/in"

    private func configuration(
        _ entry: String,
        secrets: String? = nil,
        _ surroundings: ProviderSurroundings = ProviderSurroundings(
            isDevelopment: false,
            publicURL: "https://api.example.org/v1",
            verifiesAddresses: true
        )
    ) throws -> [ProviderConfiguration] {
        try SettingsLoader(
            flags: ["providers": entry],
            environment: secrets.map { ["SKYROW_PROVIDER_SECRETS": $0] } ?? [:]
        ).load().providers.configuration(surroundings)
    }

    @Test func readyMadeProvidersNeedTheirNamesAlone() async throws {
        let made = try configuration(
            "google client-ids=a \(Self.redirects) trust-email=on domains=Example.org keep-tokens=on; "
                + "facebook client-ids=b \(Self.redirects); github client-ids=c \(Self.redirects) scopes=read:user further-scopes=repo,gist; "
                + "twitter client-ids=d \(Self.redirects); hub kind=github client-ids=e \(Self.redirects) user=https://ghe.example.org/user",
            secrets: "google=g facebook=f=2\ngithub=h hub=i"
        )
        #expect(made.map(\.flow?.kind) == [.google, .facebook, .github, .twitter, .github])
        #expect(
            made.map(\.flow?.callback)
                == ["google", "facebook", "github", "twitter", "hub"].map {
                    "https://api.example.org/v1/auth/callback/\($0)"
                }
        )
        #expect(made[0].trustsEmail && made[0].domains == ["example.org"] && made[0].flow?.keepsTokens == true)
        #expect(made[0].flow?.redirects.map(\.text) == ["https://app.example.org/in", "org.example.app:/in"])
        #expect(made[2].flow?.furtherScopes == ["repo", "gist"] && made[1].flow?.furtherScopes == [])
        #expect(made[1].issuers.isEmpty && made[2].flow?.scopes == ["read:user"])
        if case .secret(let secret)? = made[1].flow?.authentication { #expect(secret.exposed == "f=2") }
        if case .none? = made[3].flow?.authentication {} else { Issue.record("Twitter has a secret.") }
        let found = try await #require(made[4].flow).locate().get()
        #expect(found.user?.description == "https://ghe.example.org/user" && found.token.host == "github.com")
        #expect(found.emails?.description == "https://api.github.com/user/emails" && found.postsSecret)
    }

    @Test(
        arguments: [
            ("google client-ids=a \(redirects)", nil, "provider-secrets"),
            ("github client-ids=a", "github=x", "requires redirects"),
            ("apple client-ids=a \(redirects)", "apple=eA==", "team, key-id"),
            ("apple client-ids=a \(redirects) team=T key-id=K", "apple=eA==", "private key"),
            ("google client-ids=a", "other=x", "the provider other does not exist"),
            (
                "own issuer=https://id.example.org client-ids=a \(redirects) token=http://127.0.0.1/token", nil,
                "development"
            ),
        ] as [(String, String?, String)]
    )
    func whatDoesNotFitIsRefused(_ entry: String, _ secrets: String?, _ reason: String) {
        let error = #expect(throws: ToolError.self) { try configuration(entry, secrets: secrets) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("eA==") != true)
    }

    @Test func otherSettingsAreAskedFor() {
        let own = "own issuer=https://id.example.org client-ids=a"
        for (entry, surroundings, reason) in [
            ("\(own) \(Self.redirects)", ProviderSurroundings(isDevelopment: false), "public-url"),
            ("\(own) trust-email=on", ProviderSurroundings(isDevelopment: false, publicURL: "x"), "verification"),
        ] {
            let error = #expect(throws: ToolError.self) { try configuration(entry, surroundings) }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        }
    }

    @Test(arguments: ["google", "google=", "=x", "Google=x", "google=a google=b", "google=\u{e4}"])
    func otherSecretsAreRefusedAndNotPrinted(_ text: String) {
        let error = #expect(throws: ToolError.self) {
            try configuration("google client-ids=a", secrets: text)
        }
        #expect(error?.description.contains("must be up to 20 secrets") == true)
    }
}
