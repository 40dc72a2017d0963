/// What happens to a record when the target of one of its references is deleted.
///
/// It is the action of the column's foreign key, and holds within one database: references from private databases to public
/// records always become null.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
    /// The target cannot be deleted.
    case restrict
    /// The reference becomes null.
    case setNull = "set_null"
    /// The record is deleted as well.
    case cascade
}
