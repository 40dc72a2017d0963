/// The records that were deleted with another one, whose references to it have the rule ``DeleteRule/cascade``.
public struct DeletedDependents: Hashable, Sendable {
    /// Those that the caller may read, in the order of their ids.
    public var ids: [RecordID]
    /// How many others there were.
    public var hidden: Int

    public static let none = DeletedDependents()

    public init(ids: [RecordID] = [], hidden: Int = 0) {
        self.ids = ids
        self.hidden = hidden
    }
}
