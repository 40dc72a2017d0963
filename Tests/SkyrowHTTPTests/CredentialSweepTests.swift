import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Every action with every kind of credentials, outside of development mode.
@Suite(.timeLimit(.minutes(60))) struct CredentialSweepTests {
    /// Who calls.
    enum Column: String, CaseIterable, Sendable {
        case noKey, wrongKey, key, anonymousAccount, user, owner, administrator, disabled, endedSession
        case masterElsewhere, master, masterActing
        /// Keys with scopes: one without any of a client and of a server, one for the type note alone and with the token of a user,
        /// and one of a server that names all that it may.
        case clientKey, serverKey, typeKey, typeKeyOfUser, namedServerKey
        /// Such ones that hold no more, or come from elsewhere.
        case revokedKey, expiredKey, keyElsewhere
    }

    /// A call of each action that harms no one where it is allowed; `<note>` is a record of the column `owner`. An action
    /// without a row fails ``everyActionHasARow()``.
    static let parameters: [ActionName: String] = [
        "record:save": #"{"records":[{"_id":"<note>","title":"x"}]}"#,
        "record:fetch": #"{"ids":["<note>"]}"#,
        "record:query": #"{"record_type":"note"}"#,
        "record:aggregate": #"{"record_type":"note","count":true}"#,
        "record:update": #"{"ids":["<note>"],"set":{"title":"x"},"at_most":1}"#,
        "record:delete": #"{"ids":["note/none"]}"#,
        "record:transfer": #"{"ids":["note/none"],"to":"none"}"#,
        "schema:fetch": "{}",
        "schema:create": #"{"record_types":{"note":{"fields":[{"name":"title","type":"string"}]}}}"#,
        "schema:rename": #"{"record_type":"note","item_name":"none","new_name":"other"}"#,
        "schema:delete": #"{"record_type":"note","item_name":"none"}"#,
        "schema:access": #"{"type":"note","create_roles":[]}"#,
        "schema:access:set": #"{"record_type":"note","list_by":"update"}"#,
        "schema:access:get": #"{"record_type":"note"}"#,
        "schema:default_access": #"{"type":"note","default_access":null}"#,
        "schema:field_access:get": "{}",
        "schema:field_access:update": #"{"access":[]}"#,
        "schema:index:create": #"{"record_type":"note","fields":[["none"]]}"#,
        "schema:index:delete": #"{"name":"none"}"#,
        "schema:index:list": "{}",
        "auth:signup": #"{"auth_data":{"none":"x"}}"#,
        "auth:login": #"{"auth_data":{"username":"none"},"password":"a wrong guess"}"#,
        "auth:logout": "{}",
        "auth:password": #"{"old_password":"a wrong guess","password":"another secret"}"#,
        "auth:stepup": #"{"password":"a wrong guess"}"#,
        "auth:register": #"{"auth_data":{"none":"x"},"password":"another secret"}"#,
        "auth:delete": "{}",
        "auth:invite": #"{"email":"none"}"#,
        "user:delete": #"{"user_id":"none"}"#,
        "auth:login:factor": #"{"handle":"none","code":"000000"}"#,
        "auth:totp:enrol": "{}",
        "auth:totp:confirm": #"{"code":"none"}"#,
        "auth:totp:remove": "{}",
        "auth:factor:list": "{}",
        "auth:disable:set": #"{"auth_id":"none","disabled":true}"#,
        "auth:default_access:set": #"{"default_access":[{"public":true,"level":"read"}]}"#,
        "auth:verify:request": #"{"email":"none@example.org"}"#,
        "auth:verify:confirm": #"{"code":"none"}"#,
        "auth:reset:request": #"{"email":"none@example.org"}"#,
        "auth:reset:confirm": #"{"code":"none","password":"another secret"}"#,
        "auth:reset_password": #"{"auth_id":"none","password":"another secret"}"#,
        "auth:email:change": #"{"email":"none","password":"a wrong guess"}"#,
        "auth:email:confirm": #"{"code":"none","handle":"none"}"#,
        "auth:email:undo": #"{"code":"none"}"#,
        "auth:link:request": #"{"email":"none@example.org"}"#,
        "auth:link:login": #"{"code":"none","handle":"none"}"#,
        "auth:merge": #"{"token":"none"}"#,
        "auth:provider:login": #"{"provider":"none","id_token":"x","nonce":"x"}"#,
        "auth:provider:link": #"{"provider":"none","id_token":"x","nonce":"x"}"#,
        "auth:provider:unlink": #"{"provider":"none"}"#,
        "auth:provider:list": "{}",
        "sso:custom_token:login": #"{"token":"x"}"#,
        "auth:provider:start":
            #"{"provider":"none","redirect":"x","code_challenge":"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}"#,
        "auth:provider:finish": #"{"code":"none","code_verifier":"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}"#,
        "auth:provider:token": #"{"provider":"none"}"#,
        "sso:oauth:login": #"{"provider":"none","principal_id":"none"}"#,
        "sso:oauth:signup": #"{"provider":"none","principal_id":"none"}"#,
        "sso:oauth:link": #"{"provider":"none","principal_id":"none","user_id":"none"}"#,
        "sso:oauth:unlink": #"{"provider":"none","user_id":"none"}"#,
        "me": "{}",
        "auth:become": #"{"token":"<token>"}"#,
        "auth:rotate": "{}",
        "session:list": "{}",
        "session:revoke": #"{"ids":[]}"#,
        "role:assign": #"{"roles":[],"users":[]}"#,
        "role:revoke": #"{"roles":[],"users":[]}"#,
        "role:get": #"{"users":[]}"#,
        "role:default": #"{"roles":[]}"#,
        "role:admin": #"{"roles":["Admin"]}"#,
        // What the access list of a role allows is not a matter of credentials.
        "role:save": #"{"name":"none","access":[{"relation":"friend","level":"read"}]}"#,
        "role:delete": #"{"name":"none"}"#,
        "role:add": #"{"role":"none"}"#,
        "role:remove": #"{"role":"none"}"#,
        "role:members": #"{"role":"none"}"#,
        "role:list": "{}",
        "group:add": #"{"groups":[]}"#,
        "group:remove": #"{"groups":[]}"#,
        "group:list": "{}",
        "relation:add": #"{"name":"friend","targets":[]}"#,
        "relation:remove": #"{"name":"friend","targets":[]}"#,
        "relation:query": #"{"name":"friend"}"#,
        "relation:requests": "{}",
        "relation:block": #"{"targets":[]}"#,
        "key:create": #"{"name":"none","scopes":["read"]}"#,
        "key:list": "{}",
        "key:rotate": #"{"id":"k00000000"}"#,
        "key:revoke": #"{"id":"k00000000"}"#,
        "function:expose": #"{"function":"none()"}"#,
        "function:hide": #"{"name":"none"}"#,
        "live:subscribe": #"{"subscription":"none","record_type":"note"}"#,
        "live:unsubscribe": #"{"subscription":"none"}"#,
        "live:watch": #"{"subscription":"none","record_type":"note"}"#,
        "connection:authenticate": "{}",
        "live:ticket": "{}",
        "changes:fetch": #"{"record_type":"note"}"#,
        "changes:compare": #"{"record_type":"note"}"#,
        "asset:put": #"{"filename":"none","content-type":"text/plain","content-size":1}"#,
        "file:sign": #"{"record":"note/none","names":[]}"#,
        "file:delete": #"{"names":[]}"#,
        "file:collect": #"{"dry_run":true}"#,
        "function:call": #"{"name":"none"}"#,
        "function:list": "{}",
    ]

    /// What a column gets of an action; nil where it is let in, whatever comes of it.
    static func refusal(_ action: ActionName, _ column: Column) -> Int? {
        // The master key acts for a user without a session, which is what gets another token or a proof.
        if ["auth:rotate", "auth:stepup", "auth:register"].contains(action), column == .masterActing { return 101 }
        // A ticket is for pages, which have no key that passes the rules.
        if action == "live:ticket", [.master, .masterActing, .serverKey, .namedServerKey].contains(column) {
            return 101
        }
        switch column {
        case .serverKey, .typeKey, .typeKeyOfUser:
            // Scopes of actions are judged before what an action needs, those of types after it.
            if action == "record:transfer", column == .typeKey { return 101 }
            guard isAboutRecords(action) else { return 102 }
        case .namedServerKey:
            // To make keys cannot be named.
            if action == "key:create" || action == "key:rotate" { return 102 }
        default: break
        }
        return refusal(ActionTable[action]?.description.requirement ?? .master, column)
    }

    /// The actions that a key may call which is for the type `note`, and a server's that is for all but `user`.
    private static func isAboutRecords(_ action: ActionName) -> Bool {
        switch action {
        case "record:save", "record:fetch", "record:query", "record:aggregate", "record:update", "record:delete",
            "changes:fetch",
            "changes:compare", "auth:logout", "live:subscribe", "live:unsubscribe", "live:watch", "live:ticket",
            "connection:authenticate", "asset:put", "file:sign":
            true
        // Whether there is a user to give a record to is a question about the type user.
        default: false
        }
    }

    /// What it gets by what the action requires.
    private static func refusal(_ requirement: ActionRequirement, _ column: Column) -> Int? {
        switch (requirement, column) {
        case (.nothing, .noKey): nil
        case (_, .noKey): 101
        case (_, .wrongKey), (_, .masterElsewhere), (_, .revokedKey), (_, .expiredKey), (_, .keyElsewhere): 103
        // Where a key is needed, no token is looked at.
        case (.key, _): nil
        case (.master, .master), (.master, .masterActing): nil
        case (.masterOrDevelopment, .master), (.masterOrDevelopment, .masterActing): nil
        case (.masterOrDevelopment, .namedServerKey), (.master, .namedServerKey): nil
        case (.master, _), (.masterOrDevelopment, _): 102
        case (_, .endedSession): 104
        case (.nothing, _), (.keyOrToken, _): nil
        case (.user, .key), (.user, .master), (.userOrMaster, .key), (.administrator, .key): 101
        case (.user, .clientKey), (.userOrMaster, .clientKey), (.administrator, .clientKey): 101
        case (.user, .typeKey), (.userOrMaster, .typeKey), (.user, .serverKey), (.user, .namedServerKey): 101
        case (.user, .disabled), (.userOrMaster, .disabled), (.administrator, .disabled): 127
        case (.administrator, .anonymousAccount), (.administrator, .user), (.administrator, .owner): 102
        case (.user, _), (.userOrMaster, _), (.administrator, _): nil
        }
    }

    private static let refusals = [101, 102, 103, 104, 127]

    /// All that a refused call must leave as it was: not the times of last use, which are written a while later.
    private static let digest = """
        SELECT md5(concat(
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app.note AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app."user" AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._user AS t),
            (SELECT string_agg(to_jsonb(t) - 'last_used_at' #>> '{}', '' ORDER BY t.id) FROM app_internal._session AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._role AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._user_role AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._code AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._merge AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._identity AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._used_token AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._flow AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._asset AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._factor AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._password_history AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._index AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._class_rule AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._class_option AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._field_rule AS t),
            (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._throttle AS t),
            (SELECT string_agg(to_jsonb(t) - 'last_used_at' #>> '{}', '' ORDER BY t.id) FROM app_internal._key AS t)
        ))
        """

    @Test func everyActionHasARow() {
        let missing = ActionTable.all.map(\.description.name).filter { Self.parameters[$0] == nil }
        #expect(missing.isEmpty)
    }

    /// The credentials of the columns, made anew for each action, since some end sessions.
    private struct Callers {
        var tokens: [Column: String] = [:]
        var note = ""
        var owner = ""
        let keys: [Column: String]

        init(_ service: TestService, _ round: Int, keys: [Column: String]) async throws {
            self.keys = keys
            for column in [Column.user, .owner, .administrator, .disabled, .endedSession, .typeKeyOfUser] {
                let account = try await service.signUp("\(column.rawValue)\(round)")
                tokens[column] = account.token
                switch column {
                case .owner:
                    owner = account.id
                    note = "note/n\(round)"
                    let save = #"{"records":[{"_id":"\#(note)","title":"x"}]}"#
                    let saved = try await service.call("record:save", save, token: account.token)
                    #expect(saved["error"] == .null)
                case .administrator:
                    _ = try await service.call(
                        "role:assign",
                        #"{"roles":["Admin"],"users":["\#(account.id)"]}"#,
                        key: TestService.masterKey
                    )
                case .disabled:
                    // An account without a password keeps its session, and is told that it is disabled.
                    _ = try await service.call(
                        "auth:disable:set",
                        #"{"auth_id":"\#(account.id)","disabled":true}"#,
                        key: TestService.masterKey
                    )
                case .endedSession:
                    _ = try await service.call("auth:logout", "{}", token: account.token)
                default:
                    break
                }
            }
            tokens[.anonymousAccount] = try await service.call("auth:signup", "{}")["result"]["access_token"].string
        }
    }

    @Test func everyActionTakesAndRefusesEveryKindOfCredentials() async throws {
        try await withService(
            mode: .production,
            proxies: TrustedProxies(ClientIdentification.loopback),
            mail: .toMemory(MemoryMailTransport()),
            verification: .optional
        ) { service in
            let made = try await service.call(
                "schema:create",
                #"{"record_types":{"note":{"fields":[{"name":"title","type":"string"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(made["error"] == .null)
            let keys = try await Self.keys(of: service)
            var counts = [true: 0, false: 0]
            for (round, action) in ActionTable.all.map(\.description.name).enumerated() {
                let callers = try await Callers(service, round, keys: keys)
                let before = try await service.database.psql(Self.digest)
                for isRefused in [true, false] {
                    for column in Column.allCases where (Self.refusal(action, column) != nil) == isRefused {
                        let code = try await call(service, action, as: column, callers)
                        let expected = Self.refusal(action, column)
                        if let expected {
                            #expect(code == expected, "\(action.rawValue) \(column.rawValue)")
                        } else {
                            #expect(
                                code.map { !Self.refusals.contains($0) } ?? true,
                                "\(action.rawValue) \(column.rawValue)"
                            )
                        }
                        counts[isRefused, default: 0] += 1
                    }
                    guard isRefused else { continue }
                    let after = try await service.database.psql(Self.digest)
                    #expect(after == before, "\(action.rawValue) changed something")
                }
            }
            #expect(counts[true] ?? 0 > 500 && counts[false] ?? 0 > 150)
        }
    }

    /// Makes a key for each column that has one.
    private static func keys(of service: TestService) async throws -> [Column: String] {
        // A key has at most 100 scopes, and those of types and of writes cover the other actions.
        let named = ActionTable.all.map(\.description)
            .filter { [.named, .signUp].contains($0.scope) && !["key:create", "key:rotate"].contains($0.name) }
            .map { "\"action:\($0.name.rawValue)\"" }.joined(separator: ",")
        var keys: [Column: String] = [:]
        for (column, parameters) in [
            (Column.clientKey, ""), (.serverKey, #","kind":"server""#), (.typeKey, #","scopes":["type:note"]"#),
            (.typeKeyOfUser, #","scopes":["type:note"]"#),
            (.namedServerKey, #","kind":"server","scopes":["write","type:note","type:user",\#(named)]"#),
            (.revokedKey, ""), (.expiredKey, ""), (.keyElsewhere, #","networks":["192.0.2.0/24"]"#),
        ] {
            let made = try await service.call(
                "key:create",
                #"{"name":"\#(column.rawValue)"\#(parameters)}"#,
                key: TestService.masterKey
            )
            keys[column] = made["result"]["key"].string
            let id = try #require(made["result"]["id"].string)
            if column == .revokedKey {
                _ = try await service.call("key:revoke", #"{"id":"\#(id)"}"#, key: TestService.masterKey)
            }
            guard column == .expiredKey else { continue }
            _ = try await service.database.psql(
                "UPDATE app_internal._key SET expires_at = now() - interval '1 s' WHERE id = '\(id)'"
            )
            let key = keys[column]
            try await waiting(until: "the change of psql is heard") {
                try await service.call("record:query", #"{"record_type":"note"}"#, key: key)["error"]["code"].integer
                    == 103
            }
        }
        return keys
    }

    /// Returns the code of the error, if there is one.
    private func call(
        _ service: TestService,
        _ action: ActionName,
        as column: Column,
        _ callers: Callers
    ) async throws -> Int? {
        var headers: [(String, String)] = []
        switch column {
        case .noKey: break
        case .wrongKey: headers.append(("X-Skygear-API-Key", "a-wrong-key"))
        case .master, .masterActing: headers.append(("X-Skygear-API-Key", TestService.masterKey))
        case .masterElsewhere:
            headers += [("X-Skygear-API-Key", TestService.masterKey), ("X-Forwarded-For", "192.0.2.7")]
        case .clientKey, .serverKey, .typeKey, .typeKeyOfUser, .namedServerKey, .revokedKey, .expiredKey, .keyElsewhere:
            headers.append(("X-Skygear-API-Key", callers.keys[column] ?? ""))
        case .key, .anonymousAccount, .user, .owner, .administrator, .disabled, .endedSession:
            headers.append(("X-Skygear-API-Key", TestService.apiKey))
        }
        if let token = callers.tokens[column] { headers.append(("X-Skygear-Access-Token", token)) }
        var parameters = (Self.parameters[action] ?? "{}")
            .replacing("<note>", with: callers.note)
            .replacing("<token>", with: callers.tokens[.user] ?? "")
        if column == .masterActing {
            let rest = parameters.dropFirst()
            parameters = #"{"_user_id":"\#(callers.owner)"\#(rest == "}" ? "" : ",")\#(rest)"#
        }
        let body = #"{"jsonrpc":"2.0","id":1,"method":"\#(action.rawValue)","params":\#(parameters)}"#
        let response = try await withConnection(port: service.port) { connection in
            try await connection.post("/rpc", body, headers: headers)
            return try await connection.response()
        }
        return try JSONValue(response.body)["error"]["code"].integer
    }
}

/// From where the master key counts.
@Suite struct MasterNetworkTests {
    @Test(
        arguments: [
            ("127.0.0.1", true), ("127.255.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("192.0.2.7", false),
            ("::2", false), ("10.0.0.1", false), (nil, true),
        ] as [(String?, Bool)]
    )
    func byDefaultItCountsOnTheMachineItself(_ address: String?, _ counts: Bool) {
        let client = Client(address: address.flatMap { ClientAddress($0) }, isSecure: true)
        #expect(ClientIdentification().admitsMasterKey(client) == counts)
    }

    /// In either envelope, in the head and in the body.
    @Test func elsewhereItIsAsWrongAsAnyOther() async throws {
        let proxies = TrustedProxies(ClientIdentification.loopback)
        try await withService(mode: .production, proxies: proxies) { service in
            let away = [("X-Forwarded-For", "192.0.2.7")]
            let key = [("X-Skygear-API-Key", TestService.masterKey)]
            let wrong = [("X-Skygear-API-Key", "a-wrong-key")]
            let rpc = #"{"jsonrpc":"2.0","id":1,"method":"role:admin","params":{"roles":["Admin"]}}"#
            let v1 = #"{"action":"role:admin","roles":["Admin"]}"#
            let inBody = #"{"action":"role:admin","roles":["Admin"],"api_key":"\#(TestService.masterKey)"}"#
            func send(_ path: String, _ body: String, _ headers: [(String, String)]) async throws -> RawResponse {
                try await withConnection(port: service.port) { connection in
                    try await connection.post(path, body, headers: headers)
                    return try await connection.response()
                }
            }
            for (path, body, head) in [("/rpc", rpc, key), ("/", v1, key), ("/", inBody, [])] {
                let near = try await send(path, body, head)
                #expect(try JSONValue(near.body)["error"] == .null)
                let far = try await send(path, body, head + away)
                let other = try await send(path, path == "/rpc" ? rpc : v1, wrong + away)
                #expect(try JSONValue(far.body)["error"]["code"].integer == 103)
                #expect(far.status == other.status && far.body == other.body)
            }
            // That it was used there is kept; that another key was wrong is not.
            try await waiting(until: "the events are stored") {
                let count = try await service.database.psql(
                    """
                    SELECT count(*) FROM app_internal._audit
                    WHERE event = 'master' AND outcome = 'AccessKeyNotAccepted' AND address = '192.0.2.7'
                    """
                )
                return count == "3"
            }
        }
    }
}
