/// The result of merging an anonymous account into another one so far.
public struct MergeReport: Hashable, Sendable {
    /// A private record whose id changed, or that lost unique values.
    public struct Change: Hashable, Sendable {
        public var from: RecordID
        public var to: RecordID
        /// The fields that became null, since another record of the private database has their values.
        public var clearedFields: [String]

        package init(from: RecordID, to: RecordID, clearedFields: [String] = []) {
            self.from = from
            self.to = to
            self.clearedFields = clearedFields
        }
    }

    /// Upper bound on the changed records that a report names.
    package static let maximumChanges = 1000

    /// Whether everything has moved; otherwise the service completes the merge by itself.
    public var isFinished: Bool
    /// The number of records with a new owner or database.
    public var records: Int
    /// The changed private records, at most 1,000 of them.
    public var changes: [Change]

    package init(isFinished: Bool, records: Int, changes: [Change] = []) {
        self.isFinished = isFinished
        self.records = records
        self.changes = changes
    }
}
