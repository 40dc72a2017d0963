/// A condition under which a record admits a caller; one clause of a scope is enough.
public enum AccessClause: Hashable, Sendable {
    /// Every record of the database.
    case everything
    /// Records without an access list, which everyone may read by default.
    case unlisted
    /// Records owned by this user.
    case owner(UserID)
    /// Records owned by this user that have an access list.
    case listedOwner(UserID)
    /// Records whose access list has an entry about this audience, with a level that allows the action.
    case listed(Audience, AccessAction)
    /// Records of which this field, which a rule of the type names, contains the id of this user.
    case member(MemberField, UserID)
    /// The same, but only records without an access list.
    case unlistedMember(MemberField, UserID)
    /// Records whose access list has an entry about a relation of this user to the owner, with a level that allows the action.
    case related(UserID, AccessAction, RelationEntries)
}

/// The relations of users that access lists of a type name, and where they are looked up.
public struct RelationEntries: Hashable, Sendable {
    /// The PostgreSQL schema of the tables of relations.
    package let schema: String
    /// In declaration order; at least one.
    package let relations: [Subject.Relation]

    /// nil without relations.
    package init?(_ relations: Set<Subject.Relation>, in schema: String) {
        guard !relations.isEmpty else { return nil }
        self.relations = Subject.Relation.allCases.filter { relations.contains($0) }
        self.schema = schema
    }
}

/// The records of a database that a caller may read, update or delete: the one definition of the policy
/// (Documentation/Concepts.md, "Access").
///
/// It has two interpreters, `admits(database:owner:access:)` here and the SQL condition in `SkyrowStore`; a seeded test
/// verifies that they agree.
///
/// ```swift
/// let scope = AccessScope(caller: caller, action: .update, database: .everyone)
/// ```
public struct AccessScope: Hashable, Sendable {
    public let database: DatabaseScope
    /// Joined by "or"; without clauses no record is admitted.
    public let clauses: [AccessClause]
    /// Further terms that must hold, by one clause each, as rules of the type require. Most scopes have no such terms.
    public let others: [[AccessClause]]

    public init(caller: Caller, action: AccessAction, database: DatabaseScope) {
        self.init(caller: caller, audience: Audience(of: caller), action: action, database: database)
    }

    /// - Parameters:
    ///   - audience: the caller's audience.
    ///   - rules: those of the record type; nil for the standard ones. They do not apply to the master key and in private
    ///     databases.
    package init(
        caller: Caller,
        audience: Audience,
        action: AccessAction,
        database: DatabaseScope,
        rules: ClassRules? = nil
    ) {
        guard let rules, !caller.isMaster, case .everyone = database else {
            self.init(
                database: database,
                clauses: AccessScope.clauses(caller: caller, audience: audience, action: action, database: database)
            )
            return
        }
        if rules.areOfRoles {
            self.init(
                database: database,
                clauses: AccessScope.roles(caller: caller, audience: audience, action: action)
            )
            return
        }
        let terms = rules.terms(action, audience)
        self.init(database: database, clauses: terms.first ?? [], others: Array(terms.dropFirst()))
    }

    init(database: DatabaseScope, clauses: [AccessClause], others: [[AccessClause]] = []) {
        self.database = database
        self.clauses = clauses
        self.others = others
    }

    /// No record of a database.
    package static func nothing(in database: DatabaseScope) -> AccessScope {
        AccessScope(database: database, clauses: [])
    }

    /// Every record of a database.
    package static func everything(in database: DatabaseScope) -> AccessScope {
        AccessScope(database: database, clauses: everyRecord)
    }

    /// Shared, since most requests to a private database and all of the master key use it.
    private static let everyRecord: [AccessClause] = [.everything]

    private static func clauses(
        caller: Caller,
        audience: Audience,
        action: AccessAction,
        database: DatabaseScope
    ) -> [AccessClause] {
        if caller.isMaster {
            // `_union` is read-only for every caller.
            return database == .union && action != .read ? [] : everyRecord
        }
        switch database {
        case .union:
            return []
        case .user(let owner):
            return caller.userID == owner ? everyRecord : []
        case .everyone:
            switch action {
            case .read:
                var clauses: [AccessClause] = [.unlisted]
                if let user = caller.userID { clauses.append(.owner(user)) }
                clauses.append(.listed(audience, .read))
                return clauses
            case .update, .delete:
                // Every logged-in user may write what the public may write, as in Skygear.
                guard let user = caller.userID else { return [] }
                return [.owner(user), .listed(audience, action)]
            }
        }
    }

    /// Returns the clauses for the roles that a caller reads, in agreement with ``RoleStanding/allows(_:by:)``: only
    /// administrators read a role without an access list, and every level of a list includes reading.
    private static func roles(caller: Caller, audience: Audience, action: AccessAction) -> [AccessClause] {
        guard action == .read else { return [] }
        if caller.isAdministrator { return everyRecord }
        var clauses: [AccessClause] = []
        if let user = caller.userID { clauses.append(.listedOwner(user)) }
        clauses.append(.listed(audience, .read))
        return clauses
    }

    /// Whether the scope admits no record.
    package var isEmpty: Bool { clauses.isEmpty }

    /// Decides whether one record of a type without rules is admitted, in memory.
    public func admits(database: DatabaseScope, owner: UserID?, access: AccessList?) -> Bool {
        admits(database: database, owner: owner, access: access, isMember: { _, _ in false })
    }

    /// Decides whether one record is admitted, in memory.
    ///
    /// - Parameters:
    ///   - isMember: whether a field of the record contains the id of a user.
    ///   - isRelated: whether a user has a relation to the owner of the record.
    package func admits(
        database: DatabaseScope,
        owner: UserID?,
        access: AccessList?,
        isMember: (MemberField, UserID) -> Bool,
        isRelated: (UserID, Subject.Relation, _ owner: UserID) -> Bool = { _, _, _ in false }
    ) -> Bool {
        guard self.database == .union || self.database == database else { return false }
        func holds(_ clause: AccessClause) -> Bool {
            switch clause {
            case .everything: true
            case .unlisted: access == nil
            case .owner(let user): owner == user
            case .listedOwner(let user): owner == user && access != nil
            case .listed(let audience, let action): access?.admits(audience, action) ?? false
            case .member(let field, let user): isMember(field, user)
            case .unlistedMember(let field, let user): access == nil && isMember(field, user)
            case .related(let user, let action, let known):
                access?.entries.contains { entry in
                    guard entry.level.allows(action), case .relation(let relation) = entry.subject, let owner else {
                        return false
                    }
                    return known.relations.contains(relation) && isRelated(user, relation, owner)
                } ?? false
            }
        }
        return clauses.contains(where: holds) && others.allSatisfy { $0.contains(where: holds) }
    }
}
