import SkyrowModel
import Testing

/// Skygear's form of rules of fields, beside the form of the tables.
@Suite struct SkygearFieldRuleTests {
    private static let note = try! RecordTypeName("note")
    private static let title = try! FieldName("title")
    private static let members = try! FieldName("members")
    private static let ofTitle = FieldRuleScope(type: note, field: title)
    private static let ofNotes = FieldRuleScope(type: note, field: nil)
    private static let ofTitles = FieldRuleScope(type: nil, field: title)
    private static let ofAll = FieldRuleScope(type: nil, field: nil)

    static let roles: [(String, Subject?)] = [
        ("_owner", .owner), ("_any_user", .users), ("_public", .everyone), ("_user_id:u2", .user("u2")),
        ("_user_id:a:b", .user("a:b")), ("_field:members", .field(members)), ("_role:editor", .role("editor")),
        ("_role:", nil), ("_role", nil), ("role:editor", nil), ("_owner:x", nil), ("_field:_owner", nil),
        ("_field:a b", nil), ("_group:golf", nil), ("", nil), ("_Owner", nil), ("_public ", nil),
    ]

    @Test(arguments: roles)
    func aRoleOfSkygearIsASubject(_ text: String, _ subject: Subject?) {
        #expect(Subject(skygearRole: text) == subject)
        if let subject { #expect(subject.skygearRole == text) }
    }

    @Test func whatSkygearDoesNotHaveHasNoRoleOfIt() {
        for subject in [Subject.registered, .verified, .group("golf"), .relation(.friend)] {
            #expect(subject.skygearRole == nil)
        }
    }

    /// A rule of each kind, in Skygear's order.
    private static let rules = [
        SkygearFieldRule(ofTitle, .owner, writable: true, readable: true, comparable: true, discoverable: true),
        SkygearFieldRule(ofTitle, .user("a"), readable: true),
        SkygearFieldRule(ofTitle, .user("b"), writable: true),
        SkygearFieldRule(ofTitle, .field(members), readable: true, discoverable: true),
        SkygearFieldRule(ofTitle, .role("guest")),
        SkygearFieldRule(ofTitle, .users, readable: true, comparable: true),
        SkygearFieldRule(ofTitle, .everyone, discoverable: true),
        SkygearFieldRule(ofNotes, .users, writable: true, readable: true, comparable: true, discoverable: true),
        SkygearFieldRule(ofTitles, .field(members), writable: true),
        SkygearFieldRule(ofAll, .everyone),
    ]

    @Test func whatIsSetIsWhatIsThere() throws {
        let stored = try StoredFieldRules().replacingSkygearRules(Self.rules.reversed())
        #expect(stored.skygearRules == Self.rules)
        #expect(stored.rules.keys.sorted() == [Self.ofTitle, Self.ofNotes, Self.ofTitles, Self.ofAll])
        // The first that one is decides; no one stands in a field of a record that is only being made.
        let uses = try #require(stored.rules[Self.ofTitle])
        #expect(
            uses[.create]?.keys
                == ["owner", "!user:a", "user:b", "!role:guest", "!users", "!public"]
        )
        #expect(
            uses[.update]?.keys
                == ["owner", "!user:a", "user:b", "!field:members", "!role:guest", "!users", "!public"]
        )
        #expect(
            uses[.read]?.keys == ["owner", "user:a", "!user:b", "field:members", "!role:guest", "users", "!public"]
        )
        // Without a denial it is a set.
        #expect(stored.rules[Self.ofNotes]?.values.map(\.keys) == Array(repeating: ["users"], count: 5))
        // No rule takes all of them away.
        #expect(try stored.replacingSkygearRules([]) == StoredFieldRules())
    }

    /// Rules of `note.title` that Skygear's form does not say.
    static let others: [FieldRuleGroups.Uses] = [
        [.read: [.users]], [.update: []], [.read: [], .create: [], .update: [], .compare: [], .discover: []],
        uses(.group("golf")), uses(.registered), uses(.users).merging([.create: [.owner]]) { $1 },
        uses(.users).merging([.read: FieldSubjects([.init(.everyone, allows: false), .init(.owner)])]) { $1 },
        uses(.users).filter { $0.key != .discover },
        // In another order than Skygear's.
        uses(FieldSubjects([.init(.users), .init(.owner, allows: false)])),
    ]

    private static func uses(_ subject: Subject) -> FieldRuleGroups.Uses { uses([subject]) }

    private static func uses(_ subjects: FieldSubjects) -> FieldRuleGroups.Uses {
        Dictionary(uniqueKeysWithValues: FieldUse.allCases.map { ($0, subjects) })
    }

    @Test(arguments: others)
    func whatItsFormDoesNotSayStays(_ uses: FieldRuleGroups.Uses) throws {
        let stored = StoredFieldRules([Self.ofTitle: uses, Self.ofAll: Self.uses(.users)])
        #expect(stored.skygearRules.map(\.scope) == [Self.ofAll])
        let changed = try stored.replacingSkygearRules([SkygearFieldRule(Self.ofNotes, .owner)])
        #expect(changed.rules[Self.ofTitle] == uses && changed.rules[Self.ofAll] == nil)
        #expect(changed.rules[Self.ofNotes] != nil)
        // It is not lost by a rule of the same field either.
        let error = #expect(throws: SkyrowError.self) {
            try stored.replacingSkygearRules([
                SkygearFieldRule(Self.ofNotes, .owner), SkygearFieldRule(Self.ofTitle, .owner),
            ])
        }
        #expect(error?.code == .invalidArgument && error?.path == "access[1]")
    }

    @Test func aRuleIsThereOnce() {
        for (second, isRefused) in [
            (SkygearFieldRule(Self.ofTitle, .owner, writable: true), true),
            (SkygearFieldRule(Self.ofTitles, .owner), false), (SkygearFieldRule(Self.ofTitle, .users), false),
        ] {
            let rules = [SkygearFieldRule(Self.ofTitle, .owner), second]
            do throws(SkyrowError) {
                _ = try StoredFieldRules().replacingSkygearRules(rules)
                #expect(!isRefused)
            } catch {
                #expect(isRefused && error.path == "access[1]" && error.code == .invalidArgument)
            }
        }
    }

    @Test func rulesOfAFieldAndOfATypeAreBounded() throws {
        func users(_ count: Int) -> [SkygearFieldRule] {
            (0..<count).map { SkygearFieldRule(Self.ofTitle, .user(UserID("\($0)"))) }
        }
        func fields(_ count: Int) throws -> [SkygearFieldRule] {
            try (0..<count).map {
                SkygearFieldRule(FieldRuleScope(type: Self.note, field: try FieldName("f\($0)")), .owner)
            }
        }
        for (rules, isRefused) in [
            (users(100), false), (users(101), true), (try fields(500), false), (try fields(502), true),
        ] {
            #expect(((try? StoredFieldRules().replacingSkygearRules(rules)) == nil) == isRefused, "\(rules.count)")
        }
    }
}
