package import SkyrowModel
internal import SkyrowPostgres

/// What the rights of a session depend on.
package struct SessionStanding: Hashable, Sendable {
    /// Another text when any of it has changed, relations of users aside; empty for a session that has ended.
    package var rights = ""
    /// Another number when a relation of the user has; nil where they were not asked for.
    package var relations: Int64?

    package init() {}

    /// Whether relations are known to be others than at another time: nothing is where they were asked for at one time alone.
    package func hasOtherRelations(than former: SessionStanding) -> Bool {
        if let relations, let known = former.relations { relations != known } else { false }
    }
}

extension SessionTable {
    /// What the rights of sessions depend on, in one statement, by the hashes of the tokens. One that has ended has none.
    ///
    /// - Parameter relations: the sessions whose users' relations are part of it.
    package func standings(
        of tokenHashes: [[UInt8]],
        withRelations relations: [Bool]
    ) async throws(SkyrowError) -> [[UInt8]: SessionStanding] {
        guard !tokenHashes.isEmpty else { return [:] }
        return try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT given.hash, concat_ws('/', account.id, session.epoch, account.epoch, account.disabled,
                    account.disabled_until <= now(), session.expires_at, account.verified_email,
                    (SELECT string_agg(held.role, ',' ORDER BY held.role) FROM \(store.schema.internal)._user_role AS held
                        WHERE held.user_id = account.id),
                    (SELECT string_agg(carried.name, ',' ORDER BY carried.name) FROM \(store.schema.internal)._user_group AS carried
                        WHERE carried.user_id = account.id)),
                    CASE WHEN given.asks THEN (
                        SELECT coalesce(
                            bit_xor(hashtextextended(concat_ws('/', edge.user_id, edge.name, edge.other_id), 0)), 0
                        )
                        FROM \(store.schema.internal)._relation AS edge
                        WHERE edge.user_id = account.id OR edge.other_id = account.id
                    ) END
                FROM unnest(\(tokenHashes), \(relations)) AS given (hash, asks)
                JOIN \(store.schema.internal)._session AS session
                    ON session.token_hash = given.hash OR session.previous_hash = given.hash
                JOIN \(store.schema.internal)._user AS account ON account.id = session.user_id
                WHERE (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
                    AND (session.expires_at > now() OR session.expires_at IS NULL)
                """
            )
            var standings: [[UInt8]: SessionStanding] = [:]
            for row in 0..<result.rowCount {
                var standing = SessionStanding()
                standing.rights = try result.decode(row: row, column: 1)
                standing.relations = try result.decode(row: row, column: 2, as: Int64?.self)
                standings[try result.decode(row: row, column: 0, as: [UInt8].self)] = standing
            }
            return standings
        }
    }

    /// Those of tokens, by their hashes, whose sessions are open.
    ///
    /// Nothing is written: to use a token that was replaced counts as the use of a stolen one, and this is none.
    package func open(of tokenHashes: [[UInt8]]) async throws(SkyrowError) -> [[UInt8]] {
        guard !tokenHashes.isEmpty else { return [] }
        return try await store.reporting {
            try await store.client.read(
                """
                SELECT given.hash FROM unnest(\(tokenHashes)) AS given (hash)
                JOIN \(store.schema.internal)._session AS session
                    ON session.token_hash = given.hash OR (
                        session.previous_hash = given.hash AND session.rotated_at > now() - \(SessionTable.previousTokenTime)
                    )
                JOIN \(store.schema.internal)._user AS account ON account.id = session.user_id
                WHERE session.epoch = account.epoch AND NOT (\(UserTable.isDisabled))
                    AND (session.expires_at > now() OR session.expires_at IS NULL)
                """
            ).decodeColumn(0, as: [UInt8].self)
        }
    }
}
