/// `auth:merge`, decoded.
package struct MergeRequest: Sendable {
    /// The access token of the anonymous account.
    package var token: String

    package init(token: String) {
        self.token = token
    }
}

/// What the merge of an anonymous account into another one has done so far.
package struct MergeReport: Hashable, Sendable {
    /// A private record that has another id now, or lacks values that are unique.
    package struct Change: Hashable, Sendable {
        package var from: RecordID
        package var to: RecordID
        /// The fields that became null, since another record of the private database has their values.
        package var cleared: [String]

        package init(from: RecordID, to: RecordID, cleared: [String] = []) {
            self.from = from
            self.to = to
            self.cleared = cleared
        }
    }

    /// The most records that a report names as changed.
    package static let maximumChanges = 1000

    /// Whether everything has moved; otherwise the service goes on by itself.
    package var isFinished: Bool
    /// How many records have another owner or another database now.
    package var records: Int
    package var changes: [Change]

    package init(isFinished: Bool, records: Int, changes: [Change] = []) {
        self.isFinished = isFinished
        self.records = records
        self.changes = changes
    }
}
