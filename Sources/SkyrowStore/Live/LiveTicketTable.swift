package import SkyrowModel
internal import SkyrowPostgres

/// The unused tokens of `live:ticket`.
package struct LiveTicketTable: StoreTable, Sendable {
    /// The most tokens of a session; a further one removes the oldest.
    package static let maximumOfSession: Int64 = 100

    let store: RecordStore

    /// Stores the hash of a token for a session, and returns when the token expires; nil if the session has ended.
    ///
    /// - Parameter session: the hash of the session's access token.
    package func insert(_ hash: [UInt8], session: [UInt8]) async throws(SkyrowError) -> Timestamp? {
        try await store.value(
            writing: """
                WITH begun AS (
                    INSERT INTO \(schema.internal)._live_ticket (token_hash, session_id, expires_at)
                    SELECT \(hash), session.id, now() + \(LiveTicket.lifetime) * interval '1 second'
                    FROM \(schema.internal)._session AS session WHERE \(SessionTable.has(session))
                    RETURNING session_id, expires_at
                ), ended AS (
                    DELETE FROM \(schema.internal)._live_ticket AS ticket USING (
                        SELECT other.token_hash
                        FROM \(schema.internal)._live_ticket AS other JOIN begun ON begun.session_id = other.session_id
                        ORDER BY other.created_at DESC, other.token_hash OFFSET \(Self.maximumOfSession - 1)
                    ) AS surplus
                    WHERE ticket.token_hash = surplus.token_hash
                )
                SELECT begun.expires_at FROM begun
                """
        )
    }

    /// A session on whose behalf a stream is opened.
    package struct Session: Sendable {
        package let id: String
        /// The hash of the session's access token.
        package let tokenHash: [UInt8]

        fileprivate static let columns = Columns(Session.init(id:tokenHash:), "session.id::text", "session.token_hash")
    }

    /// Uses a token and returns its session; nil if the token is not valid.
    package func use(_ hash: [UInt8]) async throws(SkyrowError) -> Session? {
        try await store.write(Session.columns) {
            """
            WITH used AS (
                DELETE FROM \(schema.internal)._live_ticket AS ticket WHERE ticket.token_hash = \(hash)
                RETURNING ticket.session_id, ticket.expires_at
            )
            SELECT \($0) FROM used JOIN \(schema.internal)._session AS session ON session.id = used.session_id
            WHERE used.expires_at > now()
            """
        }.first
    }

    /// Returns the session of an open stream; nil if it has ended.
    package func session(id: String) async throws(SkyrowError) -> Session? {
        try await store.read(Session.columns) {
            "SELECT \($0) FROM \(schema.internal)._session AS session WHERE session.id = \(id)::uuid"
        }.first
    }

    /// Removes expired tokens.
    package func purgeExpired() async throws(SkyrowError) {
        try await store.write(
            """
            WITH ended AS (
                SELECT ticket.token_hash FROM \(schema.internal)._live_ticket AS ticket
                WHERE ticket.expires_at < now() FOR UPDATE SKIP LOCKED
            )
            DELETE FROM \(schema.internal)._live_ticket AS ticket USING ended WHERE ticket.token_hash = ended.token_hash
            """
        )
    }
}
