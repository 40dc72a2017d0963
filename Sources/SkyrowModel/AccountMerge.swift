/// `auth:merge`, decoded.
package struct MergeRequest: Sendable {
    /// The access token of the anonymous account.
    package var token: String

    package init(token: String) {
        self.token = token
    }
}

/// The result of merging an anonymous account into another one so far.
package struct MergeReport: Hashable, Sendable {
    /// A private record whose id changed, or that lost unique values.
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

    /// Upper bound on the changed records that a report names.
    package static let maximumChanges = 1000

    /// Whether everything has moved; otherwise the service continues by itself.
    package var isFinished: Bool
    /// The number of records with a new owner or database.
    package var records: Int
    package var changes: [Change]

    package init(isFinished: Bool, records: Int, changes: [Change] = []) {
        self.isFinished = isFinished
        self.records = records
        self.changes = changes
    }
}
