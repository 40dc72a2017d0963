import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// Records, and roles of PostgreSQL that stand for users, which log in with connections of their own.
struct PolicyFixture: Sendable {
    let records: RecordsFixture
    /// What stands before the names of roles, which all databases of the server have in common.
    let prefix: String

    var store: RecordStore { records.store }

    @discardableResult
    func psql(_ statements: String) async throws -> String {
        try await records.psql(statements)
    }

    func role(_ name: String) -> String { "\(prefix)_\(name)" }

    func identifier(_ name: String) -> SQLIdentifier { try! SQLIdentifier(role(name)) }

    func login(_ name: String, as user: UserID) -> DatabaseLogin {
        DatabaseLogin(role: identifier(name), user: user)
    }

    /// Makes roles of users, and policies for them.
    @discardableResult
    func apply(_ users: KeyValuePairs<String, UserID> = ["ann": "ann", "bob": "bob"]) async throws -> PolicyOutcome {
        for (name, _) in users {
            try await psql(
                """
                DO $$ BEGIN CREATE ROLE "\(role(name))" LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$
                """
            )
        }
        return try await store.applyPolicies(for: users.map { login($0.key, as: $0.value) })
    }

    /// Runs statements in a connection of a role; returns the rows, a line each.
    @discardableResult
    func sql(_ name: String, _ statements: String) async throws -> String {
        let own = records.database.url.replacing("user=postgres", with: "user=\(role(name))")
        return try await records.database.cluster.psql(
            "SET search_path = app; SET client_min_messages = warning;\n" + statements,
            url: own
        )
    }

    /// What a role is refused with; fails the test when it is not.
    func refusal(_ name: String, _ statements: String) async throws -> String {
        do {
            let result = try await sql(name, statements)
            Issue.record("\(name) was not refused: \(statements)\n\(result)")
            return ""
        } catch {
            return "\(error)"
        }
    }

    func differences() async throws -> [String] {
        try await store.policyDifferences().differences
    }

    /// The same with the names of roles as the test has them.
    func namedDifferences() async throws -> [String] {
        try await differences().map { $0.replacing("\(prefix)_", with: "") }
    }
}

func withPolicies(
    test: String = #function,
    _ body: @escaping @Sendable (PolicyFixture) async throws -> Void
) async throws {
    try await withRecords(test: test) { records in
        let fixture = PolicyFixture(records: records, prefix: String(records.database.name.prefix(30)))
        var failure: (any Error)?
        do { try await body(fixture) } catch { failure = error }
        let roles = try await fixture.psql(
            "SELECT rolname FROM pg_roles WHERE starts_with(rolname, '\(fixture.prefix)_')"
        ).split(separator: "\n")
        for role in roles { try await fixture.psql("DROP OWNED BY \"\(role)\"; DROP ROLE \"\(role)\"") }
        if let failure { throw failure }
    }
}

extension String {
    /// The lines, sorted.
    var rows: [String] { split(separator: "\n").map(String.init).sorted() }
}
