import Testing

@testable import SkyrowModel

/// Rules of every type and of every field beside those of one: the first group with a rule about a use is the only one.
@Suite struct FieldRuleGroupsTests {
    private static let title = try! FieldName("title")
    private static let stars = try! FieldName("stars")

    typealias Uses = FieldRuleGroups.Uses

    /// Rules of (type, title), (type, *), (*, title) and (*, *), what they come to for `title`, and for `stars`.
    static let rows: [([Uses], title: Uses, stars: Uses)] = [
        ([[:], [:], [:], [:]], [:], [:]),
        ([[.read: [.owner]], [:], [:], [:]], [.read: [.owner]], [:]),
        ([[:], [.read: [.owner]], [:], [:]], [.read: [.owner]], [.read: [.owner]]),
        ([[:], [:], [.read: [.owner]], [:]], [.read: [.owner]], [:]),
        ([[:], [:], [:], [.read: [.owner]]], [.read: [.owner]], [.read: [.owner]]),
        // The nearest alone.
        (
            [[.read: [.users]], [.read: [.owner]], [.read: [.everyone]], [.read: []]],
            [.read: [.users]], [.read: [.owner]]
        ),
        ([[:], [.read: [.owner]], [.read: [.everyone]], [.read: []]], [.read: [.owner]], [.read: [.owner]]),
        ([[:], [:], [.read: [.everyone]], [.read: []]], [.read: [.everyone]], [.read: []]),
        // Each use by itself.
        (
            [[.read: [.users]], [.update: [.owner]], [.create: []], [.read: [], .update: [.everyone]]],
            [.read: [.users], .update: [.owner], .create: []], [.read: [], .update: [.owner]]
        ),
        // A rule about questions does not count behind one about what is read.
        (
            [[.read: [.users]], [.compare: [.owner]], [.discover: []], [.compare: []]],
            [.read: [.users]], [.compare: [.owner]]
        ),
        (
            [[.discover: []], [.read: [.users], .compare: []], [:], [.compare: [.users], .discover: [.users]]],
            [.discover: [], .read: [.users], .compare: []], [.read: [.users], .compare: []]
        ),
        (
            [[.compare: [.owner]], [.read: [.users]], [:], [.discover: []]],
            [.compare: [.owner], .read: [.users]], [.read: [.users]]
        ),
    ]

    private static func groups(_ uses: [Uses]) -> FieldRuleGroups {
        FieldRuleGroups(
            ofType: uses[0].isEmpty ? [:] : [title: uses[0]],
            ofEveryField: uses[1],
            ofEveryType: uses[2].isEmpty ? [:] : [title: uses[2]],
            ofAll: uses[3]
        )
    }

    @Test(arguments: rows)
    func theFirstGroupWithARuleIsTheOnlyOne(_ uses: [Uses], _ title: Uses, _ stars: Uses) {
        let groups = Self.groups(uses)
        for groups in [groups, groups.flattened] {
            #expect(groups.allowed(Self.title) == title)
            #expect(groups.allowed(Self.stars) == stars)
            #expect(groups.allowed(nil) == stars)
            // What is reserved has no rules but its own.
            #expect(groups.allowed(.parent) == [:])
        }
        #expect(groups.flattened.ofEveryType.isEmpty && groups.flattened.ofAll.isEmpty)
        #expect(groups.isEmpty == uses.allSatisfy(\.isEmpty))
    }

    /// Random groups, against the table written down as loops; and flattened they come to the same.
    @Test func randomGroupsComeToWhatTheTableSays() {
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        for _ in 0..<2000 {
            let uses = (0..<4).map { group in
                Uses(
                    uniqueKeysWithValues: FieldUse.allCases.filter { _ in next(3) == 0 }.map {
                        ($0, FieldSubjects([.user(UserID("\(group)"))]))
                    }
                )
            }
            for (field, order) in [(Self.title, [0, 1, 2, 3]), (Self.stars, [1, 3])] {
                var expected: Uses = [:]
                for use in FieldUse.allCases {
                    for group in order {
                        if let rule = uses[group][use] {
                            expected[use] = rule
                            break
                        }
                        if [.compare, .discover].contains(use), uses[group][.read] != nil { break }
                    }
                }
                let groups = Self.groups(uses)
                #expect(groups.allowed(field) == expected && groups.flattened.allowed(field) == expected)
            }
        }
    }

    @Test func rulesOfEveryFieldHoldForThoseOfATypeAndForNewOnes() throws {
        let username = try FieldName("username")
        let rules = FieldRules.ofLoginKeys([username]).applying(
            FieldRuleGroups(ofType: [Self.title: [.update: []]], ofEveryField: [.read: [.role("staff")], .create: []]),
            fields: [Self.title, Self.stars, .parent]
        )
        let staff = FieldAccess(Caller(kind: .user("sue"), roles: ["staff"]))
        let ann = FieldAccess.user("ann")
        let new = try FieldName("new")
        for (caller, standing) in [
            (ann, AccessCondition.never), (staff, .always), (.unrestricted, .always), (.anonymous, .never),
        ] {
            for name in [Self.title, Self.stars, new, username] {
                #expect(rules.standing(.read, of: name, for: caller) == standing, "\(name) \(caller)")
            }
            // What keeps records together is as open as they are.
            #expect(rules.standing(.read, of: .parent, for: caller) == .always)
        }
        // Of login keys the settings hold too.
        #expect(rules.standing(.update, of: username, for: staff) == .owned)
        #expect(rules.standing(.update, of: Self.title, for: staff) == .never)
        #expect(rules.standing(.update, of: Self.stars, for: staff) == .always)
        #expect(rules.refusedInNew([Self.stars, new, .parent], by: staff) == [new, Self.stars])
        #expect(rules.refusedInNew([new], by: .unrestricted).isEmpty)
        #expect(rules.hidden(from: ann).isSuperset(of: [Self.title, Self.stars]))
        #expect(!rules.hidden(from: ann).contains(.parent) && rules.hidden(from: staff).isEmpty)
        #expect(rules.fieldBeyondPolicies == nil)
        let questions = FieldRules.none.applying(
            FieldRuleGroups(ofAll: [.compare: []]),
            fields: [Self.title, Self.stars]
        )
        #expect(questions.fieldBeyondPolicies == Self.stars)
    }
}
