/// Whether a save may change the schema.
package enum SchemaMode: Hashable, Sendable {
    /// Types and fields are created when a record is first saved with them.
    case development
    /// The schema changes through `schema:*` actions and psql only; a save that requires a change is refused with 114.
    case production
}
