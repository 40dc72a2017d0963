package import SkyrowModel
internal import SkyrowPostgres

extension SessionTable {
    /// What the rights of sessions depend on, in one statement: a text that is another one when any of it has changed, by the
    /// hashes of the tokens. One that has ended has none.
    ///
    /// - Parameter relations: the sessions whose users' relations are part of it.
    package func standings(
        of tokenHashes: [[UInt8]],
        withRelations relations: [Bool]
    ) async throws(SkyrowError) -> [[UInt8]: String] {
        guard !tokenHashes.isEmpty else { return [:] }
        return try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT given.hash, concat_ws('/', account.id, session.epoch, account.epoch, account.disabled,
                    account.disabled_until <= now(), session.expires_at, account.verified_email,
                    (SELECT string_agg(held.role, ',' ORDER BY held.role) FROM \(store.schema)._user_role AS held
                        WHERE held.user_id = account.id),
                    (SELECT string_agg(carried.name, ',' ORDER BY carried.name) FROM \(store.schema)._user_group AS carried
                        WHERE carried.user_id = account.id),
                    CASE WHEN given.asks THEN (
                        SELECT bit_xor(hashtextextended(concat_ws('/', edge.user_id, edge.name, edge.other_id), 0))
                        FROM \(store.schema)._relation AS edge
                        WHERE edge.user_id = account.id OR edge.other_id = account.id
                    ) END)
                FROM unnest(\(tokenHashes), \(relations)) AS given (hash, asks)
                JOIN \(store.schema)._session AS session
                    ON session.token_hash = given.hash OR session.previous_hash = given.hash
                JOIN \(store.schema)._user AS account ON account.id = session.user_id
                WHERE (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
                    AND (session.expires_at > now() OR session.expires_at IS NULL)
                """
            )
            var standings: [[UInt8]: String] = [:]
            for row in 0..<result.rowCount {
                let hash = try result.decode(row: row, column: 0, as: [UInt8].self)
                standings[hash] = try result.decode(row: row, column: 1)
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
                JOIN \(store.schema)._session AS session
                    ON session.token_hash = given.hash OR (
                        session.previous_hash = given.hash AND session.rotated_at > now() - \(SessionTable.previousTokenTime)
                    )
                JOIN \(store.schema)._user AS account ON account.id = session.user_id
                WHERE session.epoch = account.epoch AND NOT (\(UserTable.isDisabled))
                    AND (session.expires_at > now() OR session.expires_at IS NULL)
                """
            ).decodeColumn(0, as: [UInt8].self)
        }
    }
}
