// The rules of access to records, written down a second time from the table of precedence and not from the service. Nothing of
// the service is imported here, not even its words for things.

/// Who asks.
struct OracleCaller {
    var user: String?
    var roles: Set<String> = []
    var isMaster = false
}

/// A record as psql shows it.
struct OracleRecord {
    var id: String
    /// `_public`, or the user whose private database it is in.
    var database = "_public"
    var owner: String?
    /// Levels by subject keys; nil where the record has no list.
    var list: [String: String]?
}

enum OracleAction: CaseIterable {
    case read, update, delete
}

enum OracleAnswer: Hashable {
    case yes
    /// As if there were no such record.
    case missing
    /// 102
    case denied
    /// 101
    case logIn
}

/// An answer and the row of the table that gave it.
struct OracleDecision: Hashable {
    var row: Int
    var answer: OracleAnswer
}

struct AccessOracle {
    /// The users and roles that there are.
    var users: Set<String>
    var roles: Set<String>

    /// What may be done to a record by a caller who asks in a database.
    func decide(
        _ caller: OracleCaller,
        _ action: OracleAction,
        _ record: OracleRecord,
        in database: String = "_public"
    ) -> OracleDecision {
        // 1: the master key.
        if caller.isMaster { return OracleDecision(row: 1, answer: record.database == database ? .yes : .missing) }
        // 2 and 3: private records.
        if record.database != "_public" {
            let isOwn = caller.user == record.database && database == record.database
            return isOwn ? OracleDecision(row: 2, answer: .yes) : OracleDecision(row: 3, answer: .missing)
        }
        if database != "_public" { return OracleDecision(row: 3, answer: .missing) }
        // 4: not logged in.
        guard let user = caller.user else {
            if action != .read { return OracleDecision(row: 4, answer: .logIn) }
            if record.list == nil { return OracleDecision(row: 4, answer: .yes) }
            return OracleDecision(row: 4, answer: record.list?["public"] == nil ? .missing : .yes)
        }
        // 9: the owner.
        if record.owner == user { return OracleDecision(row: 9, answer: .yes) }
        // 10: no list. The class is read by all, and changed by owners.
        guard let list = record.list else {
            return OracleDecision(row: 10, answer: action == .read ? .yes : .denied)
        }
        let subjects = Set(["public", "users", "user:\(user)"] + caller.roles.map { "role:\($0)" })
        let enough: Set<String> =
            switch action {
            case .read: ["read", "update", "delete", "write"]
            case .update: ["update", "write"]
            case .delete: ["delete", "write"]
            }
        let granting = list.filter { subjects.contains($0.key) && enough.contains($0.value) }.map(\.key)
        // 14: a public entry for writing, which means users.
        if action != .read, granting == ["public"] { return OracleDecision(row: 14, answer: .yes) }
        // 12: an entry.
        if !granting.isEmpty { return OracleDecision(row: 12, answer: .yes) }
        // 13: nobody is named.
        if !list.keys.contains(where: names) { return OracleDecision(row: 13, answer: .missing) }
        // 15: none of these.
        let isReadable = list.keys.contains { subjects.contains($0) }
        return OracleDecision(row: 15, answer: isReadable && action != .read ? .denied : .missing)
    }

    /// Whether a key names anybody.
    private func names(_ key: String) -> Bool {
        if key == "public" || key == "users" { return true }
        if key.hasPrefix("user:") { return users.contains(String(key.dropFirst(5))) }
        if key.hasPrefix("role:") { return roles.contains(String(key.dropFirst(5))) }
        return false
    }
}
