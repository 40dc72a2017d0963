/// One way in which a record admits a caller; a scope is open when any of its clauses holds.
public enum AccessClause: Hashable, Sendable {
    /// Every record of the database.
    case everything
    /// Records without a list of their own, which everyone may read by default.
    case unlisted
    /// Records owned by this user.
    case owner(UserID)
    /// Those of them that have a list of their own.
    case listedOwner(UserID)
    /// Records whose list has an entry about this audience, with a level that allows the action.
    case listed(Audience, AccessAction)
    /// Records in whose field this user stands, as a rule of the type names it.
    case member(MemberField, UserID)
    /// Those of them without a list of their own.
    case unlistedMember(MemberField, UserID)
    /// Records whose list has an entry about what this user is to the owner, with a level that allows the action.
    case related(UserID, AccessAction, RelationEntries)
}

/// The relations of users that lists of a type name, and where they are looked up.
public struct RelationEntries: Hashable, Sendable {
    /// The schema that has the relations of users.
    package let schema: String
    /// In the order of their declaration; at least one.
    package let relations: [Subject.Relation]

    /// nil where none is named.
    package init?(_ relations: Set<Subject.Relation>, in schema: String) {
        guard !relations.isEmpty else { return nil }
        self.relations = Subject.Relation.allCases.filter { relations.contains($0) }
        self.schema = schema
    }
}

/// Which records of a database a caller may read, update or delete, the one definition of the policy
/// (Documentation/Concepts.md, "Access").
///
/// Two interpreters read it, `admits(database:owner:access:)` here and the SQL condition in `SkyrowStore`; a seeded test
/// holds them to each other.
///
/// ```swift
/// let scope = AccessScope(caller: caller, action: .update, database: .everyone)
/// ```
public struct AccessScope: Hashable, Sendable {
    public let database: DatabaseScope
    /// Joined by "or"; none of them means that nothing is admitted.
    public let clauses: [AccessClause]
    /// What must hold besides, one clause of each: as rules of the type demand it. Most scopes have none.
    public let others: [[AccessClause]]

    public init(caller: Caller, action: AccessAction, database: DatabaseScope) {
        self.init(caller: caller, audience: Audience(of: caller), action: action, database: database)
    }

    /// - Parameters:
    ///   - audience: the caller's, made before.
    ///   - rules: those of the record type; nil for the standard ones. They mean nothing to the master key and in private
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

    /// Made once, since most requests to a private database and all of the master key have it.
    private static let everyRecord: [AccessClause] = [.everything]

    private static func clauses(
        caller: Caller,
        audience: Audience,
        action: AccessAction,
        database: DatabaseScope
    ) -> [AccessClause] {
        if caller.isMaster {
            // `_union` is for reading only, for every caller.
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
                // What the public may write, every logged-in user may, as in Skygear.
                guard let user = caller.userID else { return [] }
                return [.owner(user), .listed(audience, action)]
            }
        }
    }

    /// Which roles a caller reads, as ``RoleStanding/allows(_:by:)`` says of one of them: a role without a list is for
    /// administrators alone, and every level of a list includes reading.
    private static func roles(caller: Caller, audience: Audience, action: AccessAction) -> [AccessClause] {
        guard action == .read else { return [] }
        if caller.isAdministrator { return everyRecord }
        var clauses: [AccessClause] = []
        if let user = caller.userID { clauses.append(.listedOwner(user)) }
        clauses.append(.listed(audience, .read))
        return clauses
    }

    /// Whether it admits no record at all.
    package var isEmpty: Bool { clauses.isEmpty }

    /// Judges one record in memory, of a type without rules.
    public func admits(database: DatabaseScope, owner: UserID?, access: AccessList?) -> Bool {
        admits(database: database, owner: owner, access: access, isMember: { _, _ in false })
    }

    /// Judges one record in memory.
    ///
    /// - Parameters:
    ///   - isMember: whether the id of a user stands in a field of the record.
    ///   - isRelated: whether a user is something to the owner of the record.
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
