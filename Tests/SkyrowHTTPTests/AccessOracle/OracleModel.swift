// The rules of access to records, written down a second time from the table of precedence and not from the service. Nothing of
// the service is imported here, not even its words for things.

/// Who asks.
struct OracleCaller: Hashable {
    var user: String?
    /// Those that were given to the user.
    var roles: Set<String> = []
    var groups: Set<String> = []
    /// The name of the key that comes along, if it has one.
    var keyName: String?
    /// Whether the account is anonymous.
    var isAnonymous = false
    /// Whether the address of the account was proved.
    var isVerified = false
    var isMaster = false
    /// What the key that comes along is limited to; nil where it is not.
    var scopes: OracleScopes?
}

/// What a key is limited to.
struct OracleScopes: Hashable {
    var types: Set<String>
    var mayWrite = true
    /// Whether it passes the rules of the public records of these types.
    var isServer = false
}

/// A file as psql shows it.
struct OracleFile {
    var name: String
    var uploader: String?
}

/// A record as psql shows it.
struct OracleRecord {
    var id: String
    /// `_public`, or the user whose private database it is in.
    var database = "_public"
    var owner: String?
    /// Levels by subject keys; nil where the record has no list.
    var list: [String: String]?
    /// The users in its field `members`.
    var members: Set<String> = []
    /// The names of files in its fields, by the names of the fields.
    var files: [String: String] = [:]
}

/// The rule of a type about one action.
struct OracleRule {
    /// Subject keys.
    var allow: Set<String>
    /// `default`, `require` or `override`
    var mode = "default"
}

/// The rules of a field: subject keys, nil where the field is as open as its record.
struct OracleFieldRule {
    var create: Set<String>?
    var read: Set<String>?
    var update: Set<String>?
    /// Who asks anything about it, and who asks whether it has a value that they know; nil as `read`.
    var compare: Set<String>?
    var discover: Set<String>?

    /// What holds of a field, of rules of the nearest place on: for each use those of the first place that says something of it. One that
    /// says who reads says who asks.
    init(places: [OracleFieldRule]) {
        create = places.lazy.compactMap(\.create).first
        read = places.lazy.compactMap(\.read).first
        update = places.lazy.compactMap(\.update).first
        for place in places {
            if place.compare != nil || place.read != nil {
                compare = place.compare
                break
            }
        }
        for place in places {
            if place.discover != nil || place.read != nil {
                discover = place.discover
                break
            }
        }
    }

    init(
        create: Set<String>? = nil,
        read: Set<String>? = nil,
        update: Set<String>? = nil,
        compare: Set<String>? = nil,
        discover: Set<String>? = nil
    ) {
        self.create = create
        self.read = read
        self.update = update
        self.compare = compare
        self.discover = discover
    }
}

/// What a query does with a field.
enum OracleQuestion {
    /// It names a value and finds the records that have it.
    case known
    /// It asks anything else.
    case any
    /// It asks, and what comes of the values is sent.
    case computed
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

/// What one user has done about another one.
struct OracleEdge: Hashable {
    var from: String
    var to: String
}

/// The subjects of callers, whose roles and groups do not change.
private final class FoundSubjects {
    /// What distinguishes callers. Their roles would take longer to compare than the decision about a record.
    struct Name: Hashable {
        let user: String?
        let key: String?
    }

    var byName: [Name: Set<String>] = [:]
}

/// Decides as the table says, of the users, roles and relations that there are.
struct AccessOracle {
    /// The users and roles that there are.
    var users: Set<String>
    var roles: Set<String>
    /// The groups that someone carries.
    var groups: Set<String> = []
    /// The names of the keys that there are.
    var keys: Set<String> = []
    /// Which roles are put into which: the users of the first count as users of the second.
    var nesting: [(inner: String, outer: String)] = []
    /// Who has added whom as a friend, and who follows whom.
    var friends: Set<OracleEdge> = []
    var follows: Set<OracleEdge> = []
    /// The rules that the type has.
    var rules: [OracleAction: OracleRule] = [:]
    /// Who sees whole lists, of those who read: `owner`, `update` or `read`.
    var listReaders = "owner"
    /// What ``subjects(_:)`` has found, since it is asked for each record.
    private let found = FoundSubjects()

