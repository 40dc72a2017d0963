import SkyrowModel
import SkyrowTestSupport
import Testing

@Suite struct FieldRulesTests {
    private static let username = try! FieldName("username")
    private static let city = try! FieldName("city")
    private static let email = try! FieldName("email")
    private static let rules = FieldRules.ofLoginKeys([username])

    static let ann = Caller(kind: .user("ann"))
    static let bob = Caller(kind: .user("bob"), roles: ["editor"])
    static let master = Caller(kind: .master(actingAs: nil))

    @Test(arguments: [
        (Caller.anonymous, true), (ann, false), (bob, false), (master, false),
        (Caller(kind: .master(actingAs: "bob")), false),
    ])
    func loginKeysAreHiddenFromAnonymousCallers(_ caller: Caller, _ isHidden: Bool) {
        #expect(
            Self.rules.hidden(from: FieldAccess(caller)) == (isHidden ? [Self.username, Self.email, .verified] : [])
        )
        #expect(FieldRules.none.hidden(from: FieldAccess(caller)).isEmpty)
    }

    /// A caller, the owner of a record whose username is "Zo\u{E9}", the username that is sent, and whether that passes.
    static let changes: [(Caller, UserID?, RecordValue, Bool)] = [
        (ann, "ann", .string("other"), true),
        (ann, "ann", .null, true),
        (bob, "ann", .string("other"), false),
        (bob, "ann", .null, false),
        (bob, "ann", .string("Zo\u{E9}"), true),
        (bob, "ann", .string("Zoe\u{301}"), false),
        (bob, "ann", .string("zo\u{E9}"), false),
        (bob, nil, .string("other"), false),
        (master, "ann", .string("other"), true),
        (Caller(kind: .master(actingAs: "bob")), "ann", .string("other"), true),
        (Caller(kind: .user("\u{E9}")), "e\u{301}", .string("other"), false),
        (.anonymous, "ann", .string("other"), false),
    ]

    @Test(arguments: changes)
    func loginKeysAreChangedByTheirOwner(_ caller: Caller, _ owner: UserID?, _ value: RecordValue, _ passes: Bool)
        throws
    {
        var record = Record(id: try RecordID("user/ann"), fields: [Self.username: .string("Zo\u{E9}")])
        record.owner = owner
        let fields = [(name: Self.city, value: RecordValue.string("Bern")), (name: Self.username, value: value)]
        #expect(
            Self.rules.refusedChanges(fields, to: record, by: FieldAccess(caller)) == (passes ? [] : [Self.username])
        )
        #expect(FieldRules.none.refusedChanges(fields, to: record, by: FieldAccess(caller)).isEmpty)
    }

    @Test func whatOwnersAloneSeeIsNotComparedForOthers() throws {
        let rules = FieldRules.ofLoginKeys([Self.username, Self.email])
        var record = Record(id: try RecordID("user/ann"), fields: [Self.email: .string("a@b")])
        record.owner = "ann"
        for guess in [RecordValue.string("a@b"), .string("c@d"), .null] {
            #expect(rules.refusedChanges([(Self.email, guess)], to: record, by: FieldAccess(Self.bob)) == [Self.email])
            #expect(rules.refusedChanges([(Self.email, guess)], to: record, by: FieldAccess(Self.ann)).isEmpty)
            #expect(rules.refusedChanges([(Self.email, guess)], to: record, by: FieldAccess(Self.master)).isEmpty)
        }
        for (caller, expected) in [(Self.ann, true), (.anonymous, false), (Self.master, false)] {
            #expect((rules.standing(.read, of: Self.email, for: FieldAccess(caller)) == .owned) == expected)
            #expect(rules.standing(.read, of: Self.username, for: FieldAccess(caller)) != .owned)
        }
    }

    @Test func whoSeesAFieldIsConfigured() {
        let phone = try! FieldName("phone")
        let rules = FieldRules.ofLoginKeys([phone], readers: [Self.email: .everyone, Self.username: .users])
        #expect(rules.hidden(from: .anonymous) == [phone, Self.username, .verified])
        #expect(rules.standing(.read, of: phone, for: FieldAccess(Self.ann)) == .owned)
        #expect(rules.standing(.read, of: Self.email, for: FieldAccess(Self.ann)) == .always)
        // Only login keys are their owner's to change.
        let bob = FieldAccess(Self.bob)
        #expect(rules.standing(.update, of: phone, for: bob) == .owned)
        #expect(rules.standing(.update, of: Self.email, for: bob) == .always)
    }

    /// The service alone writes it, for all readers; to send it as it is changes nothing.
    @Test func noOneWritesWhatTheServiceKeeps() throws {
        let readers: [FieldRule.Readers?] = [nil, .owner, .users, .everyone]
        for reader in readers {
            let rules = FieldRules.ofLoginKeys([], readers: reader.map { [.verified: $0] } ?? [:])
                .applying([.verified: [.update: [.everyone], .create: [.everyone]]])
            let expected: [AccessCondition] =
                switch reader {
                case nil, .owner: [.owned, .owned, .never, .always]
                case .users: [.always, .always, .never, .always]
                case .everyone: [.always, .always, .always, .always]
                }
            var record = Record(id: try RecordID("user/ann"), fields: [.verified: .boolean(true)])
            record.owner = "ann"
            for (caller, read) in zip([Self.ann, Self.bob, .anonymous, Self.master], expected) {
                let access = FieldAccess(caller)
                #expect(rules.standing(.read, of: .verified, for: access) == read)
                for use in [FieldUse.create, .update] {
                    #expect(rules.standing(use, of: .verified, for: access) == .never, "\(caller) \(use)")
                }
                #expect(rules.refusedInNew([.verified, Self.city], by: access) == [.verified])
                let sees = read == .always || (read == .owned && caller == Self.ann)
                for (value, isSame) in [(RecordValue.boolean(true), true), (.boolean(false), false), (.null, false)] {
                    let refused = rules.refusedChanges([(.verified, value)], to: record, by: access)
                    #expect(refused == (isSame && sees ? [] : [.verified]), "\(caller) \(value)")
                }
                #expect(rules.refusedOperators([.verified], on: record, by: access) == [.verified])
            }
            #expect(
                rules.terms(.update, of: .verified).contains([]) && rules.terms(.create, of: .verified).contains([])
            )
        }
    }

    /// What a rule comes to for ann, who is registered and verified and carries the tag golf, for bob, an editor with the key tablet, for one who is not
    /// logged in, and for the master key.
    static let standings: [([Subject], [AccessCondition])] = [
        ([.everyone], [.always, .always, .always, .always]), ([.users], [.always, .always, .never, .always]),
        ([.owner], [.owned, .owned, .never, .always]), ([.role("editor")], [.never, .always, .never, .always]),
        ([.owner, .role("editor")], [.owned, .always, .never, .always]),
        ([.group("golf")], [.always, .never, .never, .always]),
        ([.user("bob")], [.never, .always, .never, .always]), ([], [.never, .never, .never, .always]),
        ([.apiKey("tablet")], [.never, .always, .never, .always]),
        ([.owner, .apiKey("phone")], [.owned, .owned, .never, .always]),
        ([.registered], [.always, .never, .never, .always]), ([.verified], [.always, .never, .never, .always]),
    ]

    @Test(arguments: standings)
    func aRuleIsSettledForACaller(_ subjects: [Subject], _ expected: [AccessCondition]) {
        let ann = Caller(kind: .user("ann"), groups: ["golf"], isRegistered: true, isVerified: true)
        let callers = [ann, Self.bob.withKey("tablet"), .anonymous, Self.master].map { FieldAccess($0) }
        for use in FieldUse.allCases {
            let rules = FieldRules.none.applying([Self.city: [use: FieldSubjects(subjects)]])
            #expect(callers.map { rules.standing(use, of: Self.city, for: $0) } == expected)
            for other in FieldUse.allCases where other != use && !(use == .read && other.followsRead) {
                #expect(callers.allSatisfy { rules.standing(other, of: Self.city, for: $0) == .always })
            }
            #expect(callers.allSatisfy { rules.standing(use, of: Self.email, for: $0) == .always })
        }
        // Who is not logged in owns nothing, so it sees nothing that owners see.
        let rules = FieldRules.none.applying([Self.city: [.read: FieldSubjects(subjects)]])
        for (caller, standing) in zip(callers, expected) {
            let view = rules.view(for: caller)
            let isOwned = standing == .owned && caller.user != nil
            #expect(view.partial == (isOwned ? [Self.city: .owned] : [:]))
            #expect(view.hidden == (standing == .always || isOwned ? [] : [Self.city]))
        }
    }

    @Test func aKeyOfNoUserIsASubjectToo() {
        let rules = FieldRules.none.applying([Self.city: [.read: [.apiKey("tablet"), .owner]]])
        for (name, standing) in [("tablet", AccessCondition.always), ("phone", .never)] {
            let caller = FieldAccess(Caller.anonymous.withKey(KeyName(name)))
            #expect(rules.standing(.read, of: Self.city, for: caller) == standing)
            #expect(rules.hidden(from: caller) == (standing == .always ? [] : [Self.city]))
        }
    }

    /// A request that leaves its key out would not be denied it.
    @Test func aKeyIsNotDenied() {
        #expect(FieldSubjects(keys: ["key:tablet", "users"], for: .read) == [.users, .apiKey("tablet")])
        #expect(FieldSubjects(keys: ["!key:tablet", "users"], for: .read) == nil)
        #expect(FieldSubjects(keys: ["!group:golf", "users"], for: .read)?.hasDenials == true)
    }

    /// What settings say of the readers of a login key, no rule about questions opens either.
    @Test func rulesAboutQuestionsNarrowThoseOfLoginKeysToo() {
        let rules = FieldRules.ofLoginKeys([Self.username, Self.email]).applying([
            Self.username: [.compare: [.everyone]], Self.email: [.compare: [.users], .discover: [.everyone]],
        ])
        for (caller, username, email) in [
            (FieldAccess(Self.ann), AccessCondition.always, AccessCondition.owned), (.anonymous, .never, .never),
            (.unrestricted, .always, .always),
        ] {
            for asking in [FieldAsking.compare, .equal] {
                #expect(rules.standing(asking, of: Self.username, for: caller) == username)
                #expect(rules.standing(asking, of: Self.email, for: caller) == email)
            }
        }
    }

    @Test func rulesThatWereSetNarrowThoseOfLoginKeys() {
        let bob = FieldAccess(Self.bob)
        let opened = Self.rules.applying([Self.username: [.read: [.everyone], .update: [.everyone]]])
        #expect(opened.standing(.read, of: Self.username, for: .anonymous) == .never)
        #expect(opened.standing(.update, of: Self.username, for: bob) == .owned)
        let closed = Self.rules.applying([Self.username: [.read: [.owner], .update: []]])
        #expect(closed.standing(.read, of: Self.username, for: bob) == .owned)
        #expect(closed.standing(.update, of: Self.username, for: bob) == .never)
        #expect(Self.rules.applying([:]) == Self.rules)
    }

    @Test func aFieldThatIsNotThereIsNullAlready() throws {
        let record = Record(id: try RecordID("user/ann"))
        #expect(Self.rules.refusedChanges([(Self.username, .null)], to: record, by: FieldAccess(Self.bob)).isEmpty)
        #expect(
            Self.rules.refusedChanges([(Self.username, .string("x"))], to: record, by: FieldAccess(Self.bob)) == [
                Self.username
            ]
        )
    }

    /// Rules of two origins, or of reading and changing, hold in the records of both.
    @Test func whatHoldsInSomeRecordsIsNarrowed() throws {
        let members = try #require(MemberField(FieldName("members"), of: .array(.string)))
        let owned = AccessCondition.owned
        let either = AccessCondition(any: [.owner, .member(members)])
        let both = owned.and(AccessCondition(any: [.member(members)]))
        for (a, b, expected) in [
            (owned, either, owned), (either, owned, owned), (.always, either, either), (either, .never, .never),
            (owned, AccessCondition(any: [.member(members)]), both), (both, both, both), (both, either, both),
        ] as [(AccessCondition, AccessCondition, AccessCondition)] {
            #expect(a.and(b) == expected || b.and(a) == expected)
        }
        #expect(!both.isAlways && !both.isNever)
        for (isOwner, isMember) in [(true, true), (true, false), (false, true), (false, false)] {
            #expect(both.holds(isOwner: isOwner) { _ in isMember } == (isOwner && isMember))
        }
        #expect(both.members == [members])
    }

    /// The first subject that a caller is decides, whatever else it is, and what no rule about questions says is as what is seen.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func theFirstSubjectThatOneIsDecides(_ seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let city = try FieldName("city")
        let members = try FieldName("members")
        let member = try #require(MemberField(members, of: .array(.string)))
        let subjects: [Subject] = [.owner, .field(members), .user("bob"), .role("editor"), .users, .everyone]
        let callers = [Self.ann, Self.bob, Caller.anonymous]
        func list() -> FieldSubjects {
            FieldSubjects((0..<next(5)).map { _ in .init(subjects[next(subjects.count)], allows: next(3) > 0) })
        }
        func first(_ list: FieldSubjects, _ caller: Caller, _ owns: Bool, _ stands: Bool) -> Bool {
            for entry in list.entries {
                let isOne =
                    switch entry.subject {
                    case .owner: owns
                    case .field: stands
                    default: Audience(of: caller).includes(entry.subject)
                    }
                if isOne { return entry.allows }
            }
            return false
        }
        for _ in 0..<500 {
            let (read, compare, discover) = (list(), list(), list())
            let rules = FieldRules.none.applying([
                city: [.read: read, .compare: compare, .discover: discover]
            ]) { $0 == members ? .array(.string) : nil }
            for caller in callers {
                for (owns, stands) in [(false, false), (true, false), (false, true), (true, true)] {
                    if FieldAccess(caller).user == nil, owns || stands { continue }
                    func holds(_ condition: AccessCondition) -> Bool {
                        condition.holds(isOwner: owns) { $0 == member && stands }
                    }
                    let seen = first(read, caller, owns, stands)
                    let compared = first(compare, caller, owns, stands)
                    let found = compared || first(discover, caller, owns, stands)
                    #expect(holds(rules.standing(FieldUse.read, of: city, for: FieldAccess(caller))) == seen)
                    #expect(holds(rules.standing(FieldAsking.compare, of: city, for: FieldAccess(caller))) == compared)
                    #expect(holds(rules.standing(FieldAsking.equal, of: city, for: FieldAccess(caller))) == found)
                    #expect(holds(rules.standing(.send, of: city, for: FieldAccess(caller))) == seen)
                    #expect(holds(rules.standing(.order, of: city, for: FieldAccess(caller))) == (seen && compared))
                }
            }
        }
    }

    @Test func aRuleNamesThoseWhoStandInAField() throws {
        let (city, members, gone) = (try FieldName("city"), try FieldName("members"), try FieldName("gone"))
        let rules = FieldRules.none.applying([
            city: [.read: [.field(members), .field(gone)], .update: [.field(gone)]]
        ]) { $0 == members ? .array(.string) : nil }
        let ann = FieldAccess.user("ann")
        let member = try #require(MemberField(members, of: .array(.string)))
        #expect(rules.standing(.read, of: city, for: ann) == AccessCondition(any: [.member(member)]))
        // No one stands in a field that there is not.
        #expect(rules.standing(.update, of: city, for: ann) == .never)
        #expect(rules.hidden(from: .anonymous) == [city])
        #expect(rules.standing(.read, of: city, for: .unrestricted) == .always)
    }
}
