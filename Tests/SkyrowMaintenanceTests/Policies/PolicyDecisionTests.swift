import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite struct PolicyDecisionTests {
    @Test(
        arguments: [
            ("ann_sql=ann", "ann_sql", "ann"), ("Ann \"x\"=o'brien", "Ann \"x\"", "o'brien"), ("a=b=c", "a", "b=c"),
            ("ann_sql", nil, nil), ("=ann", nil, nil), ("ann_sql=", nil, nil),
            (String(repeating: "a", count: 64) + "=ann", nil, nil),
        ] as [(String, String?, String?)]
    )
    func aLoginIsARoleAndAUser(_ text: String, _ role: String?, _ user: String?) {
        let login = DatabaseLogin(text)
        #expect(login?.role.name == role && login?.user.rawValue == user)
    }

    @Test(
        arguments: [
            (LoginRole(role: "r", user: "u"), nil),
            (LoginRole(role: "r", user: "u", exists: false), "PostgreSQL has no role r"),
            (LoginRole(role: "r", user: "u", powers: ["r": "is a superuser"]), "The role r is a superuser"),
            (
                LoginRole(role: "r", user: "u", powers: ["a": "is a superuser", "r": "passes row security"]),
                "The role r passes row security"
            ),
            (
                LoginRole(role: "r", user: "u", powers: ["a": "is a superuser"]),
                "The role r is a member of a, which is a superuser"
            ),
        ] as [(LoginRole, String?)]
    )
    func aRoleIsHeldByPoliciesOrNot(_ role: LoginRole, _ refusal: String?) {
        #expect((role.refusal == nil) == (refusal == nil))
        if let refusal { #expect(role.refusal?.hasPrefix(refusal) == true) }
    }

    @Test func aDatabaseWithoutPoliciesDiffersInNothing() {
        var state = PolicyState()
        state.tables = [PolicyState.Table(type: "note", isClosed: false, rules: "1")]
        #expect(state.isEmpty && state.differences(from: nil) == [])
        state.logins = [LoginRole(role: "r", user: "u")]
        #expect(
            state.differences(from: nil) == [
                "The type note is closed to database logins, since it has no policies yet."
            ]
        )
    }

    /// The condition of a type without rules.
    private static let standard = [
        #""note"."_database" = '_public' AND ("note"."_access" IS NULL OR "note"."_owner" = (SELECT "app"."_me"())"#,
        #"coalesce("note"."_access" ?| (SELECT "app"."_audience"()), false)"#,
        #"(("note"."_access" ? 'relation:friend' AND "app"."_is_related"('friend', "note"."_owner"))"#,
        #"("note"."_access" ? 'relation:follower' AND "app"."_is_related"('follower', "note"."_owner"))"#,
        #"("note"."_access" ? 'relation:followed' AND "app"."_is_related"('followed', "note"."_owner"))))"#,
    ].joined(separator: " OR ")

    private static let named = [
        #"CASE WHEN ((SELECT "app"."_audience"() && ARRAY['role:o''x', 'group:g']::text[]))"#,
        #"THEN "note"."_database" = '_public' ELSE false END"#,
    ].joined(separator: " ")

    /// The rules of a type, and what a policy asks of a row.
    private static let rules: [(rule: ClassRule, condition: String)] = [
        (ClassRule([.everyone]), standard),
        (ClassRule([]), "false"),
        (ClassRule([.users], .override), #""note"."_database" = '_public'"#),
        (
            ClassRule([.owner], .override),
            #""note"."_database" = '_public' AND ("note"."_owner" = (SELECT "app"."_me"()))"#
        ),
        (ClassRule([.role("o'x"), .group("g")], .override), named),
    ]

    @Test func aRuleIsAPolicy() throws {
        for (rule, condition) in Self.rules {
            var access = ClassAccess()
            access.rules[.read] = rule
            let table = RecordTable(
                name: type("note"),
                schema: "app",
                identifier: "note",
                columns: [],
                rules: TypeRules.none.applying(access) { _ in nil }
            )
            let select = TypePolicies(of: table, deletesOthers: false).objects[0].statement
            let head = #"CREATE POLICY "_select" ON "app"."note" FOR SELECT TO PUBLIC USING "#
            let gate = #"(SELECT "app"."_may_ask"('note'))"#
            let own = #""note"."_database" = (SELECT "app"."_me"())"#
            #expect(select.bindings.isEmpty)
            #expect(select.text == head + "(\(gate) AND ((\(condition)) OR \(own)))")
        }
    }
}
