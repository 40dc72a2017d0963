import SkyrowModel
import Testing

/// The table of precedence, row by row: a rule and a list, and what a caller may do.
@Suite struct ClassRulesTests {
    /// What is asked, and the answer: a rule about reading and one about updating, where they are not the standard ones.
    struct Row: Sendable {
        var number: Int
        var read: ClassRule?
        var update: ClassRule?
        var caller = "bob"
        var list: AccessList?
        var reads: Bool
        var updates: Bool
    }

    private static let members = try! FieldName("members")
    private static let stars = try! FieldName("stars")
    private static let editors = ClassRule([.role("editor")])
    private static let empty = AccessList([])
    private static let forBob = AccessList([AccessEntry(.user("bob"), .write)])

    /// Of a record of ann's with bob among its members. Bob has the role `editor`, carl has none; a caller without a name is not logged in.
    static let rows: [Row] = [
        // 4
        Row(number: 4, read: nil, caller: "", list: nil, reads: true, updates: false),
        Row(number: 4, read: editors, caller: "", list: nil, reads: false, updates: false),
        Row(number: 4, update: ClassRule([.everyone], .override), caller: "", list: nil, reads: true, updates: false),
        // 5
        Row(number: 5, read: ClassRule([]), caller: "ann", list: nil, reads: false, updates: false),
        Row(number: 5, update: ClassRule([]), caller: "ann", list: nil, reads: true, updates: false),
        Row(number: 5, update: ClassRule([], .override), list: forBob, reads: true, updates: false),
        // 6 and 7
        Row(number: 6, read: ClassRule([.users], .override), caller: "carl", list: empty, reads: true, updates: false),
        Row(
            number: 6,
            read: ClassRule([.users], .override),
            update: ClassRule([.role("editor")], .override),
            list: empty,
            reads: true,
            updates: true
        ),
        Row(
            number: 6,
            update: ClassRule([.users], .override),
            caller: "carl",
            list: empty,
            reads: false,
            updates: false
        ),
        Row(
            number: 7,
            read: ClassRule([.role("editor")], .override),
            caller: "ann",
            list: nil,
            reads: false,
            updates: false
        ),
        Row(
            number: 7,
            update: ClassRule([.role("editor")], .override),
            caller: "ann",
            list: nil,
            reads: true,
            updates: false
        ),
        Row(number: 7, update: ClassRule([.owner], .override), caller: "ann", list: empty, reads: true, updates: true),
        Row(number: 7, update: ClassRule([.owner], .override), list: forBob, reads: true, updates: false),
        // 8
        Row(number: 8, read: ClassRule([.role("x")], .require), caller: "ann", list: nil, reads: false, updates: false),
        Row(number: 8, update: ClassRule([.role("x")], .require), list: forBob, reads: true, updates: false),
        // 9
        Row(number: 9, update: ClassRule([.users], .require), caller: "ann", list: empty, reads: true, updates: true),
        Row(number: 9, read: editors, caller: "ann", list: empty, reads: true, updates: true),
        // 10
        Row(number: 10, read: editors, list: nil, reads: true, updates: false),
        Row(number: 10, read: editors, caller: "carl", list: nil, reads: false, updates: false),
        Row(number: 10, update: editors, list: nil, reads: true, updates: true),
        Row(number: 10, update: editors, list: empty, reads: false, updates: false),
        // 11
        Row(number: 11, update: ClassRule([.role("editor")], .require), list: nil, reads: true, updates: true),
        Row(
            number: 11,
            update: ClassRule([.role("editor")], .require),
            caller: "carl",
            list: nil,
            reads: true,
            updates: false
        ),
        // 12 and 15
        Row(number: 12, update: ClassRule([.role("editor")], .require), list: forBob, reads: true, updates: true),
        Row(
            number: 15,
            update: ClassRule([.users], .require),
            caller: "carl",
            list: forBob,
            reads: false,
            updates: false
        ),
        // Fields, in each mode.
        Row(number: 10, read: ClassRule([.field(members)]), list: nil, reads: true, updates: false),
        Row(number: 10, read: ClassRule([.field(members)]), caller: "carl", list: nil, reads: false, updates: false),
        Row(number: 13, read: ClassRule([.field(members)]), list: empty, reads: false, updates: false),
        Row(number: 6, read: ClassRule([.field(members)], .override), list: empty, reads: true, updates: false),
        Row(number: 8, update: ClassRule([.field(members)], .require), list: forBob, reads: true, updates: true),
        Row(number: 8, update: ClassRule([.field(stars)], .require), list: forBob, reads: true, updates: false),
    ]

    @Test(arguments: rows)
    func theTableOfPrecedenceHolds(_ row: Row) {
        var access = ClassAccess()
        access.rules[.read] = row.read
        access.rules[.update] = row.update
        let caller =
            row.caller.isEmpty
            ? Caller.anonymous : Caller(kind: .user(UserID(row.caller)), roles: row.caller == "bob" ? ["editor"] : [])
        let open = RecordAccess(in: .everyone, for: .writing, by: caller).of(Self.rules(access))
        func admits(_ scope: AccessScope) -> Bool {
            scope.admits(database: .everyone, owner: "ann", access: row.list) { field, user in
                field.name == Self.members && user == "bob"
            }
        }
        #expect(admits(open.read) == row.reads, "row \(row.number)")
        #expect(admits(open.update) == row.updates, "row \(row.number)")
    }

    private static func rules(_ access: ClassAccess) -> ClassRules? {
        ClassRules(access) { name in
            switch name.rawValue {
            case "members": .array(.string)
            case "stars": .integer
            default: nil
            }
        }
    }