    /// The roles given to a user, and those that they count as.
    private func held(_ given: Set<String>) -> Set<String> {
        var held = given
        while true {
            let further = nesting.filter { held.contains($0.inner) && !held.contains($0.outer) }
            if further.isEmpty { return held }
            for step in further { held.insert(step.outer) }
        }
    }

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
        if caller.user == nil, action != .read { return OracleDecision(row: 4, answer: .logIn) }
        let read = judge(caller, .read, record)
        // Whatever a rule about writing says, a record that cannot be read is missing.
        guard read.holds else { return OracleDecision(row: read.row, answer: .missing) }
        if action == .read { return OracleDecision(row: read.row, answer: .yes) }
        let write = judge(caller, action, record)
        return OracleDecision(row: write.row == 13 ? 15 : write.row, answer: write.holds ? .yes : .denied)
    }

    /// What a caller who reads a record is shown of its list, levels by subject keys; nil where there is none. What means no one is not
    /// shown at all.
    func shownList(_ caller: OracleCaller, _ record: OracleRecord) -> [String: String]? {
        guard let list = record.list?.filter({ means($0.key) }) else { return nil }
        return seesList(caller, record) ? list : list.filter { !$0.key.contains(":") }
    }

    private func seesList(_ caller: OracleCaller, _ record: OracleRecord) -> Bool {
        if caller.isMaster || record.database != "_public" || listReaders == "read" { return true }
        guard caller.user != nil else { return false }
        if listReaders == "owner" { return caller.user == record.owner }
        // Friends and followers may change the record without seeing its list.
        var unrelated = self
        unrelated.friends = []
        unrelated.follows = []
        return unrelated.judge(caller, .update, record).holds
    }

    /// Whether a key is of a kind that there is.
    private func means(_ key: String) -> Bool {
        if ["public", "users", "registered", "verified", "owner"].contains(key) { return true }
        if ["relation:friend", "relation:follower", "relation:followed"].contains(key) { return true }
        return ["user:", "role:", "group:", "key:"].contains { key.hasPrefix($0) }
    }

    /// Whom a caller is, whatever the record.
    private func subjects(_ caller: OracleCaller) -> Set<String> {
        let name = FoundSubjects.Name(user: caller.user, key: caller.keyName)
        if let known = found.byName[name] { return known }
        let subjects = findSubjects(caller)
        found.byName[name] = subjects
        return subjects
    }

    private func findSubjects(_ caller: OracleCaller) -> Set<String> {
        var subjects: Set<String> = ["public"]
        if let name = caller.keyName { subjects.insert("key:\(name)") }
        if let user = caller.user {
            subjects.formUnion(["users", "user:\(user)"])
            if !caller.isAnonymous { subjects.insert("registered") }
            if caller.isVerified { subjects.insert("verified") }
            subjects.formUnion(held(caller.roles).map { "role:\($0)" })
            subjects.formUnion(caller.groups.map { "group:\($0)" })
        }
        return subjects
    }

    /// Whether the rule of a field allows it to a caller in a record that is open to it.
    func allows(_ allow: Set<String>?, _ caller: OracleCaller, _ record: OracleRecord) -> Bool {
        guard let allow, !caller.isMaster else { return true }
        if !allow.isDisjoint(with: subjects(caller)) { return true }
        guard let user = caller.user else { return false }
        return allow.contains("owner") && user == record.owner
            || allow.contains("field:members") && record.members.contains(user)
    }

    /// Whether a caller sees a field of a record, in the public database or in their own.
    func shows(_ record: OracleRecord, of type: String, _ rule: OracleFieldRule?, to caller: OracleCaller) -> Bool {
        if let scopes = caller.scopes {
            guard scopes.types.contains(type) else { return false }
            if scopes.isServer { return record.database == "_public" }
        }
        return decide(caller, .read, record, in: record.database).answer == .yes
            && allows(rule?.read, caller, record)
    }

