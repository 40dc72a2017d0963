/// `live:subscribe`, decoded.
package struct LiveSubscribeRequest: Hashable, Sendable {
    /// Which old values come along with a change.
    package enum PreviousValues: Hashable, Sendable {
        case none
        case all
        /// Those of these fields.
        case fields([String])
    }

    /// The longest name of a subscription in bytes.
    package static let nameBytes = 64

    /// The client's name for the subscription, 1 to 64 bytes.
    package var name: String
    package var database: DatabaseName
    package var type: RecordTypeName
    package var predicate: RecordPredicate?
    /// The user fields that records come with; nil for all.
    package var desiredFields: [String]?
    /// The events that are sent.
    package var events: Set<LiveEventKind>
    /// The fields whose changes count as `updated`; nil for all.
    package var watched: [String]?
    package var previous: PreviousValues
    /// Whether the records that match at the beginning are sent; without meaning where ``since`` is given.
    package var sendsInitial: Bool
    /// The change token from which the subscription goes on, as it was sent.
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
    /// What is asked again when something has changed.
    package enum Subject: Hashable, Sendable {
        /// `record:query`
        case records(RecordQuery)
        /// `record:aggregate`
        case groups(AggregateQuery)

        /// The type of the records that it is about.
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

/// Where changes come from.
package enum LiveSourceName: String, Hashable, Sendable, CaseIterable {
    /// PostgreSQL streams them.
    case logical
    /// They are asked for.
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