    @Test func standardRulesAreNone() {
        var access = ClassAccess()
        #expect(Self.rules(access) == nil)
        for action in ClassAction.allCases { access.rules[action] = .standard(action) }
        #expect(Self.rules(access) == nil)
    }

    /// The rule about one action leaves the scopes of the others as they are, and so their statements.
    @Test(arguments: [
        Caller.anonymous, Caller(kind: .user("ann"), roles: ["a", "b"]), Caller(kind: .master(actingAs: nil)),
    ])
    func whatNoRuleIsAboutStaysAsItIs(_ caller: Caller) throws {
        var access = ClassAccess()
        access.rules[.create] = ClassRule([.role("writer")])
        let rules = try #require(Self.rules(access))
        for database in [DatabaseScope.everyone, .user("ann"), .union] {
            for use in [RecordAccess.Use.reading, .writing] {
                let whole = RecordAccess(in: database, for: use, by: caller)
                let open = whole.of(rules)
                #expect(open.read == whole.standard.read && open.update == whole.standard.update)
                #expect(open.delete == whole.standard.delete && open.shared == whole.standard.shared)
            }
        }
    }

    @Test func whoMayCreateIsAMatterOfTheRule() throws {
        var access = ClassAccess()
        access.rules[.create] = ClassRule([.role("writer")])
        let rules = try #require(Self.rules(access))
        let writer = Caller(kind: .user("ann"), roles: ["writer"])
        let other = Caller(kind: .user("ann"))
        let cases: [(Caller, DatabaseScope, Bool)] = [
            (writer, .everyone, true), (other, .everyone, false), (other, .user("ann"), true),
            (Caller(kind: .master(actingAs: nil)), .everyone, true), (.anonymous, .everyone, false),
        ]
        for (caller, database, mayCreate) in cases {
            let access = RecordAccess(in: database, for: .writing, by: caller)
            #expect(access.of(rules).mayCreate == mayCreate)
            #expect(access.standard.mayCreate == (caller.isMaster || caller.userID != nil))
        }
        #expect(!RecordAccess(in: .everyone, for: .reading, by: writer).of(rules).mayCreate)
    }

    @Test func rulesMeanNothingToTheMasterKeyAndInPrivateDatabases() throws {
        var access = ClassAccess()
        for action in ClassAction.allCases { access.rules[action] = ClassRule([], .override) }
        let rules = try #require(Self.rules(access))
        let master = RecordAccess(in: .everyone, for: .writing, by: Caller(kind: .master(actingAs: "ann")))
        #expect(master.of(rules) == master.standard)
        let own = RecordAccess(in: .user("ann"), for: .writing, by: Caller(kind: .user("ann")))
        #expect(own.of(rules).read == own.standard.read && own.of(rules).update == own.standard.update)
        // A private record refers to no public one that its user cannot read.
        #expect(own.of(rules).shared.isEmpty)
        #expect(own.standard.shared.admits(database: .everyone, owner: nil, access: nil))
    }

    @Test func whatIsOpenIsSettledOnceForEachRules() throws {
        var access = ClassAccess()
        access.rules[.read] = ClassRule([.users])
        let rules = try #require(Self.rules(access))
        let ann = RecordAccess(in: .everyone, for: .reading, by: Caller(kind: .user("ann")))
        #expect(ann.of(rules) == ann.of(rules) && ann.of(rules).read == ann.of(Self.rules(access)).read)
        // Many types are asked about, and each gets what its rules say.
        for number in 0..<100 {
            access.rules[.read] = ClassRule([.role(RoleName("role \(number)"))], .override)
            #expect(ann.of(Self.rules(access)).read.isEmpty)
        }
        #expect(!ann.of(rules).read.isEmpty)
    }

    @Test func aChangeKeepsWhatItDoesNotName() {
        var access = ClassAccess()
        access.rules = [.read: ClassRule([.users]), .create: ClassRule([.role("writer")])]
        access.defaultAccess = AccessList([])
        var change = ClassAccessChange(type: .user)
        change.rules.updateValue(nil, forKey: .read)
        change.rules[.update] = ClassRule([.owner], .override)
        change.allowsPrivate = false
        let changed = access.applying(change)
        #expect(changed.rules == [.create: ClassRule([.role("writer")]), .update: ClassRule([.owner], .override)])
        #expect(changed.defaultAccess == AccessList([]) && !changed.allowsPrivate)
        #expect(changed.rule(.read) == .standard(.read))
        change = ClassAccessChange(type: .user)
        change.defaultAccess = .some(nil)
        #expect(changed.applying(change).defaultAccess == nil)
    }

    @Test func optionsBecomeRulesOfTheType() throws {
        var access = ClassAccess()
        #expect(TypeRules.none.applying(access) { _ in nil } == .none)
        access.listWriters = .update
        access.allowsPrivate = false
        access.defaultAccess = AccessList([AccessEntry(.users, .read)])
        let rules = TypeRules.none.applying(access) { _ in nil }
        #expect(rules.isPublicOnly && rules.fields.accessWriters == .everyone && rules.classes == nil)
        #expect(rules.defaultAccess == access.defaultAccess)
        let draft = RecordDraft(id: try RecordID("note/1"), access: nil, fields: [])
        let own = RecordAccess(in: .user("ann"), for: .writing, by: Caller(kind: .user("ann")))
        #expect(rules.refusal(saving: draft, with: own)?.code == .permissionDenied)
        #expect(TypeRules.none.refusal(saving: draft, with: own) == nil)
    }
}