    /// Whether there may be a record in which a rule allows a field to a caller.
    func mayAllow(_ allow: Set<String>?, _ caller: OracleCaller) -> Bool {
        guard let allow, !caller.isMaster else { return true }
        let ofRecords: Set<String> = ["owner", "field:members"]
        return !allow.isDisjoint(with: subjects(caller)) || caller.user != nil && !allow.isDisjoint(with: ofRecords)
    }

    /// Whether a query may ask about a field in a record that is open to its caller.
    func asks(_ rule: OracleFieldRule, _ question: OracleQuestion, _ caller: OracleCaller, _ record: OracleRecord)
        -> Bool
    {
        let compares = allows(rule.compare ?? rule.read, caller, record)
        return switch question {
        case .known: compares || allows(rule.discover ?? rule.read, caller, record)
        case .any: compares
        case .computed: compares && allows(rule.read, caller, record)
        }
    }

    /// Whether there may be such a record.
    func mayAsk(_ rule: OracleFieldRule, _ question: OracleQuestion, _ caller: OracleCaller) -> Bool {
        let compares = mayAllow(rule.compare ?? rule.read, caller)
        return switch question {
        case .known: compares || mayAllow(rule.discover ?? rule.read, caller)
        case .any: compares
        case .computed: compares && mayAllow(rule.read, caller)
        }
    }

    /// The rows from 5 on, the first that applies.
    private func judge(_ caller: OracleCaller, _ action: OracleAction, _ record: OracleRecord) -> (
        row: Int, holds: Bool
    ) {
        let standard = OracleRule(allow: action == .read ? ["public"] : ["owner"])
        let rule = rules[action] ?? standard
        var subjects = subjects(caller)
        if let user = caller.user, let owner = record.owner {
            let (there, back) = (OracleEdge(from: user, to: owner), OracleEdge(from: owner, to: user))
            if friends.contains(there), friends.contains(back) { subjects.insert("relation:friend") }
            if follows.contains(there) { subjects.insert("relation:follower") }
            if follows.contains(back) { subjects.insert("relation:followed") }
        }
        let isOwner = caller.user != nil && record.owner == caller.user
        let isMember = caller.user.map { record.members.contains($0) } ?? false
        let matches =
            !rule.allow.isDisjoint(with: subjects) || isOwner && rule.allow.contains("owner")
            || isMember && rule.allow.contains("field:members")
        // 5: not allowed to anybody.
        if rule.allow.isEmpty { return (5, false) }
        // 6 and 7: the rule alone.
        if rule.mode == "override" { return matches ? (6, true) : (7, false) }
        // 8: the rule besides the list.
        if rule.mode == "require", !matches { return (8, false) }
        // Of one who is not logged in the table has one row, 4, for what is left.
        func row(_ number: Int) -> Int { caller.user == nil && rules[action] == nil ? 4 : number }
        // 9: the owner.
        if isOwner { return (9, true) }
        // 10 and 11: no list.
        guard let list = record.list else { return rule.mode == "require" ? (11, true) : (row(10), matches) }
        let enough: Set<String> =
            switch action {
            case .read: ["read", "update", "delete", "write"]
            case .update: ["update", "write"]
            case .delete: ["delete", "write"]
            }
        let granting = list.filter { subjects.contains($0.key) && enough.contains($0.value) }.map(\.key)
        // 14: a public entry for writing, which means users.
        if action != .read, granting == ["public"] { return (14, true) }
        // 12: an entry.
        if !granting.isEmpty { return (row(12), true) }
        // 13: nobody is named.
        if !list.keys.contains(where: names) { return (row(13), false) }
        // 15: none of these.
        return (row(15), false)
    }

    /// Whether a key names anybody.
    private func names(_ key: String) -> Bool {
        if ["public", "users", "registered", "verified"].contains(key) { return true }
        if key.hasPrefix("user:") { return users.contains(String(key.dropFirst(5))) }
        if ["relation:friend", "relation:follower", "relation:followed"].contains(key) { return true }
        if key.hasPrefix("group:") { return groups.contains(String(key.dropFirst(6))) }
        if key.hasPrefix("key:") { return keys.contains(String(key.dropFirst(4))) }
        if key.hasPrefix("role:") { return roles.contains(String(key.dropFirst(5))) }
        return false
    }
}
