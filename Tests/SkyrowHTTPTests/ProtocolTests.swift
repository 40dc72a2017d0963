import Foundation
import NIOCore
import NIOHTTP1
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// The pages of Documentation/Protocol/ say what the service does; here the service is asked whether that is so.
@Suite struct ProtocolTests {
    let manual: ProtocolManual

    init() throws {
        manual = try ProtocolManual()
    }

    @Test func everyExampleIsAnsweredAsTheManualShows() async throws {
        let transport = MemoryMailTransport()
        try await withIdentityProvider { provider in
            let keys = [CustomTokenKey(TemporaryIdentityProvider.sharedKey)].compactMap(\.self)
            // One WebSocket stays open from the first example to the last.
            let limits = LiveLimits(authentication: .hours(1), ping: .hours(1), silence: .hours(2))
            let files = FileConfiguration(storage: try TestFileStorage(), urlPrefix: "https://api.example.org/files")
            try await withService(
                limits: HTTPLimits(live: limits),
                mail: .toMemory(transport),
                verification: .optional,
                linkLogIn: true,
                providers: [try .known(as: "example", provider)],
                customTokenKeys: keys,
                files: files
            ) { service in
                try await service.exposeFunctions()
                try await withSocket(port: service.port) { socket in
                    var placeholders = try await ProtocolPlaceholders(tokensOf: provider)
                    placeholders.learn("api-key", .string(TestService.apiKey))
                    for example in manual.examples {
                        // The six digits of the mail that an example before has asked for, or the code of its link.
                        for match in example.request.matches(of: /<(mail-([0-9]+)(-code)?)>/) {
                            guard let number = Int(match.2) else { continue }
                            let mail = try await transport.message(number - 1)
                            placeholders.learn(String(match.1), .string(match.3 == nil ? mail.digits : mail.linkCode))
                        }
                        if example.request.contains("<totp-code>"),
                            case .string(let secret)? = placeholders["totp-secret"]
                        {
                            let step = try await service.database.psql(
                                "SELECT floor(extract(epoch FROM clock_timestamp()) / 30)::bigint"
                            )
                            let totp = TOTP(secret: try #require(Base32.decode(secret)))
                            placeholders.learn("totp-code", .string(totp.code(at: try #require(Int64(step)))))
                        }
                        if example.request.contains("<flow-1-code>"), placeholders["flow-1-code"] == nil,
                            case .string(let url)? = placeholders["flow-1-url"]
                        {
                            let fields = try await service.comeBack(from: "example", at: url, by: provider)
                            placeholders.learn("flow-1-code", .string(try #require(fields["code"])))
                        }
                        let request = placeholders.fill(example.request)
                        let response =
                            example.isMessage
                            ? try await socket.response(to: request)
                            : try await service.v1(
                                example.path,
                                request,
                                key: key(of: example.caller, placeholders),
                                token: try token(of: example.caller, placeholders)
                            )
                        let differences = try placeholders.differences(response.body, from: example.response)
                        #expect(response.status == example.status, "\(example.place)")
                        #expect(differences.isEmpty, "\(example.place)")
                    }
                }
            }
        }
    }

    private func key(of caller: String, _ placeholders: ProtocolPlaceholders) -> String? {
        switch caller {
        case "none": nil
        case "master": TestService.masterKey
        default:
            if case .string(let key)? = placeholders["\(caller)-key"] { key } else { TestService.apiKey }
        }
    }

    private func token(of caller: String, _ placeholders: ProtocolPlaceholders) throws -> String? {
        switch caller {
        case "none", "key", "master":
            return nil
        case _ where placeholders["\(caller)-key"] != nil:
            return nil
        default:
            guard case .string(let token) = try #require(placeholders["\(caller)-token"]) else { return nil }
            return token
        }
    }

    @Test func everyActionHasAnExampleThatSucceeds() throws {
        let successes = try manual.examples.filter {
            try ProtocolJSON($0.response.isEmpty ? "null" : $0.response)["result"] != nil
        }
        let shown = try successes.map { try ProtocolJSON($0.request)["method"] }
        let missing = ActionTable.all.map(\.description.name).filter { !shown.contains(.string($0.rawValue)) }
        #expect(missing.isEmpty)
    }

    @Test func aDifferenceIsFound() throws {
        var placeholders = ProtocolPlaceholders()
        let shown = try ProtocolJSON(
            #"{"id": "user/<ann>", "at": "<time>", "list": [1, true], "next": "<ann>", "more": "<any>"}"#
        )
        let same = #"{"id":"user/u1","at":"2026-03-01T09:00:00.5Z","list":[1,true],"next":"u1","more":{}}"#
        #expect(placeholders.differences(try ProtocolJSON(same), from: shown).isEmpty)
        let others = [
            #"{"id":"user/u2","at":"2026-03-01T09:00:00Z","list":[1,true],"next":"u2","more":{}}"#,
            #"{"id":"user/u1","at":"yesterday","list":[1,true],"next":"u1","more":{}}"#,
            #"{"id":"user/u1","at":"2026-03-01T09:00:00Z","list":[1,false],"next":"u1","more":{}}"#,
            #"{"id":"user/u1","at":"2026-03-01T09:00:00Z","list":[1],"next":"u1","more":{}}"#,
            #"{"id":"user/u1","at":"2026-03-01T09:00:00Z","list":[1,true],"next":"u1"}"#,
            #"{"id":"user/u1","at":"2026-03-01T09:00:00Z","list":[1,true],"next":"u1","more":{},"extra":1}"#,
        ]
        for other in others {
            #expect(!placeholders.differences(try ProtocolJSON(other), from: shown).isEmpty)
        }
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func theSectionOfAnActionNamesItsRequirementAndParameters(_ action: ActionDescription) throws {
        let name = action.name
        let section = try #require(manual.section("## \(name.rawValue)")).replacing("\n", with: " ")
        #expect(section.contains("*Requires: \(action.requirement.words)"))
        for parameter in action.parameters {
            #expect(section.contains("`\(parameter.name)`"), "\(name.rawValue) has a parameter \(parameter.name)")
        }
    }

    @Test func theTablesOfParametersAndResultsAreThoseOfTheDescriptions() {
        let tables = ProtocolTables(ActionTable.all.map(\.description))
        for page in manual.pages {
            // Not a comparison in the macro, which would print both pages.
            let isFilled = tables.filled(page.text) == page.text
            #expect(isFilled, "Documentation/Protocol/\(page.name).md is stale: run make manual")
        }
    }

    /// A section without its markers would not be filled, and neither would one with a marker that is misspelled.
    @Test(arguments: ActionTable.all.map(\.description.name))
    func theSectionOfAnActionHasItsTables(_ name: ActionName) throws {
        let section = try #require(manual.section("## \(name.rawValue)"))
        let marker = "<!-- parameters and result of \(name.rawValue) -->\n\n"
        let table = try #require(section.components(separatedBy: marker).dropFirst().first)
        #expect(table.contains("\n\n<!-- end -->\n"))
    }

    @Test func everyMarkerHasItsNameAndItsEnd() {
        let named = manual.text.matches(of: /<!-- (parameters and result|members) of (\S+) -->/)
        for (_, kind, name) in named.map(\.output) {
            let isKnown =
                kind == "members"
                ? JSONShapeName(rawValue: "\(name)") != nil : ActionTable[ActionName("\(name)")] != nil
            #expect(isKnown, "\(name)")
        }
        #expect(manual.text.ranges(of: "<!--").count == 2 * named.count)
        #expect(manual.text.ranges(of: "<!-- end -->").count == named.count)
    }

    /// Statements of the manual about numbers and paths, as the code has them.
    @Test func theLimitsAndPathsAreThoseOfTheService() throws {
        let limits = try #require(manual.section("## Limits"))
        let row = try #require(limits.split(separator: "\n").first { $0.contains("`auth:signup`") })
        let named = Set(row.matches(of: /`([a-z_:]+:[a-z_:]+)`/).map { String($0.1) })
        let hashing = ActionTable.all.map(\.description).filter { $0.cost == .password }.map(\.name.rawValue)
        #expect(named == Set(hashing))
        #expect(
            WireLimits.predicateCount == 1000
                && limits.contains("`none` · values of its lists · references it follows | 1000 · 10,000 · 16 |")
        )
        #expect(limits.contains("`relation:block` | 10,000 · \(RelationChange.maximumTargets) |"))
        let paths = try #require(manual.section("## Other paths"))
        for page in AccountPage.allCases { #expect(paths.contains("`\(page.rawValue)`"), "\(page)") }
        #expect(paths.contains("`\(ProviderReturnPage.prefix)<provider>`"))
    }

    /// The index links every page and every action, and the head of a page every section of it.
    @Test func theIndexAndTheHeadsOfThePagesLinkEverySection() throws {
        let folder = documentationFile("Protocol")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let pages = files.map(\.lastPathComponent).filter { $0.hasSuffix(".md") && $0 != "README.md" }
        #expect(pages.sorted() == ProtocolManual.names.map { "\($0).md" }.sorted())
        var actions: Set<String> = []
        for page in manual.pages {
            #expect(manual.index.contains("](\(page.name).md)"), "\(page.name)")
            let head = try #require(page.text.components(separatedBy: "\n## ").first)
            for heading in page.text.matches(of: /(?m)^## (.+)$/).map({ String($0.1) }) {
                let anchor = ProtocolManual.anchor(of: heading)
                #expect(head.contains("](#\(anchor))"), "\(page.name): \(heading)")
                guard ActionTable[ActionName(heading)] != nil else { continue }
                actions.insert(heading)
                #expect(manual.index.contains("[`\(heading)`](\(page.name).md#\(anchor))"), "\(heading)")
            }
        }
        #expect(actions == Set(ActionTable.all.map(\.description.name.rawValue)))
    }

    @Test func theTableOfErrorsIsTheRegistry() throws {
        let rows = try #require(manual.section("## Error codes")).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| (-?\d+) \| (\w+) \| (\d*) ?\|/)
        }
        let codes = rows.compactMap { Int($0.1).map(ErrorCode.init(rawValue:)) }
        #expect(codes.count == Set(codes).count)
        #expect(Set(codes) == Set(ErrorCode.names.keys))
        for (code, row) in zip(codes, rows) {
            #expect(code.name == row.2)
            // JSON-RPC's own codes have no place in the v1 envelope.
            if code.rawValue > 0 { #expect(UInt(row.3) == code.httpStatus.code, "\(code.rawValue)") }
        }
    }
}

extension ProtocolManual {
    /// The anchor that GitHub gives to a heading.
    static func anchor(of heading: String) -> String {
        heading.lowercased().replacing(/[^\w\- ]/, with: "").replacing(" ", with: "-")
    }

    /// The text of the page that has a heading, from there to the next one of its level or above.
    func section(_ heading: String) -> String? {
        pages.lazy.compactMap { Self.section(heading, of: $0.text) }.first
    }

    private static func section(_ heading: String, of text: String) -> String? {
        let level = heading.prefix { $0 == "#" }.count
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(of: heading[...]) else { return nil }
        let rest = lines[(start + 1)...]
        let end = rest.firstIndex { line in
            let count = line.prefix { $0 == "#" }.count
            return (1...level).contains(count) && line.dropFirst(count).first == " "
        }
        return rest[..<(end ?? rest.endIndex)].joined(separator: "\n")
    }
}

extension ProviderConfiguration {
    /// A provider as clients know it, which knows the application as `app-1`.
    static func known(as name: String, _ provider: TemporaryIdentityProvider) throws -> ProviderConfiguration {
        let source = ProviderKeySource(
            issuer: provider.issuer,
            address: nil,
            allowsLoopback: true,
            fetcher: try WebFetcher(timeout: .seconds(60))
        )
        let fetcher = try WebFetcher(timeout: .seconds(60))
        return ProviderConfiguration(
            name: name,
            issuers: [provider.issuer],
            clientIDs: ["app-1"],
            flow: ProviderFlow(
                kind: .openID,
                clientID: "app-1",
                authentication: .secret(Secret("a client secret")),
                redirects: ["https://app.example.org/in", "org.example.app:/in"].compactMap { RegisteredRedirect($0) },
                callback: "https://api.example.org/auth/callback/\(name)",
                keepsTokens: true,
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
}

extension TestService {
    /// Has the user of a provider sign in at an address, as a browser does, and returns the fields that the application gets.
    func comeBack(
        from name: String,
        at url: String,
        by provider: TemporaryIdentityProvider
    ) async throws -> [String: String] {
        let back = try await provider.signIn(at: url)
        let query = try #require(back.split(separator: "?", maxSplits: 1).last)
        let response = try await get("/auth/callback/\(name)?\(query)")
        let location = try #require(response["location"] ?? response["Location"])
        return TestService.fields(of: location)
    }

    /// Makes the functions of the database that the manual's examples call and expose.
    fileprivate func exposeFunctions() async throws {
        _ = try await database.psql(
            """
            SET search_path = app, app_internal;
            CREATE FUNCTION greet(name text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'Hello ' || name $$;
            CREATE FUNCTION farewell(name text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'Goodbye ' || name $$;
            SELECT _expose('greet', 'nothing');
            """
        )
        try await waiting(until: "the service knows the function") {
            let list = try await rpc(#"{"jsonrpc":"2.0","id":1,"method":"function:list"}"#, key: Self.masterKey)
            return list.body.contains("greet")
        }
    }

    func get(_ path: String, method: String = "GET") async throws -> RawResponse {
        try await withConnection(port: port) { connection in
            try await connection.send("\(method) \(path) HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
            return try await connection.response()
        }
    }

    /// The fields of the query of an address.
    static func fields(of address: String) -> [String: String] {
        let items = URLComponents(string: address)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
}

extension ProtocolPlaceholders {
    /// Knows the tokens that the manual's examples send.
    fileprivate init(tokensOf provider: TemporaryIdentityProvider) async throws {
        self.init()
        let now = Int(Date().timeIntervalSince1970)
        let times = #""iat":\#(now),"exp":\#(now + 600)"#
        let own = #""iss":"\#(provider.issuer)","aud":"app-1",\#(times)"#
        let kim = #"{"sub":"248289761001","nonce":"n-0S6_WzA2Mj","name":"Kim",\#(own)}"#
        let noa = #"{"sub":"248289761002","nonce":"Ytr5nV0xBwc",\#(own)}"#
        let custom = #"{"sub":"staff-7","skyprofile":{"city":"Graz"},\#(times)}"#
        learn("id-token-1", .string(try await provider.token(kim)))
        learn("id-token-2", .string(try await provider.token(noa)))
        learn("custom-token", .string(try await provider.token(custom, "HS256", key: "shared")))
    }
}

extension ActionRequirement {
    /// How the manual says it.
    fileprivate var words: String {
        switch self {
        case .nothing: "nothing;"
        case .key: "key."
        case .keyOrToken: "key or token."
        case .user: "user."
        case .userOrMaster: "user or master"
        case .administrator: "administrator."
        case .master: "master."
        case .masterOrDevelopment: "master, or development."
        }
    }
}
