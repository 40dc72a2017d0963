/// The result of an action on relations.
package enum RelationResult: Sendable {
    /// `relation:add`, `relation:remove`, `relation:block`
    case outcomes([RelationOutcome])
    /// `relation:query`, `relation:requests`
    case page(RelationPage)
}
