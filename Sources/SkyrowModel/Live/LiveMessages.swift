/// `live:subscribe`, decoded.
package struct LiveSubscribeRequest: Hashable, Sendable {
    /// The old values that are sent with a change.
    package enum PreviousValues: Hashable, Sendable {
        case none
        case all
        /// The old values of these fields.
        case fields([String])
    }

    /// Upper bound on the bytes of a subscription's name.
    package static let nameBytes = 64

    /// The client's name for the subscription, 1 to 64 bytes.
    package var name: String
    package var database: DatabaseName
    package var type: RecordTypeName
    package var predicate: RecordPredicate?
    /// The user fields of the sent records; nil for all.
    package var desiredFields: [String]?
    /// The events to send.
    package var events: Set<LiveEventKind>
    /// The fields whose changes count as `updated`; nil for all.
    package var watched: [String]?
    package var previous: PreviousValues
    /// Whether to send the records that match at the start; ignored when ``since`` is given.
    package var sendsInitial: Bool
    /// The change token from which the subscription continues, as it was sent.
    package var since: String?

    package init(
        name: String,
        database: DatabaseName = .everyone,
        type: RecordTypeName,
        predicate: RecordPredicate? = nil,
        desiredFields: [String]? = nil,
        events: Set<LiveEventKind> = LiveEventKind.all,
        watched: [String]? = nil,
        previous: PreviousValues = .none,
        sendsInitial: Bool = false,
        since: String? = nil
    ) {
        self.name = name
        self.database = database
        self.type = type
        self.predicate = predicate
        self.desiredFields = desiredFields
        self.events = events
        self.watched = watched
        self.previous = previous
        self.sendsInitial = sendsInitial
        self.since = since
    }
}

/// `live:watch`, decoded.
package struct LiveWatchRequest: Sendable {
    /// The query that is run again when something has changed.
    package enum Subject: Hashable, Sendable {
        /// `record:query`
        case records(RecordQuery)
        /// `record:aggregate`
        case groups(AggregateQuery)

        /// The type of the queried records.
        package var type: RecordTypeName {
            switch self {
            case .records(let query): query.type
            case .groups(let query): query.type
            }
        }
    }

    /// The client's name for the subscription, 1 to 64 bytes.
    package var name: String
    package var database: DatabaseName
    package var subject: Subject

    package init(name: String, database: DatabaseName = .everyone, _ subject: Subject) {
        self.name = name
        self.database = database
        self.subject = subject
    }
}

/// The source of changes.
package enum LiveSourceName: String, Hashable, Sendable, CaseIterable {
    /// PostgreSQL streams them.
    case logical
    /// The service polls for them.
    case polling
}

/// The result of `live:subscribe`.
package struct LiveSubscribed: Hashable, Sendable {
    package let name: String
    package let source: LiveSourceName

    package init(name: String, source: LiveSourceName) {
        self.name = name
        self.source = source
    }
}
