package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Throws for a large type without an index on revisions: each poll for its changes would read the whole table.
    ///
    /// In development mode, this method requests the index. Throws `135 Overloaded` while the index is being built, and `111
    /// NotSupported` where no index was requested or its build failed.
    package func requireFollowing(_ table: RecordTable) async throws(SkyrowError) {
        guard size(of: table.name) > QueryAdvice.largeTable, !table.indexes.contains(where: \.leadsToRevisions) else {
            return
        }
        if case .development = mode, client.hasSessions {
            try await follow(table.name)
            throw .followingBegins(table.name)
        }
        let (name, schema) = (table.name, schema)
        let isBuilding = try await reporting {
            try await client.read(
                """
                SELECT FROM \(schema.internal)._index
                WHERE \(FollowedTypes.isWish(of: name)) AND state = 'building'
                """
            ).rowCount > 0
        }
        throw isBuilding ? .followingBegins(table.name) : .notFollowed(table.name)
    }

    /// Requests the index that finds the changes of a type, for an ``IndexBuilder`` to build; does nothing if it exists or is
    /// requested already.
    ///
    /// Throws `110 ResourceNotFound` for a type that does not exist.
    package func follow(_ type: RecordTypeName) async throws(SkyrowError) {
        try await changeFollowing(of: type, FollowedTypes.wish(for: type, in: schema))
    }

    /// Requests an ``IndexBuilder`` to drop the index.
    ///
    /// Throws `110 ResourceNotFound` for a type that does not exist.
    package func unfollow(_ type: RecordTypeName) async throws(SkyrowError) {
        try await changeFollowing(of: type, FollowedTypes.removal(for: type, in: schema))
    }

    private func changeFollowing(of type: RecordTypeName, _ statements: [SQL]) async throws(SkyrowError) {
        guard try await table(of: type) != nil else {
            throw SkyrowError(.resourceNotFound, "The record type \(type) does not exist.")
        }
        try await reporting(special: SkyrowError.schemaFailure) {
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(self.schema)
                for statement in statements { _ = try await transaction.query(statement) }
            }
        }
    }
}

/// The followed types: those with an index on `(_database, _revision)`, and those for which one is requested.
///
/// A request is a row of `_index`, as for any other index, made by a schema file, the tool, or a request in development mode.
package enum FollowedTypes {
    static let columns = ["_database", "_revision"]

    /// Whether a row of `_index` requests this index, of one type or of any.
    package static func isWish(of type: RecordTypeName? = nil) -> SQL {
        let wish: SQL = "kind = 'order' AND fields = ARRAY['_database', '_revision']"
        return type.map { "\(wish) AND type = \(literal: $0.rawValue)" } ?? wish
    }

    /// Selects the followed types of a schema: the requested ones, and those to which psql gave the index.
    package static func list(in schema: SQLIdentifier) -> SQL {
        """
        SELECT type FROM \(schema.internal)._index WHERE \(isWish()) AND state <> 'deleting'
        UNION
        SELECT relation FROM (\(present(in: schema))) AS present
        WHERE NOT EXISTS (SELECT FROM \(schema.internal)._index WHERE name = index AND state = 'deleting')
        """
    }

    /// Returns the statements of a transaction that requests the index, or retries a failed request.
    package static func wish(for type: RecordTypeName, in schema: SQLIdentifier) -> [SQL] {
        let name: SQL = "\(literal: type.rawValue)"
        let head: SQL = "\(literal: String("\(type.rawValue)__database__revision".prefix(55)))"
        return [
            "DELETE FROM \(schema.internal)._index WHERE \(isWish(of: type)) AND state = 'failed' AND reason = 'name_taken'",
            """
            UPDATE \(schema.internal)._index SET state = 'building', attempts = 0, reason = NULL, duplicates = NULL, sql_state = NULL,
                changed_at = now()
            WHERE \(isWish(of: type)) AND state = 'failed'
            """,
            """
            INSERT INTO \(schema.internal)._index (name, type, kind, fields)
            SELECT candidate, \(name), 'order', ARRAY['_database', '_revision']
            FROM (
                SELECT number, \(head) || '_idx' || CASE WHEN number = 0 THEN '' ELSE number::text END AS candidate
                FROM generate_series(0, 999) AS number
            ) AS name
            WHERE NOT EXISTS (SELECT FROM \(schema.internal)._index WHERE name = candidate)
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_class WHERE relname = candidate::name AND relnamespace = \(namespace(schema))
                )
                AND NOT EXISTS (SELECT FROM (\(list(in: schema))) AS followed (type) WHERE followed.type = \(name))
            ORDER BY number LIMIT 1
            """,
            IndexBuilder.signal,
        ]
    }

    /// Returns the statements of a transaction that requests to drop the index.
    package static func removal(for type: RecordTypeName, in schema: SQLIdentifier) -> [SQL] {
        [
            "DELETE FROM \(schema.internal)._index WHERE \(isWish(of: type)) AND NOT has_begun",
            "UPDATE \(schema.internal)._index SET state = 'deleting', changed_at = now() WHERE \(isWish(of: type))",
            """
            INSERT INTO \(schema.internal)._index (name, type, state, has_begun)
            SELECT index, relation, 'deleting', true FROM (\(present(in: schema))) AS present
            WHERE relation = \(literal: type.rawValue)
            ON CONFLICT (name) DO UPDATE SET state = 'deleting', changed_at = now()
            """,
            IndexBuilder.signal,
        ]
    }

    /// Selects the indexes with exactly these columns, as `index` and `relation`.
    private static func present(in schema: SQLIdentifier) -> SQL {
        """
        SELECT index_class.relname::text AS index, record_table.relname::text AS relation
        FROM pg_catalog.pg_index
        JOIN pg_catalog.pg_class AS index_class ON index_class.oid = indexrelid
        JOIN pg_catalog.pg_class AS record_table ON record_table.oid = indrelid
        JOIN pg_catalog.pg_am ON pg_am.oid = index_class.relam
        WHERE record_table.relnamespace = \(namespace(schema)) AND amname = 'btree' AND indpred IS NULL
            AND NOT indisunique AND indnatts = 2 AND indnkeyatts = 2
            AND ARRAY(
                SELECT attname::text FROM unnest(indkey::smallint[]) WITH ORDINALITY AS key (number, place)
                JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key.number ORDER BY place
            ) = ARRAY['_database', '_revision']
        """
    }

    private static func namespace(_ schema: SQLIdentifier) -> SQL {
        "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(literal: schema.name))"
    }
}

extension TableIndex {
    /// Whether the index returns the rows of a database in the order of their revisions.
    package var leadsToRevisions: Bool {
        isValid && method == "btree" && condition == nil && columns.starts(with: FollowedTypes.columns)
    }
}

extension IndexDefinition {
    /// Whether it is the index of a followed type, which clients cannot request by its fields.
    package var isOfFollowedType: Bool { kind == .order && !isUnique && fields.map(\.name) == FollowedTypes.columns }
}

extension SkyrowError {
    fileprivate static func followingBegins(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(.overloaded, "The index for finding the changes of \(type) is being built; try again in a moment.")
    }

    fileprivate static func notFollowed(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(
            .notSupported,
            """
            The changes of \(type) cannot be found without an index, since it has many records. The operator can create it with: \
            skyrow schema follow \(type)
            """
        )
    }
}
