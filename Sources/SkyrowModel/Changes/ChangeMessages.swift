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
    /// From where a client goes on.
    package enum Position: Hashable, Sendable {
        /// It has nothing.
        case start
        /// It has all up to a change token.
        case since(String)
        /// It is inside of a pass.
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
    /// For how long to wait for the first change.
    package var wait: Duration?
    /// What the client holds; nil where that is not said.
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

/// Why a change token leads no further.
package enum ChangeReset: String, Hashable, Sendable, CaseIterable {
    /// It is older than deletions are kept.
    case expired
    /// The caller may read something else than before.
    case access
    /// The type has another form: a field was renamed, deleted, retyped or filled.
    case schema
    /// The database was restored, or another server has taken its place.
    case branch
}

/// The result of `changes:fetch`.
package struct ChangesResult: Sendable {
    /// Records as they are now, to be put in the place of what the client has.
    package var changed: [any RecordSource]
    /// The ids of records that the client is to drop, `"note/7"`, before it takes what has changed.
    package var removed: [String]
    /// From where the client goes on when the pass is over.
    package var token: String?
    /// From where it goes on inside of the pass.
    package var cursor: String?
    package var reset: ChangeReset?
    /// The moment that the pass began at; nil on its later pages.
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

    /// Whether the client learns nothing but its new token.
    package var isEmpty: Bool { changed.isEmpty && removed.isEmpty && cursor == nil && reset == nil }
}

/// A page of `changes:compare`.
package struct ComparedRecords: Sendable {
    /// A record that matches and may be read.
    package struct Pair: Hashable, Sendable {
        /// Without its type.
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
