import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowWire

@Suite struct ClassAccessJSONTests {
    @Test func aChangeIsReadWithAllThatItNames() throws {
        let change = try readJSON(
            """
            {"record_type":"note","rules":{"create":{"allow":[{"role":"writer"}]},"read":null,
             "update":{"allow":[{"field":"editors"},{"owner":true},{"user_id":"u1"}],"mode":"require"},
             "delete":{"allow":[],"mode":"override"}},
             "default_access":[{"users":true,"level":"read"}],"list_by":"update","private":false}
            """
        ) { try ClassAccessChange(parameters: $0) }
        var expected = ClassAccessChange(type: type("note"))
        expected.rules = [
            .create: ClassRule([.role("writer")]),
            .update: ClassRule([.owner, .user("u1"), .field(field("editors"))], .require),
            .delete: ClassRule([], .override),
        ]
        expected.rules.updateValue(nil, forKey: .read)
        expected.defaultAccess = .some(AccessList([AccessEntry(.users, .read)]))
        expected.listWriters = .some(.update)
        expected.allowsPrivate = false
        #expect(change == expected)
    }

    @Test func whatIsNotSentIsNoChangeAndNullTakesAway() throws {
        let nothing = try readJSON(#"{"record_type":"note"}"#) { try ClassAccessChange(parameters: $0) }
        #expect(nothing == ClassAccessChange(type: type("note")))
        var expected = ClassAccessChange(type: type("note"))
        expected.defaultAccess = .some(nil)
        expected.listWriters = .some(nil)
        let nulls = #"{"record_type":"note","rules":null,"default_access":null,"list_by":null,"private":null}"#
        #expect(try readJSON(nulls) { try ClassAccessChange(parameters: $0) } == expected)
    }

    /// What stands in the place of the rules, or beside them, and the path of the refusal.
    static let refused: [(String, String?)] = [
        (#""rules":[]"#, nil), (#""rules":{"list":{"allow":[]}}"#, "rules.list"),
        (#""rules":{"read":true}"#, "rules.read"),
        (#""rules":{"read":{}}"#, "rules.read"), (#""rules":{"read":{"allow":{}}}"#, "rules.read.allow"),
        (#""rules":{"read":{"allow":["public"]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"public":true},{"public":false}]}}"#, "rules.read.allow[1]"),
        (#""rules":{"read":{"allow":[{"public":"x"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"role":true}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"role":""}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"user":"u1"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"user_id":"u1","role":"a"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"field":"_owner"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"group":"golf"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"verified":true}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"registered":true}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"relation":"friend"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"create":{"allow":[{"owner":true}]}}"#, "rules.create.allow[0]"),
        (#""rules":{"create":{"allow":[{"field":"members"}]}}"#, "rules.create.allow[0]"),
        (#""rules":{"create":{"allow":[],"mode":"override"}}"#, "rules.create.mode"),
        (#""rules":{"read":{"allow":[],"mode":"deny"}}"#, "rules.read.mode"),
        (#""rules":{"read":{"allow":[],"modes":"require"}}"#, "rules.read.modes"),
        (#""default_access":{}"#, "default_access"), (#""default_access":[{"level":"read"}]"#, "default_access[0]"),
        (#""default_access":[{"public":true,"level":"own"}]"#, "default_access[0].level"), (#""list_by":"all""#, nil),
        (#""private":1"#, nil),
    ]

    @Test(arguments: refused)
    func whatIsNotUnderstoodIsRefused(_ member: String, _ path: String?) throws {
        let error = try #require(
            try refusal("{\"record_type\":\"note\",\(member)}") { try ClassAccessChange(parameters: $0) }
        )
        #expect(error.code == .invalidArgument || error.code == .badRequest)
        #expect(error.path == path)
    }

    @Test func aRuleHasABoundedNumberOfSubjects() throws {
        for (count, isRefused) in [(100, false), (101, true)] {
            let roles = (0..<count).map { "\"r\($0)\"" }.joined(separator: ",")
            let subjects = (0..<count).map { "{\"role\":\"r\($0)\"}" }.joined(separator: ",")
            let rule = "{\"record_type\":\"note\",\"rules\":{\"read\":{\"allow\":[\(subjects)]}}}"
            #expect((try refusal(rule) { try ClassAccessChange(parameters: $0) } != nil) == isRefused)
            let create = "{\"type\":\"note\",\"create_roles\":[\(roles)]}"
            #expect((try refusal(create) { try CreateRolesRequest(parameters: $0) } != nil) == isRefused)
        }
    }

    @Test func rulesAreSentWhole() {
        var access = ClassAccess()
        access.rules[.update] = ClassRule([.field(field("editors")), .owner], .require)
        #expect(
            writtenJSON { $0.classAccess(access, of: type("note")) }
                == #"{"record_type":"note","rules":{"create":{"allow":[{"users":true}]},"#
                + #""read":{"allow":[{"public":true}],"mode":"default"},"#
                + #""update":{"allow":[{"owner":true},{"field":"editors"}],"mode":"require"},"#
                + #""delete":{"allow":[{"owner":true}],"mode":"default"}},"default_access":null,"list_by":null,"private":true}"#
        )
    }
}
