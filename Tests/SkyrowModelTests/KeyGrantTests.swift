import SkyrowModel
import Testing

/// Scopes against actions and types, grant beside refusal.
@Suite struct KeyGrantTests {
    private static func grant(_ scopes: String, _ kind: KeyKind) throws -> KeyGrant {
        KeyGrant(
            try #require(KeyID("k7f3q9x2a")),
            named: "web",
            kind,
            try scopes.split(separator: " ").map { try KeyScope(String($0)) }
        )
    }

    @Test(
        arguments: [
            // scopes, kind, action, what is missing
            ("", .client, .recordSave, nil), ("", .client, .authSignUp, nil), ("", .client, .schemaCreate, nil),
            ("", .server, .recordSave, nil), ("", .server, .recordFetch, nil), ("", .server, .me, "type:user:read"),
            ("", .server, .relationAdd, "type:user"), ("", .server, .authSignUp, "signup"),
            ("", .server, .schemaCreate, "action:schema:create"), ("", .server, .roleAssign, "action:role:assign"),
            ("", .server, .keyCreate, "action:key:create"), ("", .server, .keyList, "action:key:list"),
            ("", .server, .groupAdd, "action:group:add"), ("", .server, .authLogOut, nil),
            ("read", .client, .recordQuery, nil), ("read", .client, .recordAggregate, nil),
            ("read", .client, .recordSave, "write"), ("read", .client, .recordDelete, "write"),
            ("read", .client, .recordUpdate, "write"), ("read", .client, .recordTransfer, "write"),
            ("read", .client, .me, nil), ("read", .client, .sessionList, nil),
            ("read", .client, .sessionRevoke, "write"), ("read", .client, .authPassword, "write"),
            ("read", .client, .authStepUp, "write"), ("type:user", .client, .authStepUp, nil),
            ("read", .client, .authSignUp, "signup"), ("read", .client, .authLogIn, "signup"),
            ("read", .client, .authLogOut, nil), ("read", .client, .roleList, "action:role:list"),
            ("write", .client, .recordSave, nil), ("write", .client, .recordFetch, nil),
            ("write", .client, .relationAdd, nil), ("write", .client, .authSignUp, "signup"),
            ("read write", .client, .recordSave, nil),
            ("read_private", .server, .recordFetch, nil), ("read_private", .server, .recordSave, "write"),
            ("read_private write", .server, .recordSave, nil), ("read_private", .client, .me, nil),
            ("read_private", .server, .me, "type:user:read"), ("read_private type:note", .server, .recordSave, "write"),
            ("type:note", .client, .recordSave, nil), ("type:note", .client, .recordFetch, nil),
            ("type:note", .client, .me, "type:user:read"), ("type:note", .client, .authRotate, "type:user"),
            ("type:note:read", .client, .recordFetch, nil), ("type:note:read", .client, .recordSave, "write"),
            ("type:note:read type:tag", .client, .recordSave, nil),
            ("read type:note", .client, .recordSave, "write"), ("read type:note", .client, .recordQuery, nil),
            ("write type:note:read", .client, .recordSave, "write"),
            ("type:user", .client, .me, nil), ("type:user", .client, .authPassword, nil),
            ("type:user:read", .client, .me, nil), ("type:user:read", .client, .authPassword, "type:user"),
            ("type:user", .server, .relationQuery, nil), ("type:user", .server, .groupAdd, "action:group:add"),
            ("signup", .client, .authSignUp, nil), ("signup", .client, .authLogIn, nil),
            ("signup", .client, .recordFetch, "read"), ("signup", .client, .recordSave, "write"),
            ("signup", .client, .me, "type:user:read"), ("signup read", .client, .recordFetch, nil),
            ("action:schema:fetch", .server, .schemaFetch, nil),
            ("action:schema:fetch", .server, .schemaCreate, "action:schema:create"),
            ("action:schema:fetch", .server, .recordFetch, "read"),
            ("action:record:query", .client, .recordQuery, nil), ("action:record:query", .client, .recordFetch, "read"),
            ("action:auth:login", .client, .authLogIn, nil), ("action:auth:login", .client, .authSignUp, "signup"),
            ("action:key:revoke", .server, .keyRevoke, nil),
            ("action:key:revoke", .server, .keyList, "action:key:list"),
        ] as [(String, KeyKind, ActionName, String?)]
    )
    func actionsAreJudged(_ scopes: String, _ kind: KeyKind, _ action: ActionName, _ missing: String?) throws {
        let found = try Self.grant(scopes, kind).missing(for: action)
        #expect(found == missing)
    }

