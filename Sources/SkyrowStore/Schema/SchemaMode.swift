/// Whether a save may change the schema.
package enum SchemaMode: Hashable, Sendable {
    /// Types and fields appear when they are first saved.
    case development
    /// The schema changes through `schema:*` actions and psql only; a save that takes a change is refused with 114.
    case production
}
