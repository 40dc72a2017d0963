import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

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
            ("", .client, "record:save", nil), ("", .client, "auth:signup", nil), ("", .client, "schema:create", nil),
            ("", .server, "record:save", nil), ("", .server, "record:fetch", nil),
            ("", .server, "me", "type:user:read"),
            ("", .server, "relation:add", "type:user"), ("", .server, "auth:signup", "signup"),
            ("", .server, "schema:create", "action:schema:create"), ("", .server, "role:assign", "action:role:assign"),
            ("", .server, "key:create", "action:key:create"), ("", .server, "key:list", "action:key:list"),
            ("", .server, "group:add", "action:group:add"), ("", .server, "auth:logout", nil),
            ("read", .client, "record:query", nil), ("read", .client, "record:aggregate", nil),
            ("read", .client, "record:save", "write"), ("read", .client, "record:delete", "write"),
            ("read", .client, "record:update", "write"), ("read", .client, "record:transfer", "write"),
            ("read", .client, "me", nil), ("read", .client, "session:list", nil),
            ("read", .client, "session:revoke", "write"), ("read", .client, "auth:password", "write"),
            ("read", .client, "auth:stepup", "write"), ("type:user", .client, "auth:stepup", nil),
            ("read", .client, "auth:signup", "signup"), ("read", .client, "auth:login", "signup"),
            ("read", .client, "auth:logout", nil), ("read", .client, "role:list", "action:role:list"),
            ("write", .client, "record:save", nil), ("write", .client, "record:fetch", nil),
            ("write", .client, "relation:add", nil), ("write", .client, "auth:signup", "signup"),
            ("read write", .client, "record:save", nil),
            ("read_private", .server, "record:fetch", nil), ("read_private", .server, "record:save", "write"),
            ("read_private write", .server, "record:save", nil), ("read_private", .client, "me", nil),
            ("read_private", .server, "me", "type:user:read"),
            ("read_private type:note", .server, "record:save", "write"),
            ("type:note", .client, "record:save", nil), ("type:note", .client, "record:fetch", nil),
            ("type:note", .client, "me", "type:user:read"), ("type:note", .client, "auth:rotate", "type:user"),
            ("type:note:read", .client, "record:fetch", nil), ("type:note:read", .client, "record:save", "write"),
            ("type:note:read type:tag", .client, "record:save", nil),
            ("read type:note", .client, "record:save", "write"), ("read type:note", .client, "record:query", nil),
            ("write type:note:read", .client, "record:save", "write"),
            ("type:user", .client, "me", nil), ("type:user", .client, "auth:password", nil),
            ("type:user:read", .client, "me", nil), ("type:user:read", .client, "auth:password", "type:user"),
            ("type:user", .server, "relation:query", nil), ("type:user", .server, "group:add", "action:group:add"),
            ("signup", .client, "auth:signup", nil), ("signup", .client, "auth:login", nil),
            ("signup", .client, "record:fetch", "read"), ("signup", .client, "record:save", "write"),
            ("signup", .client, "me", "type:user:read"), ("signup read", .client, "record:fetch", nil),
            ("action:schema:fetch", .server, "schema:fetch", nil),
            ("action:schema:fetch", .server, "schema:create", "action:schema:create"),
            ("action:schema:fetch", .server, "record:fetch", "read"),
            ("action:record:query", .client, "record:query", nil),
            ("action:record:query", .client, "record:fetch", "read"),
            ("action:auth:login", .client, "auth:login", nil), ("action:auth:login", .client, "auth:signup", "signup"),
            ("action:key:revoke", .server, "key:revoke", nil),
            ("action:key:revoke", .server, "key:list", "action:key:list"),
        ] as [(String, KeyKind, ActionName, String?)]
    )
    func actionsAreJudged(_ scopes: String, _ kind: KeyKind, _ action: ActionName, _ missing: String?) throws {
        let action = try #require(ActionTable[action]).description
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
        for action in ActionTable.all.map(\.description) { #expect(none.missing(for: action) == nil) }
        var refused = 0
        for chosen in 1..<(1 << all.count) {
            let scopes = all.indices.filter { chosen >> $0 & 1 == 1 }.map { all[$0] }
            let grant = try Self.grant(scopes.joined(separator: " "), .client)
            #expect(!grant.isUnlimited)
            for action in ActionTable.all.map(\.description) where grant.missing(for: action) != nil { refused += 1 }
            // Master's affairs take a scope of their own, whatever else there is.
            for action in [
                Actions.keyCreate.description, Actions.keyRotate.description, Actions.keyRevoke.description,
                Actions.schemaCreate.description, Actions.roleAdmin.description,
            ] {
                let missing = grant.missing(for: action)
                #expect(missing == "action:\(action.name.rawValue)")
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
        "action:", "action:\(String(repeating: "x", count: 65))", "action:key:create", "action:key:rotate", "type",
        "action", "type:no te", "signup:x",
        "type:\(String(repeating: "x", count: 64))",
    ])
    func otherTextsAreNoScopes(text: String) {
        let error = #expect(throws: SkyrowError.self) { try KeyScope(text) }
        #expect(error?.code == .invalidArgument)
    }
}