    @Test(
        arguments: [
            // scopes, kind, type, missing to read, missing to write
            ("", .client, "note", nil, nil), ("", .client, "user", nil, nil),
            ("", .server, "note", nil, nil), ("", .server, "user", "type:user:read", "type:user"),
            ("read", .client, "note", nil, "write"), ("read", .server, "user", "type:user:read", "type:user"),
            ("write", .client, "note", nil, nil), ("read write", .client, "note", nil, nil),
            ("type:note", .client, "note", nil, nil),
            ("type:note", .client, "secret", "type:secret:read", "type:secret"),
            ("type:note:read", .client, "note", nil, "type:note"),
            ("type:note:read type:note", .client, "note", nil, nil),
            ("type:note type:note:read", .client, "note", nil, nil),
            ("type:note:read type:tag", .client, "note", nil, "type:note"),
            ("type:note:read type:tag", .client, "tag", nil, nil),
            ("read type:note", .client, "note", nil, "write"),
            ("read type:note", .client, "tag", "type:tag:read", "type:tag"),
            ("write type:note:read", .client, "note", nil, "type:note"),
            ("type:user", .server, "user", nil, nil), ("type:user", .server, "note", "type:note:read", "type:note"),
            ("signup", .client, "note", nil, nil),
        ] as [(String, KeyKind, String, String?, String?)]
    )
    func typesAreJudged(_ scopes: String, _ kind: KeyKind, _ type: String, _ read: String?, _ write: String?) throws {
        let grant = try Self.grant(scopes, kind)
        let type = try RecordTypeName(type)
        #expect(grant.missing(reading: type) == read)
        #expect(grant.missing(writing: type) == write)
    }

    /// What a scope adds never takes anything away but what it narrows, and no list of scopes gives more than none does to a
    /// key of clients.
    @Test func everyScopeOnlyNarrowsAKeyOfClients() throws {
        let all = [
            "read", "read_private", "write", "signup", "type:note", "type:note:read", "type:user",
            "action:schema:fetch",
        ]
        let none = try Self.grant("", .client)
        for action in ActionName.allCases { #expect(none.missing(for: action) == nil) }
        var refused = 0
        for chosen in 1..<(1 << all.count) {
            let scopes = all.indices.filter { chosen >> $0 & 1 == 1 }.map { all[$0] }
            let grant = try Self.grant(scopes.joined(separator: " "), .client)
            #expect(!grant.isUnlimited)
            for action in ActionName.allCases where grant.missing(for: action) != nil { refused += 1 }
            // Master's affairs take a scope of their own, whatever else there is.
            for action in [ActionName.keyCreate, .keyRotate, .keyRevoke, .schemaCreate, .roleAdmin] {
                let missing = grant.missing(for: action)
                #expect(missing == "action:\(action.rawValue)")
            }
        }
        #expect(refused > 1000)
    }

    @Test(arguments: [
        "read", "read_private", "write", "signup", "type:note", "type:note:read", "action:record:query", "action:me",
        "type:read",
        "type:read:read",
    ])
    func aScopeIsItsText(text: String) throws {
        #expect(try KeyScope(text).text == text)
    }

    @Test(arguments: [
        "", "Read", "read ", "all", "*", "type:", "type:note:write", "type::read", "type:_x", "type:note:read:read",
        "action:",
        "action:none", "action:key:create", "action:key:rotate", "type", "action", "type:no te", "signup:x",
        "type:\(String(repeating: "x", count: 64))",
    ])
    func otherTextsAreNoScopes(text: String) {
        let error = #expect(throws: SkyrowError.self) { try KeyScope(text) }
        #expect(error?.code == .invalidArgument)
    }
}
