/// One way in which a record admits a caller; a scope is open when any of its clauses holds.
public enum AccessClause: Hashable, Sendable {
    /// Every record of the database.
    case everything
    /// Records without a list of their own, which everyone may read by default.
    case unlisted
    /// Records owned by this user.
    case owner(UserID)
    /// Records whose list has an entry that means one of this audience, with one of these levels.
    case listed(AccessAudience, levels: [AccessLevel])
}

/// The subjects of access entries that mean one caller.
public struct AccessAudience: Hashable, Sendable {
    public let user: UserID?
    public let roles: [RoleName]

    public init(user: UserID?, roles: [RoleName]) {
        self.user = user
        self.roles = roles
    }

    /// Whether an entry about this subject is about the audience.
    ///
    /// The owner's free pass is a clause of its own, so an `owner` entry adds nothing here.
    public func includes(_ subject: AccessSubject) -> Bool {
        switch subject {
        case .everyone: true
        case .owner: false
        case .user(let id): user == id
        case .role(let name): roles.contains(name)
        }
    }
}

/// Which records of a database a caller may read or write, the one definition of the policy (Documentation/Concepts.md, "Access").
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

    private init(database: DatabaseScope, clauses: [AccessClause]) {
        self.database = database
        self.clauses = clauses
    }

    /// No record of a database.
    package static func nothing(in database: DatabaseScope) -> AccessScope {
        AccessScope(database: database, clauses: [])
    }

    /// Made once, since most requests to a private database and all of the master key have it.
    private static let everyRecord: [AccessClause] = [.everything]

    private static func clauses(caller: Caller, level: AccessLevel, database: DatabaseScope) -> [AccessClause] {
        if caller.isMaster {
            // `_union` is for reading only, for every caller.
            return database == .union && level == .write ? [] : everyRecord
        }
        let audience = AccessAudience(user: caller.userID, roles: caller.roles)
        switch database {
        case .union:
            return []
        case .user(let owner):
            return caller.userID == owner ? everyRecord : []
        case .everyone:
            switch level {
            case .read:
                var clauses: [AccessClause] = [.unlisted]
                if let user = caller.userID { clauses.append(.owner(user)) }
                clauses.append(.listed(audience, levels: [.read, .write]))
                return clauses
            case .write:
                // Public write means every logged-in user, as in Skygear.
                guard let user = caller.userID else { return [] }
                return [.owner(user), .listed(audience, levels: [.write])]
            }
        }
    }

    /// Judges one record in memory.
    public func admits(database: DatabaseScope, owner: UserID?, access: AccessList?) -> Bool {
        guard self.database == .union || self.database == database else { return false }
        return clauses.contains { clause in
            switch clause {
            case .everything: true
            case .unlisted: access == nil
            case .owner(let user): owner == user
            case .listed(let audience, let levels):
                access.map { list in
                    list.entries.contains { levels.contains($0.level) && audience.includes($0.subject) }
                } ?? false
            }
        }
    }
}
