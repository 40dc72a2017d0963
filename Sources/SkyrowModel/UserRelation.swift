/// A relation that one user establishes to another.
public enum UserRelation: String, Hashable, Sendable, CaseIterable {
    /// A friend, once the other user has added this one too; until then a request.
    case friend
    case follow
    /// Blocked: neither user can add the other.
    case block
}

/// Which of the two users has established a relation.
public enum RelationDirection: String, Hashable, Sendable, CaseIterable {
    /// Users whom the caller has added.
    case outward
    /// Users who have added the caller.
    case inward
    /// Both.
    case mutual
}

/// Whom users may add.
package enum RelationAudience: String, Hashable, Sendable, CaseIterable {
    /// Users whose profile the adding user may read.
    case readable
    case everyone
}

/// `relation:add` and `relation:remove`, decoded.
package struct RelationChangeRequest: Hashable, Sendable {
    package static let maximumTargets = 1000

    package var relation: UserRelation
    package var targets: [UserID]

    package init(_ relation: UserRelation, _ targets: [UserID]) {
        self.relation = relation
        self.targets = targets
    }
}

/// `relation:block`, decoded.
package struct RelationBlockRequest: Hashable, Sendable {
    package var targets: [UserID]
    /// Whether to block the users, or to unblock them.
    package var isBlocked: Bool

    package init(_ targets: [UserID], isBlocked: Bool = true) {
        self.targets = targets
        self.isBlocked = isBlocked
    }
}

/// `relation:query` and `relation:requests`, decoded.
package struct RelationQuery: Hashable, Sendable {
    package var relation: UserRelation
    package var direction: RelationDirection
    /// Whether to leave out mutual relations.
    package var isPending: Bool
    package var limit: Int
    package var offset: Int

    package init(
        _ relation: UserRelation,
        _ direction: RelationDirection,
        isPending: Bool = false,
        limit: Int = PageRequest.defaultLimit,
        offset: Int = 0
    ) {
        self.relation = relation
        self.direction = direction
        self.isPending = isPending
        self.limit = limit
        self.offset = offset
    }
}

/// The outcome for one user of a request about relations.
package enum RelationOutcome: Sendable {
    /// - Parameters:
    ///   - profile: nil when the caller may not read it.
    ///   - isMutual: whether both have added each other.
    case related(UserID, profile: (any RecordSource)?, isMutual: Bool)
    /// `relation:remove`, `relation:block`
    case done(UserID)
    case failure(UserID, SkyrowError)
}

/// A page of the users of a relation.
package struct RelationPage: Sendable {
    package var users: [RelationOutcome]
    /// The total number of users.
    package var count: Int

    package init(users: [RelationOutcome], count: Int) {
        self.users = users
        self.count = count
    }
}
