import SkyrowModel
import SkyrowPostgres
package import SkyrowStore

/// The policies of a database with their objects, and how they differ from the expected ones.
///
/// It is loaded from PostgreSQL and judged here, so every difference can be tested without a server.
package struct PolicyState: Hashable, Sendable {
    /// An object that was made, by type and name.
    package struct Object: Hashable, Sendable {
        package var type: String
        /// The value of `_policy.kind`.
        package var kind: String
        package var name = ""
    }

    /// The `_policy` row of an object.
    package struct Made: Hashable, Sendable {
        /// The statement, the digest of rules, or privileges.
        package var source: String
        /// The text that PostgreSQL stored for it.
        package var stored = ""
    }

    /// A record table.
    package struct Table: Hashable, Sendable {
        package var type: String
        package var isClosed: Bool
        package var isForced = false
        /// The digest of the type's rules.
        package var rules: String
    }

    package var logins: [LoginRole] = []
    package var tables: [Table] = []
    /// The objects that were made, as recorded then.
    package var made: [Object: Made] = [:]
    /// The current policies of record tables, triggers and views.
    package var present: [Object: String] = [:]
    /// The privileges of each role, a line each: `SELECT note.title`.
    package var rights: [String: Set<String>] = [:]
    /// Reserved functions that run with their owner's privileges and that a role may call.
    package var powers: [String: Set<String>] = [:]

    /// Whether policies were never applied, or were all dropped.
    package var isEmpty: Bool {
        logins.isEmpty && made.isEmpty && !present.keys.contains { $0.kind == "policy" }
            && !tables.contains { $0.isClosed }
    }

    /// Returns a sentence for each difference, in a stable order.
    ///
    /// - Parameter policies: The policies expected by the rules and settings; nil compares with those recorded, for
    ///   callers without the service's settings.
    package func differences(from policies: [TypePolicies]?) -> [String] {
        if isEmpty { return [] }
        var sentences = logins.compactMap(\.refusal)
        for table in tables.sorted(by: { $0.type < $1.type }) {
            let expected = policies?.first { $0.type.rawValue == table.type }
            sentences += differences(of: table, from: expected)
        }
        let types = Set(tables.map(\.type))
        for type in Set(made.keys.map(\.type)).subtracting(types).sorted() {
            sentences.append("There are policies for the type \(type), which no longer exists.")
        }
        for object in present.keys.filter({ $0.kind == "view" && made[$0] == nil }).sorted() {
            sentences.append("The view \(object.name) shows records, and was not created by skyrow.")
        }
        return sentences + differencesOfRights
    }

    private func differences(of table: Table, from policies: TypePolicies?) -> [String] {
        let type = table.type
        guard let rules = made[Object(type: type, kind: "rules")] else {
            return ["The type \(type) is closed to database logins, since it has no policies yet."]
                + strangers(of: type)
        }
        var sentences: [String] = []
        if !table.isClosed {
            sentences.append("The table \(type) does not apply its policies: row-level security is off.")
        }
        if table.isForced {
            sentences.append("The table \(type) applies its policies also to its owner, the service.")
        }
        if rules.source != table.rules {
            sentences.append(
                "The rules of the type \(type) have changed; until the next apply it is closed to database logins."
            )
        }
        let known = made.filter { $0.key.type == type && ["policy", "trigger", "view"].contains($0.key.kind) }
        for (object, made) in known.sorted(by: { $0.key < $1.key }) {
            switch present[object] {
            case made.stored?: break
            case nil: sentences.append("The \(object.kind) \(object.name) of \(type) was dropped.")
            case .some: sentences.append("The \(object.kind) \(object.name) of \(type) was changed.")
            }
        }
        if let policies, rules.source == table.rules { sentences += differences(known, from: policies) }
        return sentences + strangers(of: type)
    }

    /// Returns the differences caused by changed fields, references and settings of a type.
    private func differences(_ known: [Object: Made], from policies: TypePolicies) -> [String] {
        let type = policies.type.rawValue
        var sentences: [String] = []
        var left = known
        for object in policies.objects {
            switch left.removeValue(forKey: Object(type: type, kind: object.kind.rawValue, name: object.name)) {
            case nil: sentences.append("The \(object.kind.rawValue) \(object.name) of \(type) is missing.")
            case let made? where made.source != object.statement.text:
                sentences.append("The \(object.kind.rawValue) \(object.name) of \(type) is outdated.")
            case .some: break
            }
        }
        for object in left.keys.sorted() {
            sentences.append("The \(object.kind) \(object.name) of \(type) is obsolete.")
        }
        if made[Object(type: type, kind: "rights")]?.source != policies.rights {
            sentences.append("The columns of \(type) that database logins may access are outdated.")
        }
        return sentences
    }

    /// Policies made in psql, each of which admits more or less than the rules do.
    private func strangers(of type: String) -> [String] {
        present.keys.filter { $0.type == type && $0.kind == "policy" && made[$0] == nil }.sorted().map {
            "The table \(type) has the policy \($0.name), which was not created by skyrow."
        }
    }

    private var differencesOfRights: [String] {
        var expected: Set<String> = []
        for (object, made) in made where object.kind == "rights" {
            expected.formUnion(made.source.split(separator: "\n").map(String.init))
        }
        var sentences: [String] = []
        for login in logins where login.exists {
            let held = rights[login.role] ?? []
            for right in held.subtracting(expected).sorted() {
                sentences.append("The role \(login.role) may \(right), which no rule allows.")
            }
            for right in expected.subtracting(held).sorted() {
                sentences.append("The role \(login.role) may not \(right), which the rules allow.")
            }
            for function in (powers[login.role] ?? []).sorted() {
                sentences.append(
                    "The role \(login.role) may call \(function), which runs with the rights of its owner."
                )
            }
        }
        return sentences
    }
}

extension PolicyState.Object: Comparable {
    package static func < (a: PolicyState.Object, b: PolicyState.Object) -> Bool {
        (a.type, a.kind, a.name) < (b.type, b.kind, b.name)
    }
}

extension TypePolicies {
    /// A database login's privileges on the table and the view, a line each, sorted: `SELECT note.title`.
    package var rights: String {
        let name = type.rawValue
        var lines = grants.select.map { "SELECT \(name).\($0)" }
        lines += grants.insert.map { "INSERT \(name).\($0)" }
        lines += grants.update.map { "UPDATE \(name).\($0)" }
        if grants.deletes { lines.append("DELETE \(name)") }
        if view != nil { lines.append("SELECT view \(name)") }
        return lines.sorted().joined(separator: "\n")
    }
}
