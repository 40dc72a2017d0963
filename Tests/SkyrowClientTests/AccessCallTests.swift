import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient

/// Calls of roles, relations, keys and the schema against the request that each sends and the answer that it reads.
@Suite struct AccessCallTests {
    @Test func rolesAreReadAsRecords() async throws {
        let role = #"{"_id":"_role/a/b","_type":"record","_access":null,"name":"a/b","is_admin":true}"#
        let scripted = ScriptedClient([.result(#"{"records":[\#(role)],"info":{}}"#), .result("[\(role)]")])
        let database = scripted.client.publicDatabase
        let found = try await database.query(try RecordQuery("_role"))
        let id = try RecordID(type: .role, id: "a/b")
        #expect(found.records.map(\.id) == [id] && found.records.first?["is_admin"] == true)
        let fetched = try await database.fetch([id])
        #expect(try fetched.first?.get().id == id)
        #expect(scripted.parameters().contains(#""record_type":"_role""#))
        #expect(scripted.parameters(1).contains(#""ids":["_role/a/b"]"#))
        // A record that is saved is none.
        #expect(throws: SkyrowError.self) { try RecordID("_role/a/b") }
    }

    @Test func rolesAreSentAndRead() async throws {
        let scripted = ScriptedClient([
            .result(#""OK""#), .result(#""OK""#), .result(#"{"u1":["a","b"],"u2":[]}"#), .result(#"["a"]"#),
            .result(#"["b"]"#),
        ])
        try await scripted.client.assignRoles(["a"], to: ["u1"])
        try await scripted.client.revokeRoles(["a"], from: ["u1"])
        #expect(try await scripted.client.roles(of: ["u1", "u2"]) == ["u1": ["a", "b"], "u2": []])
        #expect(try await scripted.client.setDefaultRoles(["a"]) == ["a"])
        #expect(try await scripted.client.setAdministratorRoles(["b"]) == ["b"])
        #expect(
            (0..<5).map { scripted.parameters($0) } == [
                #"role:assign {"roles":["a"],"users":["u1"]}"#, #"role:revoke {"roles":["a"],"users":["u1"]}"#,
                #"role:get {"users":["u1","u2"]}"#, #"role:default {"roles":["a"]}"#, #"role:admin {"roles":["b"]}"#,
            ]
        )
    }

    @Test func rolesAndGroupsAreChangedAndListed() async throws {
        let role =
            #"{"name":"crew","access":[{"user_id":"u1","level":"update"}],"owner":"u1","by_default":false,"is_admin":false,"#
            + #""created_at":"2000-01-01T00:00:00Z","updated_at":"2000-01-01T00:00:00Z","revision":7}"#
        let scripted = ScriptedClient([
            .result(role), .result(#"{"status":"OK"}"#), .result(#"{"added":2}"#), .result(#"{"removed":1}"#),
            .result(#"{"members":[{"role":"staff"},{"user_id":"u1"}],"cursor":"user:u1"}"#),
            .result(#"{"roles":[\#(role)]}"#), .result(#"{"groups":["golf"]}"#), .result(#"{"groups":[]}"#),
            .result(#"{"groups":["golf"]}"#),
        ])
        let client = scripted.client
        let access = AccessList([AccessEntry(.user("u1"), .update)])
        let crew = Role(
            name: "crew",
            access: access,
            owner: "u1",
            createdAt: Timestamp(microseconds: 0),
            updatedAt: Timestamp(microseconds: 0),
            revision: 7
        )
        #expect(try await client.saveRole("crew", access: access) == crew)
        try await client.deleteRole("crew")
        #expect(try await client.add(users: ["u1"], roles: ["staff"], toRole: "crew") == 2)
        #expect(try await client.remove(users: ["u1"], fromRole: "crew") == 1)
        let members = try await client.members(ofRole: "crew", limit: 2)
        #expect(members == MemberPage([.role("staff"), .user("u1")], cursor: "user:u1"))
        #expect(try await client.roles(after: "a") == MemberPage([crew]))
        #expect(try await client.addGroups(["golf"]) == ["golf"])
        #expect(try await client.removeGroups(["golf"], from: "u2") == [])
        #expect(try await client.groups(of: "u2") == ["golf"])
        #expect(
            (0..<9).map { scripted.parameters($0) } == [
                #"role:save {"name":"crew","access":[{"user_id":"u1","level":"update"}]}"#,
                #"role:delete {"name":"crew"}"#,
                #"role:add {"role":"crew","users":["u1"],"roles":["staff"]}"#,
                #"role:remove {"role":"crew","users":["u1"]}"#,
                #"role:members {"role":"crew","limit":2}"#, #"role:list {"after":"a"}"#,
                #"group:add {"groups":["golf"]}"#, #"group:remove {"groups":["golf"],"user_id":"u2"}"#,
                #"group:list {"user_id":"u2"}"#,
            ]
        )
    }

    @Test func relationsAreChangedAndListed() async throws {
        let user = #"{"id":"u2","type":"user","data":{"_id":"user/u2","_type":"record","_access":null},"mutual":true}"#
        let failure = #"{"id":"u3","type":"error","data":{"name":"ResourceNotFound","code":110,"message":"No."}}"#
        let scripted = ScriptedClient([
            .result("[\(user),\(failure)]"), .result(#"[{"id":"u2"}]"#),
            .result(#"{"users":[\#(user)],"info":{"count":7}}"#), .result(#"{"users":[],"info":{"count":0}}"#),
            .result(#"[{"id":"u2"},\#(failure)]"#), .result(#"[{"id":"u2"}]"#),
        ])
        let client = scripted.client
        let outcomes = try await client.addRelations(.friend, to: ["u2", "u3"])
        #expect(try outcomes[0].get().profile?.id == RecordID("user/u2"))
        #expect(outcomes[1] == .failure(SkyrowError(.resourceNotFound, "No.")))
        try await client.removeRelations(.follow, to: ["u2"])
        let friends = try await client.relations(.friend, limit: 1, offset: 6)
        #expect(friends.count == 7 && friends.users.map(\.id) == ["u2"] && friends.users[0].isMutual)
        #expect(try await client.relationRequests() == RelatedUsers(users: [], count: 0))
        #expect(try await client.block(["u2", "u3"]) == ["u2"])
        #expect(try await client.block(["u2"], false) == ["u2"])
        #expect(
            (0..<6).map { scripted.parameters($0) } == [
                #"relation:add {"name":"friend","targets":["u2","u3"]}"#,
                #"relation:remove {"name":"follow","targets":["u2"]}"#,
                #"relation:query {"name":"friend","limit":1,"offset":6}"#, #"relation:requests {"offset":0}"#,
                #"relation:block {"targets":["u2","u3"]}"#,
                #"relation:block {"targets":["u2"],"blocked":false}"#,
            ]
        )
    }

    @Test func keysAreMadeListedAndEnded() async throws {
        let key =
            #"{"id":"k7f3q9x2a","name":"ios","kind":"client","scopes":["read"],"networks":["10.0.0.0/8"],"created_at":"2000-01-01T00:00:00Z""#
        let issued = key + #","key":"sky_k7f3q9x2a_secret"}"#
        let scripted = ScriptedClient([
            .result(issued), .result(#"{"keys":[\#(key),"revoked_at":"2000-01-01T00:00:01Z"}]}"#), .result(issued),
            .result(#"{"status":"OK"}"#),
        ])
        let client = scripted.client
        let made = try await client.createKey("ios", scopes: ["read"], networks: ["10.0.0.0/8"])
        #expect(made.text == "sky_k7f3q9x2a_secret")
        #expect(made.key.kind == .client && made.key.scopes == ["read"] && made.key.networks == ["10.0.0.0/8"])
        #expect(!"\(made) \(String(reflecting: made))".contains("secret"))
        let listed = try await client.keys()
        #expect(listed.map(\.id) == ["k7f3q9x2a"])
        #expect(listed.first?.revokedAt == Timestamp(microseconds: 1_000_000))
        _ = try await client.rotateKey("k7f3q9x2a", overlap: .seconds(60))
        try await client.revokeKey("k7f3q9x2a")
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                #"key:create {"name":"ios","scopes":["read"],"networks":["10.0.0.0/8"]}"#,
                "key:list -", #"key:rotate {"id":"k7f3q9x2a","overlap":60}"#, #"key:revoke {"id":"k7f3q9x2a"}"#,
            ]
        )
    }

    @Test(arguments: [#"{}"#, #"{"key":"x"}"#, #"{"key":"x","id":"k1","name":"n","kind":"other"}"#])
    func aKeyThatLacksAMemberIsNone(result: String) async {
        let scripted = ScriptedClient([.result(result)])
        await #expect(throws: ClientError.self) { try await scripted.client.createKey("ios") }
    }

    @Test func schemasAreSentAndRead() async throws {
        let response = #"{"record_types":{"note":{"fields":[{"name":"stars","type":"integer"}]}}}"#
        let scripted = ScriptedClient(Array(repeating: .result(response), count: 4))
        let note = RecordType(name: try RecordTypeName("note"), fields: [try FieldName("stars"): .integer])
        #expect(try await scripted.client.schema().types == [note.name: note])
        try await scripted.client.createTypes([note])
        try await scripted.client.renameField(FieldName("a"), of: note.name, to: FieldName("b"))
        try await scripted.client.deleteField(FieldName("b"), of: note.name)
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                "schema:fetch -", "schema:create \(response)",
                #"schema:rename {"record_type":"note","item_name":"a","new_name":"b"}"#,
                #"schema:delete {"record_type":"note","item_name":"b"}"#,
            ]
        )
    }

    @Test func indexesAreAskedFor() async throws {
        let response =
            #"{"name":"note_stars_idx","record_type":"note","fields":[["stars","desc"]],"kind":"order","state":"building"}"#
        let scripted = ScriptedClient([
            .result(response), .result(#"{"indexes":[\#(response)]}"#), .result(#"{"indexes":[]}"#), .result(response),
        ])
        let note = try RecordTypeName("note")
        let definition = IndexDefinition(of: note, [IndexField("stars", .descending)])
        let index = try await scripted.client.createIndex(definition)
        #expect(index == RecordIndex(name: "note_stars_idx", type: note, state: .building, definition: definition))
        #expect(try await scripted.client.indexes(of: note) == [index])
        #expect(try await scripted.client.indexes() == [])
        try await scripted.client.deleteIndex("note_stars_idx", forces: true)
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                #"schema:index:create {"record_type":"note","fields":[["stars","desc"]],"kind":"order"}"#,
                #"schema:index:list {"record_type":"note"}"#, "schema:index:list {}",
                #"schema:index:delete {"name":"note_stars_idx","force":true}"#,
            ]
        )
    }

    @Test func rulesAreAskedForAndChanged() async throws {
        let response = #"""
            {"record_type":"note","rules":{"create":{"allow":[{"role":"writer"}]},
             "read":{"allow":[{"public":true}],"mode":"default"},
             "update":{"allow":[{"owner":true},{"field":"editors"}],"mode":"require"},
             "delete":{"allow":[],"mode":"override"}},
             "fields":{"score":{"read":[{"owner":true}],"update":[]}},
             "default_access":[{"role":"writer","level":"read"}],"list_by":"update","list_read_by":"owner","transfer_by":"owner",
             "creator":"none","private":false,"aggregate":false}
            """#
        let scripted = ScriptedClient([.result(response), .result(response)])
        let note = try RecordTypeName("note")
        var expected = ClassAccess()
        expected.rules = [
            .create: ClassRule([.role("writer")]),
            .update: ClassRule([.owner, .field(try FieldName("editors"))], .require),
            .delete: ClassRule([], .override),
        ]
        expected.fields = [try FieldName("score"): [.read: [.owner], .update: []]]
        expected.defaultAccess = AccessList([AccessEntry(.role("writer"), .read)])
        expected.listWriters = .update
        expected.listReaders = .owner
        expected.transferrers = .owner
        expected.newOwner = .noOne
        expected.allowsPrivate = false
        expected.allowsAggregates = false
        #expect(try await scripted.client.classAccess(of: note) == expected)
        var change = ClassAccessChange(type: note)
        change.rules[.delete] = ClassRule([], .override)
        change.rules.updateValue(nil, forKey: .read)
        change.fields[try FieldName("score")] = [.read: .some([.owner]), .update: .some([])]
        change.defaultAccess = .some(nil)
        change.listWriters = .some(.update)
        change.listReaders = .some(.owner)
        change.transferrers = .owner
        change.newOwner = .noOne
        change.allowsPrivate = false
        change.allowsAggregates = false
        #expect(try await scripted.client.changeClassAccess(change) == expected)
        #expect(
            (0..<2).map { scripted.parameters($0) } == [
                #"schema:access:get {"record_type":"note"}"#,
                #"schema:access:set {"record_type":"note","rules":{"read":null,"delete":{"allow":[],"mode":"override"}},"#
                    + #""fields":{"score":{"read":[{"owner":true}],"update":[]}},"default_access":null,"list_by":"update","list_read_by":"owner","transfer_by":"owner","creator":"none","private":false,"aggregate":false}"#,
            ]
        )
    }
}
