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
        // Indexes find the events of a user or of a time, which one condition for all cases would prevent.
        var conditions: [SQL] = []
        if let user = filter.user { conditions.append("event.user_id = \(user)") }
        if let key = filter.key { conditions.append("event.key_id = \(key.rawValue)") }
        if !filter.events.isEmpty { conditions.append("event.event = ANY (\(filter.events))") }
        if let since = filter.since { conditions.append("event.at >= \(since)") }
        if let until = filter.until { conditions.append("event.at < \(until)") }
        if filter.onlyRefusals { conditions.append("event.outcome <> 'ok'") }
        let condition: SQL = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
        let columns = Columns(
            StoredAuditEvent.init(id:time:event:outcome:userID:actor:sessionID:keyID:address:requestID:data:),
            "event.id",
            "event.at",
            "event.event",
            "event.outcome",
            "event.user_id",
            "event.actor",
            "event.session_id::text",
            "event.key_id",
            "host(event.address)",
            "event.request_id",
            "event.data::text"
        )
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM (
                SELECT * FROM \(schema.internal)._audit AS event\(condition)
                ORDER BY event.at DESC, event.id DESC LIMIT \(filter.limit)
            ) AS event
            ORDER BY event.at, event.id
            """
        }
    }
}
