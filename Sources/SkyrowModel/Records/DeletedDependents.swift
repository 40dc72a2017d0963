/// The records that were deleted with another one, because their references to it have the rule ``DeleteRule/cascade``.
public struct DeletedDependents: Hashable, Sendable {
    /// The records that the caller may read, in the order of their ids.
    public var ids: [RecordID]
    /// The number of other records.
    public var hidden: Int

    public static let none = DeletedDependents()

    public init(ids: [RecordID] = [], hidden: Int = 0) {
        self.ids = ids
        self.hidden = hidden
    }
}
