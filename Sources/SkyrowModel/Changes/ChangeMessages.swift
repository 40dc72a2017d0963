/// The records that a client of the change feed keeps: those of a type that match a predicate.
package struct ChangeQuery: Hashable, Sendable {
    package var type: RecordTypeName
    /// nil for all records of the type.
    package var predicate: RecordPredicate?
    /// The user fields to send; nil for all of them.
    package var desiredFields: [String]?

    package init(type: RecordTypeName, predicate: RecordPredicate? = nil, desiredFields: [String]? = nil) {
        self.type = type
        self.predicate = predicate
        self.desiredFields = desiredFields
    }
}

/// `changes:fetch` or `changes:compare`, decoded.
package struct ChangesRequest: Sendable {
    /// Where a client continues.
    package enum Position: Hashable, Sendable {
        /// The client has nothing.
        case start
        /// The client has everything up to a change token.
        case since(String)
        /// The client is inside a pass.
        case cursor(String)
    }

    package static let defaultLimit = 100
    package static let maximumLimit = 1000
    package static let maximumPairs = 5000
    /// In seconds.
    package static let maximumWait = 30

    package var database: DatabaseName
    package var query: ChangeQuery
    package var position: Position
    package var limit: Int
    /// How long to wait for the first change.
    package var wait: Duration?
    /// The records that the client holds; nil when it does not say.
    package var holding: HeldRecords?

    package init(
        database: DatabaseName,
        query: ChangeQuery,
        position: Position = .start,
        limit: Int = ChangesRequest.defaultLimit,
        wait: Duration? = nil,
        holding: HeldRecords? = nil
    ) {
        self.database = database
        self.query = query
        self.position = position
        self.limit = limit
        self.wait = wait
        self.holding = holding
    }
}

/// Why a change feed cannot continue from a change token.
package enum ChangeReset: String, Hashable, Sendable, CaseIterable {
    /// It is older than the deletions that are kept.
    case expired
    /// The caller's read access has changed.
    case access
    /// The form of the type has changed: a field was renamed, deleted, retyped or filled.
    case schema
    /// The database was restored, or another server has replaced it.
    case branch
}

/// The result of `changes:fetch`.
package struct ChangesResult: Sendable {
    /// Current records, which replace the client's versions.
    package var changed: [any RecordSource]
    /// The ids of records that the client drops, `"note/7"`, before it applies the changed ones.
    package var removed: [String]
    /// Where the client continues when the pass is over.
    package var token: String?
    /// Where the client continues inside the pass.
    package var cursor: String?
    package var reset: ChangeReset?
    /// The point in time at which the pass began; nil on its later pages.
    package var moment: ChangeMoment?

    package init(
        changed: [any RecordSource] = [],
        removed: [String] = [],
        token: String? = nil,
        cursor: String? = nil,
        reset: ChangeReset? = nil,
        moment: ChangeMoment? = nil
    ) {
        self.moment = moment
        self.changed = changed
        self.removed = removed
        self.token = token
        self.cursor = cursor
        self.reset = reset
    }

    /// Whether the result has nothing but a new token.
    package var isEmpty: Bool { changed.isEmpty && removed.isEmpty && cursor == nil && reset == nil }
}

/// A page of `changes:compare`.
package struct ComparedRecords: Sendable {
    /// A record that matches and may be read.
    package struct Pair: Hashable, Sendable {
        /// The id without its type.
        package let id: String
        package let revision: Int64

        package init(id: String, revision: Int64) {
            self.id = id
            self.revision = revision
        }
    }

    /// In the order of the ids.
    package var pairs: [Pair]
    package var token: String?
    package var cursor: String?
    package var reset: ChangeReset?

    package init(pairs: [Pair] = [], token: String? = nil, cursor: String? = nil, reset: ChangeReset? = nil) {
        self.pairs = pairs
        self.token = token
        self.cursor = cursor
        self.reset = reset
    }
}
