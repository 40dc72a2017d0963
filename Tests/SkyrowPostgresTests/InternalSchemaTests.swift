import Testing

@testable import SkyrowPostgres

@Suite struct InternalSchemaTests {
    private static let long = String(repeating: "x", count: 60)

    @Test(arguments: [
        ("app", "app_internal"), ("Ünï\"x", "Ünï\"x_internal"), ("_", "__internal"),
        (String(repeating: "x", count: 54), String(repeating: "x", count: 54) + "_internal"),
    ])
    func theNameOfTheApplicationHasMoreBehindIt(application: String, name: String) throws {
        #expect(try SQLIdentifier(application).internal.name == name)
    }

    /// PostgreSQL would cut off what is longer, and make one schema of several.
    @Test(arguments: [
        String(repeating: "x", count: 55), long, long + "abc", String(repeating: "ü", count: 31),
        String(repeating: "x", count: 36) + String(repeating: "𝕏", count: 6),
    ])
    func aLongNameIsCutOffAndToldApart(application: String) throws {
        let name = try SQLIdentifier(application).internal.name
        #expect(name.utf8.count <= SQLIdentifier.maximumLength && name.utf8.count > 55)
        #expect(name.wholeMatch(of: /.+_internal_[0-9a-f]{16}/) != nil)
        let beginning = try #require(name.firstMatch(of: /(.+)_internal_/)?.1)
        #expect(application.hasPrefix(String(beginning)))
    }

    /// It is in databases, and stays as it is.
    @Test func theRuleIsTheSameForever() throws {
        #expect(
            try SQLIdentifier(String(repeating: "x", count: 55)).internal.name
                == "\(String(repeating: "x", count: 37))_internal_2003c3128635871f"
        )
    }

    @Test func noTwoApplicationsShareASchema() throws {
        let names = [
            "a", "a_internal", "a_visible", "b", Self.long + "abc", Self.long + "abd", Self.long, Self.long + "a",
            String(repeating: "x", count: 54), String(repeating: "x", count: 55), String(repeating: "x", count: 37),
        ]
        let beside = try names.map { try SQLIdentifier($0).internal.name }
        #expect(Set(beside).count == names.count)
        // Nor is it that of the views of policies.
        #expect(Set(beside).isDisjoint(with: names.map { "\($0)_visible" }))
    }

    @Test(arguments: [
        ("app", false), ("internal", false), ("app_internals", false), ("app_internal", true), ("_internal", true),
        ("app_visible", true), ("visible", false), ("x_internal_0123456789abcdef", true),
        ("x_internal_0123456789abcdeg", false), ("x_internal_123", false), ("x_internally_0123456789abcdef", false),
        ("ü_internal_0123456789abcdef", true), (String(repeating: "x", count: 63), false),
    ])
    func noApplicationIsInASchemaBesideAnother(name: String, isBesideAnother: Bool) throws {
        #expect(try SQLIdentifier(name).isBesideAnother == isBesideAnother)
    }

    /// What an application has beside its schema is never free for another one.
    @Test(arguments: ["app", "Ü", long, long + "abc", String(repeating: "ü", count: 31)])
    func itsOwnSchemaIsBesideAnother(application: String) throws {
        #expect(try SQLIdentifier(application).internal.identifier.isBesideAnother)
    }

    @Test(arguments: ["app", "my \"app\"; --", long, String(repeating: "ü", count: 31)])
    func aStatementHasTheNameQuoted(application: String) throws {
        let schema = try SQLIdentifier(application)
        let statement: SQL = "SELECT FROM \(schema.internal)._user"
        #expect(statement.text == "SELECT FROM \(schema.internal.identifier.quoted)._user")
    }

    @Test(arguments: [("app", "app_internal"), ("App", "\"App_internal\""), ("a b", "\"a b_internal\"")])
    func peopleQuoteItWhereItNeedsThat(application: String, plain: String) throws {
        #expect(try SQLIdentifier(application).internal.plain == plain)
    }
}
