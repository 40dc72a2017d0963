package import SkyrowModel

/// A relation between a user and another one.
package struct ResolvedUserRelation: Hashable, Sendable {
    /// The user whose relations count.
    package let user: UserID
    package let relation: UserRelation
    package let direction: RelationDirection
}
