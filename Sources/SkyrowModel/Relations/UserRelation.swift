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
