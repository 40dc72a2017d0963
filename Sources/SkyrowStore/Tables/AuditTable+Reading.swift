package import SkyrowModel
internal import SkyrowPostgres

/// An event of the audit log as it is stored.
package struct StoredAuditEvent: Hashable, Sendable {
    package var id: Int64
    package var time: Timestamp
    package var event: String
    /// `ok`, or the name of the error that the caller got.
    package var outcome: String
    package var userID: UserID?
    /// `user:<id>`, `key:<id>`, `master` or `operator`.
    package var actor: String?
    package var sessionID: String?
    package var keyID: String?
    package var address: String?
    package var requestID: String?
    /// A JSON object.
    package var data: String?
}

/// A filter for events of the audit log; each member that is not nil must hold.
package struct AuditFilter: Hashable, Sendable {
    package var user: UserID?
    package var key: KeyID?
    /// Any of these events; empty for all.
    package var events: [String]
    package var since: Timestamp?
    package var until: Timestamp?
    /// Whether only refusals are read.
    package var onlyRefusals: Bool
    package var limit: Int

    /// The most events that one call reads.
    package static let maximumLimit = 100_000

    package init(
        user: UserID? = nil,
        key: KeyID? = nil,
        events: [String] = [],
        since: Timestamp? = nil,
        until: Timestamp? = nil,
        onlyRefusals: Bool = false,
        limit: Int = 100
    ) {
        self.user = user
        self.key = key
        self.events = events
        self.since = since
        self.until = until
        self.onlyRefusals = onlyRefusals
        self.limit = limit
    }
}

extension AuditTable {
    /// Returns the newest events that match the filter, oldest first.
    package func events(_ filter: AuditFilter) async throws(SkyrowError) -> [StoredAuditEvent] {
        try await store.reporting {
            // Indexes find the events of a user or of a time, which one condition for all cases would prevent.
            var conditions: [SQL] = []
            if let user = filter.user { conditions.append("event.user_id = \(user)") }
            if let key = filter.key { conditions.append("event.key_id = \(key.rawValue)") }
            if !filter.events.isEmpty { conditions.append("event.event = ANY (\(filter.events))") }
            if let since = filter.since { conditions.append("event.at >= \(PostgresTimestamp(since))") }
            if let until = filter.until { conditions.append("event.at < \(PostgresTimestamp(until))") }
            if filter.onlyRefusals { conditions.append("event.outcome <> 'ok'") }
            var selected: SQL = "SELECT * FROM \(store.schema.internal)._audit AS event"
            for (place, condition) in conditions.enumerated() {
                let word: SQL = place == 0 ? " WHERE " : " AND "
                selected.append(word)
                selected.append(condition)
            }
            let result = try await store.client.read(
                """
                SELECT event.id, event.at, event.event, event.outcome, event.user_id, event.actor, event.session_id::text,
                    event.key_id, host(event.address), event.request_id, event.data::text
                FROM (\(selected) ORDER BY event.at DESC, event.id DESC LIMIT \(Int64(filter.limit))) AS event
                ORDER BY event.at, event.id
                """
            )
            return try (0..<result.rowCount).map { row in
                StoredAuditEvent(
                    id: try result.decode(row: row, column: 0),
                    time: try Timestamp(result, row: row, column: 1) ?? .negativeInfinity,
                    event: try result.decode(row: row, column: 2),
                    outcome: try result.decode(row: row, column: 3),
                    userID: try result.decode(row: row, column: 4, as: String?.self).map { UserID($0) },
                    actor: try result.decode(row: row, column: 5),
                    sessionID: try result.decode(row: row, column: 6),
                    keyID: try result.decode(row: row, column: 7),
                    address: try result.decode(row: row, column: 8),
                    requestID: try result.decode(row: row, column: 9),
                    data: try result.decode(row: row, column: 10)
                )
            }
        }
    }
}
