package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

/// The relations of users: friends, followers, and blocked users.
///
/// Each row is from one user to another and says whether the reverse row exists, which triggers maintain.
package struct RelationTable: StoreTable, Sendable {
    let store: RecordStore

    /// The result of adding a user.
    package enum Addition: Hashable, Sendable {
        case added(isMutual: Bool)
        /// The user does not exist, or blocks this one.
        case missing
        /// This user blocks the other one.
        case blocked
    }

    /// Adds users; a user who was added before stays.
    ///
    /// - Parameter targets: other users than `user`.
    package func add(
        _ relation: UserRelation,
        from user: UserID,
        to targets: [UserID]
    ) async throws(SkyrowError) -> [UserID: Addition] {
        guard !targets.isEmpty else { return [:] }
        let targeted = Columns(
            { (id: UserID, isBlocked: Bool, isOpen: Bool) in (id, isBlocked, isOpen) },
            "named.id",
            "\(block(by: "\(user)", of: "named.id"))",
            "account.id IS NOT NULL AND NOT \(block(by: "named.id", of: "\(user)"))"
        )
        return try await store.inTransaction { transaction in
            try await lock(user, targets, in: transaction)
            let found = try await transaction.query(
                """
                SELECT \(targeted.list) FROM (SELECT DISTINCT given.id FROM unnest(\(targets)) AS given (id)) AS named
                LEFT JOIN \(schema.internal)._user AS account ON account.id = named.id
                """
            ).rows(targeted)
            var additions = Dictionary(found.map { ($0.0, $0.1 ? Addition.blocked : .missing) }) { $1 }
            let open = found.filter { $0.2 && !$0.1 }.map(\.0)
            guard !open.isEmpty else { return additions }
            try await transaction.execute(
                """
                INSERT INTO \(schema.internal)._relation (user_id, name, other_id)
                SELECT \(user), \(relation.rawValue), named.id FROM unnest(\(open)) AS named (id) ORDER BY 3
                ON CONFLICT DO NOTHING
                """
            )
            let related = Self.related("made.other_id")
            let made = try await transaction.query(
                """
                SELECT \(related.list) FROM \(schema.internal)._relation AS made
                WHERE made.user_id = \(user) AND made.name = \(relation.rawValue) AND made.other_id = ANY (\(open))
                """
            ).rows(related)
            for (id, isMutual) in made { additions[id] = .added(isMutual: isMutual) }
            return additions
        }
    }

    /// The other user of a relation `made`, and whether it is mutual.
    private static func related(_ other: SQL) -> Columns<(id: UserID, isMutual: Bool)> {
        Columns({ (id: UserID, isMutual: Bool) in (id: id, isMutual: isMutual) }, "\(other)", "made.mutual")
    }

    /// A relation that one user has made with another.
    package struct Edge: Hashable, Sendable {
        package let user: UserID
        package let relation: UserRelation
        package let other: UserID
    }

    /// Returns the friends and followers among pairs of users, in both directions.
    package func between(_ pairs: [(UserID, UserID)]) async throws(SkyrowError) -> [Edge] {
        let columns = Columns(Edge.init(user:relation:other:), "made.user_id", "made.name", "made.other_id")
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM unnest(\(pairs.map(\.0)), \(pairs.map(\.1))) AS pair (first, second)
            JOIN \(schema.internal)._relation AS made ON made.name IN ('friend', 'follow')
                AND (made.user_id, made.other_id) IN ((pair.first, pair.second), (pair.second, pair.first))
            """
        }
    }

    /// Removes users, skipping any that were not added. Relations that they have made themselves stay.
    package func remove(_ relation: UserRelation, from user: UserID, to targets: [UserID]) async throws(SkyrowError) {
        guard !targets.isEmpty else { return }
        try await store.inTransaction { transaction in
            try await lock(user, targets, in: transaction)
            try await transaction.execute(
                """
                DELETE FROM \(schema.internal)._relation AS ended WHERE ended.user_id = \(user)
                    AND ended.name = \(relation.rawValue) AND ended.other_id = ANY (\(targets))
                """
            )
        }
    }

    /// Blocks users, which ends all relations with them; returns those that exist.
    package func block(_ targets: [UserID], by user: UserID) async throws(SkyrowError) -> Set<UserID> {
        guard !targets.isEmpty else { return [] }
        return try await store.inTransaction { transaction in
            try await lock(user, targets, in: transaction)
            try await transaction.execute(
                """
                INSERT INTO \(schema.internal)._relation (user_id, name, other_id)
                SELECT \(user), 'block', account.id FROM \(schema.internal)._user AS account
                WHERE account.id = ANY (\(targets)) ORDER BY 3
                ON CONFLICT DO NOTHING
                """
            )
            let made = try await transaction.query(
                """
                SELECT made.other_id FROM \(schema.internal)._relation AS made
                WHERE made.user_id = \(user) AND made.name = 'block' AND made.other_id = ANY (\(targets))
                """
            )
            return Set(try made.decodeColumn(0, as: UserID.self))
        }
    }

    /// Returns the users of a relation whose profiles are readable, in the order of their ids, and their number, up to 101,000.
    ///
    /// - Parameter isPending: whether to leave out mutual relations.
    package func users(
        of user: UserID,
        _ query: RelationQuery,
        isPending: Bool = false,
        readableBy access: RecordAccess
    ) async throws(SkyrowError) -> (users: [(id: UserID, isMutual: Bool)], count: Int) {
        try await store.reporting {
            let (mine, others): (SQL, SQL) =
                query.direction == .inward ? ("other_id", "user_id") : ("user_id", "other_id")
            let isMutual: SQL =
                query.direction == .mutual ? " AND edge.mutual" : isPending ? " AND NOT edge.mutual" : ""
            let rules = try await store.table(of: .user)?.rules ?? .none
            let edges: SQL = """
                FROM \(schema.internal)._relation AS edge JOIN \(schema)."user" AS r ON r._id = edge.\(others)
                WHERE edge.\(mine) = \(user) AND edge.name = \(query.relation.rawValue)\(isMutual)
                    AND (\(access.of(rules).read.condition(on: "r")))
                """
            // Of a million followers, no more are counted than the largest offset and one page.
            let bound = RecordQuery.maximumOffset + PageRequest.maximumLimit
            let columns = Columns(
                { (number: Int, user: (id: UserID, isMutual: Bool)?) in (number, user) },
                "counted.number",
                Self.related("made.id").ifAny
            )
            let rows = try await store.client.read(
                """
                SELECT \(columns.list)
                FROM (SELECT count(*) AS number FROM (SELECT \(edges) LIMIT \(bound)) AS related) AS counted
                LEFT JOIN (
                    SELECT edge.\(others) AS id, edge.mutual \(edges)
                    ORDER BY edge.\(others) LIMIT \(query.part.limit) OFFSET \(query.part.start)
                ) AS made ON true
                ORDER BY made.id
                """
            ).rows(columns)
            // Without users on the page, the only row has the count.
            return (rows.compactMap(\.1), rows.first?.0 ?? 0)
        }
    }

    /// The condition that a user blocks another one.
    private func block(by user: SQL, of other: SQL) -> SQL {
        """
        EXISTS (SELECT FROM \(schema.internal)._relation AS barrier
            WHERE barrier.user_id = \(user) AND barrier.name = 'block' AND barrier.other_id = \(other))
        """
    }

    /// Takes the locks of all pairs in one order, before the triggers take them in the order of the rows, so that two changes do
    /// not deadlock.
    private func lock(_ user: UserID, _ targets: [UserID], in transaction: StoreTransaction) async throws {
        _ = try await transaction.query(
            """
            SELECT \(schema)._hold(place) FROM (
                SELECT DISTINCT \(schema)._relation_lock(\(user), named.id) AS place
                FROM unnest(\(targets)) AS named (id) ORDER BY 1
            ) AS places
            """
        )
    }
}
