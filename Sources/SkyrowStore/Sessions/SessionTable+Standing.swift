package import SkyrowModel
internal import SkyrowPostgres

/// The state on which the rights of a session depend.
package struct SessionStanding: Hashable, Sendable {
    /// A text that differs after any change of them, apart from relations of users; empty for a session that has ended.
    package var rights: String
    /// A number that differs after a change of the user's relations; nil if they were not requested.
    package var relations: Int64?

    package init(rights: String = "", relations: Int64? = nil) {
        self.rights = rights
        self.relations = relations
    }

    /// Whether relations have changed since `former`; false if one of the two was not requested.
    package func hasOtherRelations(than former: SessionStanding) -> Bool {
        if let relations, let known = former.relations { relations != known } else { false }
    }
}

extension SessionTable {
    /// Returns the state of sessions by the hashes of their tokens, in one statement. An ended session has no entry.
    ///
    /// - Parameter relations: for each session, whether the relations of its user are included.
    package func standings(
        of tokenHashes: [[UInt8]],
        withRelations relations: [Bool]
    ) async throws(SkyrowError) -> [[UInt8]: SessionStanding] {
        guard !tokenHashes.isEmpty else { return [:] }
        let columns = Columns(
            { (hash: [UInt8], rights: String, relations: Int64?) in
                (hash, SessionStanding(rights: rights, relations: relations))
            },
            "given.hash",
            """
            concat_ws('/', account.id, session.epoch, account.epoch, account.disabled,
                account.disabled_until <= now(), session.expires_at, account.verified_email,
                (SELECT string_agg(held.role, ',' ORDER BY held.role) FROM \(schema.internal)._user_role AS held
                    WHERE held.user_id = account.id),
                (SELECT string_agg(carried.name, ',' ORDER BY carried.name) FROM \(schema.internal)._user_group AS carried
                    WHERE carried.user_id = account.id))
            """,
            """
            CASE WHEN given.asks THEN (
                SELECT coalesce(bit_xor(hashtextextended(concat_ws('/', edge.user_id, edge.name, edge.other_id), 0)), 0)
                FROM \(schema.internal)._relation AS edge
                WHERE edge.user_id = account.id OR edge.other_id = account.id
            ) END
            """
        )
        let standings = try await store.read(columns) {
            """
            SELECT \($0)
            FROM unnest(\(tokenHashes), \(relations)) AS given (hash, asks)
            JOIN \(schema.internal)._session AS session
                ON session.token_hash = given.hash OR session.previous_hash = given.hash
            JOIN \(schema.internal)._user AS account ON account.id = session.user_id
            WHERE (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
                AND (session.expires_at > now() OR session.expires_at IS NULL)
            """
        }
        return Dictionary(standings) { $1 }
    }

    /// Returns those of the token hashes whose sessions are open.
    ///
    /// Writes nothing: a use of a replaced token would count as the use of a stolen one, but this check is not a use.
    package func open(of tokenHashes: [[UInt8]]) async throws(SkyrowError) -> [[UInt8]] {
        guard !tokenHashes.isEmpty else { return [] }
        return try await store.read(Columns<[UInt8]>("given.hash")) {
            """
            SELECT \($0) FROM unnest(\(tokenHashes)) AS given (hash)
            JOIN \(schema.internal)._session AS session
                ON session.token_hash = given.hash OR (
                    session.previous_hash = given.hash AND session.rotated_at > now() - \(SessionTable.previousTokenTime)
                )
            JOIN \(schema.internal)._user AS account ON account.id = session.user_id
            WHERE session.epoch = account.epoch AND NOT (\(UserTable.isDisabled))
                AND (session.expires_at > now() OR session.expires_at IS NULL)
            """
        }
    }
}
