package import SkyrowModel

/// What another user is to one.
package struct ResolvedUserRelation: Hashable, Sendable {
    /// Whose relations are asked for.
    package let user: UserID
    package let relation: UserRelation
    package let direction: RelationDirection
}
