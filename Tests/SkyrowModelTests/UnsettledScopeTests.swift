import SkyrowTestSupport
import Testing

@testable import SkyrowModel

@Suite struct UnsettledScopeTests {
    private static let subjects: [Subject] = [
        .everyone, .users, .registered, .owner, .user("ann"), .role("a"), .role("b"), .group("golf"), .apiKey("tablet"),
        .field(field("title")),
    ]

    /// For each caller, the branch for it has what the rules come to for it.
    @Test func theBranchOfACallerIsWhatTheRulesComeToForIt() throws {
        var random = SeededGenerator(seed: 7)
        var counts: Set<Int> = []
        for _ in 0..<3000 {
            var access = ClassAccess()
            for action in [ClassAction.read, .update, .delete] where Bool.random(using: &random) {
                access.rules[action] = ClassRule(
                    Array(
                        Self.subjects.shuffled(using: &random).prefix([0, 1, 1, 2, 3].randomElement(using: &random)!)
                    ),
                    ClassRule.Mode.allCases.randomElement(using: &random)!
                )
            }
            let rules = ClassRules(access) { _ in .string }
            let audience = Audience(
                user: Bool.random(using: &random) ? "ann" : "bob",
                roles: Bool.random(using: &random) ? ["a"] : ["b"],
                groups: Bool.random(using: &random) ? ["golf"] : [],
                isRegistered: Bool.random(using: &random),
                isVerified: Bool.random(using: &random),
                keyName: Bool.random(using: &random) ? "tablet" : nil
            )
            var caller = Caller(
                kind: .user(try #require(audience.user)),
                roles: audience.roles,
                groups: audience.groups,
                isRegistered: audience.isRegistered,
                isVerified: audience.isVerified
            )
            caller.keyName = audience.keyName
            for action in AccessAction.allCases {
                let unsettled = UnsettledScope(action, of: rules, relations: nil)
                counts.insert(unsettled.branches.count)
                let branch = try #require(
                    unsettled.branches.first { $0.isFor.allSatisfy { $0.contains { audience.includes($0) } } }
                )
                let settled = AccessScope(
                    caller: caller,
                    audience: audience,
                    action: action,
                    database: .everyone,
                    rules: rules
                )
                #expect(branch.condition == settled.condition, "\(access.rules)")
            }
        }
        #expect(counts == [1, 2, 4])
    }

    @Test func aTypeWithoutRulesHasOneBranch() {
        for action in AccessAction.allCases {
            let branches = UnsettledScope(action, of: nil, relations: nil).branches
            #expect(branches.count == 1 && branches[0].isFor.isEmpty && !branches[0].condition.isNever)
        }
    }
}
