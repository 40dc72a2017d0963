/// One way in which a record admits a caller; a scope is open when any of its clauses holds.
public enum AccessClause: Hashable, Sendable {
    /// Every record of the database.
    case everything
    /// Records without a list of their own, which everyone may read by default.
    case unlisted
    /// Records owned by this user.
    case owner(UserID)
    /// Records whose list has one of these entries.
    case listed([AccessEntry])
}

/// Which records of a database a caller may read or write: the one place that knows the policy (design.md 4.6).
///
/// Two interpreters read it, `admits(database:owner:access:)` here and the SQL condition in `SkyrowStore`; a seeded test
/// holds them to each other.
///
/// ```swift
/// let scope = AccessScope(caller: caller, level: .write, database: .everyone)
/// ```
public struct AccessScope: Hashable, Sendable {
    public let database: DatabaseScope
    /// Joined by "or"; none of them means that nothing is admitted.
    public let clauses: [AccessClause]

    public init(caller: Caller, level: AccessLevel, database: DatabaseScope) {
        self.database = database
        clauses = AccessScope.clauses(caller: caller, level: level, database: database)
    }

    private static func clauses(caller: Caller, level: AccessLevel, database: DatabaseScope) -> [AccessClause] {
        if caller.isMaster {
            // `_union` is for reading, whoever asks.
            return database == .union && level == .write ? [] : [.everything]
        }
        switch database {
        case .union:
            return []
        case .user(let owner):
            return caller.userID == owner ? [.everything] : []
        case .everyone:
            switch level {
            case .read:
                var clauses: [AccessClause] = [.unlisted]
                if let user = caller.userID { clauses.append(.owner(user)) }
                clauses.append(.listed(entries(caller: caller, levels: [.read, .write])))
                return clauses
            case .write:
                // Public write means every logged-in user, as in Skygear.
                guard let user = caller.userID else { return [] }
                return [.owner(user), .listed(entries(caller: caller, levels: [.write]))]
            }
        }
    }

    private static func entries(caller: Caller, levels: [AccessLevel]) -> [AccessEntry] {
        var subjects: [AccessSubject] = [.everyone]
        if let user = caller.userID { subjects.append(.user(user)) }
        subjects += caller.roles.map { .role($0) }
        return subjects.flatMap { subject in levels.map { AccessEntry(subject, $0) } }
    }

    /// Judges one record in memory.
    public func admits(database: DatabaseScope, owner: UserID?, access: AccessList?) -> Bool {
        guard self.database == .union || self.database == database else { return false }
        return clauses.contains { clause in
            switch clause {
            case .everything: true
            case .unlisted: access == nil
            case .owner(let user): owner == user
            case .listed(let entries): access.map { list in list.entries.contains { entries.contains($0) } } ?? false
            }
        }
    }
}
