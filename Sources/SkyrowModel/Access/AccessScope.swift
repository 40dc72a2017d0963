/// The relations of users that access lists of a type name, and where they are looked up.
package struct RelationEntries: Hashable, Sendable {
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
    /// The condition on the records of the database.
    package let condition: AccessCondition
    /// The caller in the condition.
    package let audience: Audience

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
        let condition: AccessCondition =
            switch database {
            // `_union` is read-only for every caller.
            case .union: caller.isMaster && action == .read ? .always : .never
            case .user(let owner): caller.isMaster || caller.userID == owner ? .always : .never
            case .everyone: caller.isMaster ? .always : ClassRules.condition(rules, action, audience)
            }
        self.init(database: database, condition, audience)
    }

    /// - Parameter audience: the caller in the condition.
    package init(database: DatabaseScope, _ condition: AccessCondition, _ audience: Audience = .anonymous) {
        self.database = database
        self.condition = condition
        self.audience = audience
    }

    /// Whether the scope admits no record.
    package var isEmpty: Bool { condition.isNever }

    /// The user whose relations to owners the scope depends on; nil if it depends on none.
    package var relatedUser: UserID? {
        let asksRelations = condition.terms.joined().contains { if case .related = $0 { true } else { false } }
        return asksRelations ? audience.user : nil
    }

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
        let user = audience.user
        return condition.holds(
            isOwner: user != nil && owner == user,
            isMember: { field in user.map { isMember(field, $0) } ?? false },
            isUnlisted: access == nil,
            isListed: { access?.admits(audience, $0) ?? false },
            isRelated: { action, known in
                guard let user, let owner, let access else { return false }
                return access.entries.contains { entry in
                    guard entry.level.allows(action), case .relation(let relation) = entry.subject else { return false }
                    return known.relations.contains(relation) && isRelated(user, relation, owner)
                }
            }
        )
    }
}
