import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct ClassAccessJSONTests {
    @Test func aChangeIsReadWithAllThatItNames() throws {
        let change = try readJSON(
            """
            {"record_type":"note","rules":{"create":{"allow":[{"role":"writer"}]},"read":null,
             "update":{"allow":[{"field":"editors"},{"owner":true},{"user_id":"u1"}],"mode":"require"},
             "delete":{"allow":[],"mode":"override"}},
             "fields":{"score":{"update":[],"read":[{"role":"a"},{"owner":true},{"key":"tablet"},{"group":"golf"}],"create":null},"old":null,"same":{}},
             "default_access":[{"users":true,"level":"read"}],"list_by":"update","list_read_by":"read","transfer_by":"owner","creator":"none","private":false,"aggregate":false}
            """
        ) { try Actions.schemaAccessSet.parameters.read($0) }
        var expected = ClassAccessChange(type: type("note"))
        expected.rules = [
            .create: ClassRule([.role("writer")]),
            .update: ClassRule([.owner, .user("u1"), .field(field("editors"))], .require),
            .delete: ClassRule([], .override),
        ]
        expected.rules.updateValue(nil, forKey: .read)
        expected.fields[field("score")] = [
            .update: .some([]), .read: [.owner, .role("a"), .group("golf"), .apiKey("tablet")],
        ]
        expected.fields[field("score")]?.updateValue(nil, forKey: .create)
        for use in FieldUse.allCases { expected.fields[field("old"), default: [:]].updateValue(nil, forKey: use) }
        expected.defaultAccess = .some(AccessList([AccessEntry(.users, .read)]))
        expected.listWriters = .some(.update)
        expected.listReaders = .some(.read)
        expected.transferrers = .owner
        expected.newOwner = .noOne
        expected.allowsPrivate = false
        expected.allowsAggregates = false
        #expect(change == expected)
    }

    @Test func aRuleOfProfilesNamesWhatTheServiceKeeps() throws {
        let text = #"{"record_type":"user","fields":{"_verified":{"read":[{"users":true}]}}}"#
        let change = try readJSON(text) { try Actions.schemaAccessSet.parameters.read($0) }
        #expect(change.fields[.verified] == [.read: .some([.users])])
    }

    @Test func whatIsNotSentIsNoChangeAndNullTakesAway() throws {
        let nothing = try readJSON(#"{"record_type":"note"}"#) { try Actions.schemaAccessSet.parameters.read($0) }
        #expect(nothing == ClassAccessChange(type: type("note")))
        var expected = ClassAccessChange(type: type("note"))
        expected.defaultAccess = .some(nil)
        expected.listWriters = .some(nil)
        expected.listReaders = .some(nil)
        let nulls = #"""
            {"record_type":"note","rules":null,"default_access":null,"list_by":null,"list_read_by":null,"transfer_by":null,
             "creator":null,"private":null}
            """#
        #expect(try readJSON(nulls) { try Actions.schemaAccessSet.parameters.read($0) } == expected)
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
        (#""rules":{"read":{"allow":[{"group":""}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"key":true}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"verified":"yes"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"registered":"yes"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"read":{"allow":[{"relation":"friend"}]}}"#, "rules.read.allow[0]"),
        (#""rules":{"create":{"allow":[{"owner":true}]}}"#, "rules.create.allow[0]"),
        (#""rules":{"create":{"allow":[{"field":"members"}]}}"#, "rules.create.allow[0]"),
        (#""rules":{"create":{"allow":[],"mode":"override"}}"#, "rules.create.mode"),
        (#""rules":{"read":{"allow":[],"mode":"deny"}}"#, "rules.read.mode"),
        (#""rules":{"read":{"allow":[],"modes":"require"}}"#, "rules.read.modes"),
        (#""default_access":{}"#, "default_access"), (#""default_access":[{"level":"read"}]"#, "default_access[0]"),
        (#""default_access":[{"public":true,"level":"own"}]"#, "default_access[0].level"), (#""list_by":"all""#, nil),
        (#""list_read_by":"all""#, nil), (#""creator":"user""#, nil),
        (#""fields":[]"#, nil), (#""fields":{"_access":{"read":[]}}"#, "fields._access"),
        (#""fields":{"_verified":{"read":[]}}"#, "fields._verified"),
        (#""fields":{"a":[]}"#, "fields.a"), (#""fields":{"a":{"write":[]}}"#, "fields.a.write"),
        (#""fields":{"a":{"read":{}}}"#, "fields.a.read"), (#""fields":{"a":{"read":["public"]}}"#, "fields.a.read[0]"),
        (#""fields":{"a":{"read":[{"public":true},{"verified":false}]}}"#, "fields.a.read[1]"),
        (#""fields":{"a":{"read":[{"registered":"yes"}]}}"#, "fields.a.read[0]"),
        (#""fields":{"a":{"read":[{"relation":"friend"}]}}"#, "fields.a.read[0]"),
        (#""fields":{"a":{"create":[{"field":"members"}]}}"#, "fields.a.create[0]"),
        (#""fields":{"a":{"read":[{"relation":"friend"}]}}"#, "fields.a.read[0]"),
        (#""fields":{"a":{"read":[{"role":""}]}}"#, "fields.a.read[0]"),
        (#""fields":{"a":{"read":[{"deny":{"role":"a"}},{"deny":{"key":"tablet"}}]}}"#, "fields.a.read[1]"),
        (#""private":1"#, nil), (#""transfer_by":"all""#, nil), (#""aggregate":"no""#, nil),
    ]

    @Test(arguments: refused)
    func whatIsNotUnderstoodIsRefused(_ member: String, _ path: String?) throws {
        let error = try #require(
            try refusal("{\"record_type\":\"note\",\(member)}") { try Actions.schemaAccessSet.parameters.read($0) }
        )
        #expect(error.code == .invalidArgument || error.code == .badRequest)
        #expect(error.path == path)
    }

    /// What stands beside the type, and what the refusal says: the code of any other enumeration or flag, and the parameter.
    @Test(
        arguments: [
            (#""rules":7"#, .badRequest, "rules"), (#""rules":{"read":true}"#, .invalidArgument, "rules"),
            (#""fields":7"#, .badRequest, "fields"), (#""fields":{"_parent":{"read":[]}}"#, .invalidArgument, "fields"),
            (#""fields":{"_verified":{}}"#, .invalidArgument, "fields"),
            (#""fields":{"a":{"read":[{"deny":{"key":"k"}}]}}"#, .invalidArgument, "fields"),
            (#""default_access":7"#, .invalidArgument, "default_access"), (#""list_by":7"#, .badRequest, "list_by"),
            (#""list_by":"all""#, .invalidArgument, "list_by"), (#""list_read_by":7"#, .badRequest, "list_read_by"),
            (#""list_read_by":"all""#, .invalidArgument, "list_read_by"),
            (#""transfer_by":7"#, .badRequest, "transfer_by"),
            (#""transfer_by":"all""#, .invalidArgument, "transfer_by"), (#""creator":7"#, .badRequest, "creator"),
            (#""creator":"all""#, .invalidArgument, "creator"), (#""private":7"#, .badRequest, "private"),
            (#""aggregate":7"#, .badRequest, "aggregate"), (#""record_type":7"#, .badRequest, "record_type"),
            (#""record_type":"_a""#, .invalidArgument, "record_type"),
        ] as [(String, ErrorCode, String)]
    )
    func aRefusalNamesItsParameter(_ member: String, _ code: ErrorCode, _ argument: String) throws {
        // The last of two members of one name counts.
        let error = try refusal("{\"record_type\":\"note\",\(member)}") {
            try Actions.schemaAccessSet.parameters.read($0)
        }
        #expect(error?.code == code && error?.arguments == [argument], "\(String(describing: error))")
    }

    /// A subject has one form in access lists, in rules of actions and in rules of fields.
    @Test(
        arguments: [
            (.everyone, #""public":true"#), (.users, #""users":true"#), (.registered, #""registered":true"#),
            (.verified, #""verified":true"#), (.user("u1"), #""user_id":"u1""#), (.role("a"), #""role":"a""#),
            (.group("golf"), #""group":"golf""#), (.apiKey("tablet"), #""key":"tablet""#),
        ] as [(Subject, String)]
    )
    func aSubjectIsTheSameInListsAndRules(_ subject: Subject, _ member: String) throws {
        let text =
            #"{"record_type":"note","rules":{"read":{"allow":[{\#(member)}],"mode":"default"}},"#
            + #""fields":{"a":{"read":[{\#(member)}]}},"default_access":[{\#(member),"level":"read"}]}"#
        var expected = ClassAccessChange(type: type("note"))
        expected.rules[.read] = ClassRule([subject])
        expected.fields[field("a")] = [.read: [subject]]
        expected.defaultAccess = .some(AccessList([AccessEntry(subject, .read)]))
        #expect(try readJSON(text) { try Actions.schemaAccessSet.parameters.read($0) } == expected)
        #expect(writtenJSON { Actions.schemaAccessSet.parameters.write(expected, $0) } == text)
    }

    @Test func aRuleHasABoundedNumberOfSubjects() throws {
        for (count, isRefused) in [(10_000, false), (10_001, true)] {
            let roles = (0..<count).map { "\"r\($0)\"" }.joined(separator: ",")
            let subjects = (0..<count).map { "{\"role\":\"r\($0)\"}" }.joined(separator: ",")
            let rule = "{\"record_type\":\"note\",\"rules\":{\"read\":{\"allow\":[\(subjects)]}}}"
            let create = "{\"type\":\"note\",\"create_roles\":[\(roles)]}"
            let ofField = "{\"record_type\":\"note\",\"fields\":{\"a\":{\"read\":[\(subjects)]}}}"
            #expect(((try? readJSON(ofField) { try Actions.schemaAccessSet.parameters.read($0) }) != nil) != isRefused)
            let isRuleRead = (try? readJSON(rule) { try Actions.schemaAccessSet.parameters.read($0) }) != nil
            let isCreationRead = (try? readJSON(create) { try Actions.schemaAccess.parameters.read($0) }) != nil
            #expect(isRuleRead != isRefused && isCreationRead != isRefused, "\(count)")
        }
    }

    @Test func rulesAreSentWhole() {
        var access = ClassAccess()
        access.rules[.update] = ClassRule([.field(field("editors")), .owner], .require)
        #expect(
            writtenJSON {
                Actions.schemaAccessGet.result.write(TypeClassAccess(type: type("note"), access: access), $0)
            }
                == #"{"record_type":"note","rules":{"create":{"allow":[{"users":true}]},"#
                + #""read":{"allow":[{"public":true}],"mode":"default"},"#
                + #""update":{"allow":[{"owner":true},{"field":"editors"}],"mode":"require"},"#
                + #""delete":{"allow":[{"owner":true}],"mode":"default"}},"default_access":null,"list_by":null,"list_read_by":null,"#
                + #""transfer_by":"master","creator":"owner","private":true,"aggregate":true}"#
        )
    }

    @Test func whatIsSentIsWhatIsRead() throws {
        var access = ClassAccess()
        access.rules = [
            .create: ClassRule([.role("writer"), .user("u1")]), .read: ClassRule([.users], .require),
            .delete: ClassRule([], .override),
        ]
        access.fields = [
            field("score"): [.read: [], .update: [.owner, .role("a")]], field("a"): [.create: [.everyone]],
        ]
        access.everyField = [.read: [.users], .update: []]
        access.defaultAccess = AccessList([])
        access.listReaders = .update
        access.newOwner = .noOne
        access.listWriters = .owner
        access.transferrers = .owner
        access.allowsAggregates = false
        for access in [access, ClassAccess()] {
            let sent = writtenJSON {
                Actions.schemaAccessGet.result.write(TypeClassAccess(type: type("note"), access: access), $0)
            }
            #expect(try readJSON(sent) { try ClassAccess($0, of: type("note")) } == access)
            let change = ClassAccessChange(type: type("note"), to: access)
            let request = writtenJSON { Actions.schemaAccessSet.parameters.write(change, $0) }
            #expect(try readJSON(request) { try Actions.schemaAccessSet.parameters.read($0) } == change)
            var other = ClassAccess()
            other.rules[.update] = ClassRule([.everyone], .override)
            other.allowsPrivate = false
            #expect(other.applying(change) == access)
        }
    }

    /// A schema file has the rules of every type beside the types.
    @Test func aSchemaFileHasTheRulesOfEveryType() throws {
        var document = SchemaDocument(types: [type("note"): DocumentedType()])
        var access = ClassAccess()
        access.fields = [field("title"): [.read: [.owner], .compare: []]]
        access.everyField = [.update: [.role("a")]]
        for rules in [access, ClassAccess(), nil] {
            document.accessOfAll = rules
            #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
        }
        for (rules, place) in [
            (#"{"rules":{}}"#, "access"), (#"{"fields":[]}"#, "access"), (#"{"fields":{"*":{"write":[]}}}"#, "access"),
            ("7", "access"),
        ] {
            let error = try refusal("{\"record_types\":{},\"access\":\(rules)}") { try SchemaDocument(schemaFile: $0) }
            #expect(
                error?.code == .invalidArgument && error?.message.hasPrefix(place) == true,
                "\(rules) \(String(describing: error))"
            )
        }
    }

    @Test func listsForNewRecordsAreReadAsSuch() throws {
        let list = AccessList([AccessEntry(.users, .read)])
        let ofType = Actions.schemaDefaultAccess.parameters
        let ofUser = Actions.authDefaultAccessSet.parameters
        for (entries, expected) in [(#"[{"users":true,"level":"read"}]"#, list), ("null", nil)] {
            let text = "{\"type\":\"note\",\"default_access\":\(entries)}"
            #expect(
                try readJSON(text) { try ofType.read($0) } == TypeDefaultAccess(type: type("note"), access: expected)
            )
            #expect(writtenJSON { ofType.write(TypeDefaultAccess(type: type("note"), access: expected), $0) } == text)
            let own = "{\"default_access\":\(entries)}"
            #expect(try readJSON(own) { try ofUser.read($0) } == expected)
            #expect(writtenJSON { ofUser.write(expected, $0) } == own)
            #expect(writtenJSON { Actions.authDefaultAccessSet.result.write(expected, $0) } == own)
        }
        for (body, path) in [
            (#"{"type":"note"}"#, nil), (#"{"type":"note","default_access":[{"users":true}]}"#, "default_access[0]"),
        ] as [(String, String?)] {
            let error = try #require(try refusal(body) { try ofUser.read($0) })
            #expect(error.code == .invalidArgument && error.path == path)
            #expect(error.arguments == ["default_access"])
        }
    }

    @Test func rolesThatCreateAreWrittenAsTheyAreRead() throws {
        let form = Actions.schemaAccess.parameters
        for text in [#"{"type":"note","create_roles":["writer"]}"#, #"{"type":"note","create_roles":[]}"#] {
            let create = try readJSON(text) { try form.read($0) }
            #expect(writtenJSON { form.write(create, $0) } == text)
            #expect(writtenJSON { Actions.schemaAccess.result.write(create, $0) } == text)
        }
        let long = String(repeating: "r", count: 65)
        for (text, argument) in [
            (#"{"create_roles":[]}"#, "type"), (#"{"type":"_a","create_roles":[]}"#, "type"),
            (#"{"type":"note"}"#, "create_roles"), (#"{"type":"note","create_roles":["\#(long)"]}"#, "create_roles"),
        ] {
            let error = try #require(try refusal(text) { try form.read($0) })
            #expect(error.code == .invalidArgument && error.arguments == [argument], "\(text)")
        }
    }

    @Test func aTransferNamesRecordsAndAUser() throws {
        let form = Actions.recordTransfer.parameters
        let transfer = RecordTransfer(ids: [try RecordID("note/1"), try RecordID("memo/2")], owner: "u2")
        let text = writtenJSON { form.write(transfer, $0) }
        #expect(text == #"{"ids":["note/1","memo/2"],"to":"u2"}"#)
        #expect(try readJSON(text) { try form.read($0) } == transfer)
        for body in [#"{"ids":["note/1"]}"#, #"{"to":"u2"}"#, #"{"ids":[],"to":"u2"}"#, #"{"ids":["note/1"],"to":""}"#]
        {
            #expect(try refusal(body) { try form.read($0) }?.code == .invalidArgument, "\(body)")
        }
    }

    /// The outcome of each record, which a client reads as it is written.
    @Test func outcomesOfATransferAreRead() throws {
        let text = #"[{"_id":"note/1","_type":"error","name":"ResourceNotFound","code":110,"message":"No."}]"#
        let outcomes = try readJSON(text) { try Actions.recordTransfer.result.read($0, "result") }
        #expect(writtenJSON { Actions.recordTransfer.result.write(outcomes, $0) } == text)
        #expect(try refusal("{}") { try Actions.recordTransfer.result.read($0, "result") }?.code == .badRequest)
    }

    @Test(arguments: [
        #"{"access":[{"record_type":"note","record_field":"*","user_role":"_role:a","writable":true,"readable":true,"comparable":false,"discoverable":false}]}"#,
        #"{"access":[]}"#,
    ])
    func rulesOfFieldsAreWrittenAsTheyAreRead(text: String) throws {
        let rules = try readJSON(text) { try Actions.schemaFieldAccessUpdate.parameters.read($0) }
        #expect(writtenJSON { Actions.schemaFieldAccessUpdate.parameters.write(rules, $0) } == text)
        #expect(writtenJSON { Actions.schemaFieldAccessGet.result.write(rules, $0) } == text)
    }

    @Test func rulesOfATypeAreReadWithIt() throws {
        let rules = TypeClassAccess(type: type("note"), access: ClassAccess())
        let text = writtenJSON { Actions.schemaAccessGet.result.write(rules, $0) }
        #expect(try readJSON(text) { try Actions.schemaAccessSet.result.read($0, "result") } == rules)
        for text in ["[]", "{}"] {
            #expect(try refusal(text) { try Actions.schemaAccessGet.result.read($0, "result") } != nil)
        }
    }

    @Test func aSchemaFileKeepsTheRules() throws {
        let film = #"""
            {"record_types":{"film":{"fields":[],"access":{"rules":{"read":{"allow":[{"users":true}],"mode":"require"},
             "update":{"allow":[{"owner":true}],"mode":"default"}},"list_by":"owner","aggregate":false}},"note":{"fields":[]}}}
            """#
        let document = try readJSON(film) { try SchemaDocument(schemaFile: $0) }
        var expected = ClassAccess()
        expected.rules[.read] = ClassRule([.users], .require)
        expected.listWriters = .owner
        expected.allowsAggregates = false
        #expect(document.types[type("film")]?.access == expected)
        #expect(document.types[type("note")] == DocumentedType())
        #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
        for access in [
            "[]", #"{"rule":{}}"#, #"{"rules":{"read":{"allow":["public"]}}}"#, #"{"list_by":"all"}"#,
            #"{"default_access":[{"level":"read"}]}"#,
        ] {
            let text = "{\"record_types\":{\"film\":{\"fields\":[],\"access\":\(access)}}}"
            let error = try #require(try refusal(text) { try SchemaDocument(schemaFile: $0) })
            #expect(error.message.contains("record_types.film.access"), "\(error.message)")
        }
    }
}
