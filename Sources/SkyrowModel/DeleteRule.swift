/// What becomes of a record when the record that one of its references leads to is deleted.
///
/// It is the action of the column's foreign key, and holds within one database: references from private databases to public
/// records become null, whatever the rule.
public enum DeleteRule: String, Hashable, Sendable, CaseIterable {
    /// The record that is referred to cannot be deleted.
    case restrict
    /// The reference becomes null.
    case setNull = "set_null"
    /// The record is deleted as well.
    case cascade
}
