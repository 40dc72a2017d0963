internal import SkyrowCrypto
package import SkyrowModel
package import SkyrowPostgres

/// The outcome of resealing encrypted values.
package struct ResealingCounts: Hashable, Sendable {
    /// Values that were resealed with the first key.
    package var resealed = 0
    /// Values that no key can open.
    package var unreadable = 0
}

/// A column of sealed values.
package enum SealedColumn: String, Hashable, Sendable, CaseIterable {
    case tokens = "_identity.token_sealed"
    case secrets = "_factor.secret_sealed"
    case pendingSecrets = "_factor.pending_sealed"

    private var table: SQLIdentifier { self == .tokens ? "_identity" : "_factor" }

    private var column: SQLIdentifier {
        switch self {
        case .tokens: "token_sealed"
        case .secrets: "secret_sealed"
        case .pendingSecrets: "pending_sealed"
        }
    }

    /// The two text expressions that identify a row.
    private var key: (SQL, SQL) {
        self == .tokens ? ("sealed.provider", "sealed.subject") : ("sealed.id::text COLLATE \"C\"", "sealed.kind")
    }

    /// The condition that identifies a row in an update.
    private var match: SQL {
        self == .tokens
            ? "sealed.provider = given.one AND sealed.subject = given.other" : "sealed.id = given.one::uuid"
    }

    /// The location of a value, which is authenticated with it.
    fileprivate func place(_ one: String, _ other: String, _ user: UserID) -> [String] {
        self == .tokens ? IdentityTable.placeOfTokens(one, other, user) : FactorTable.placeOfSecret(user)
    }

    /// Selects some rows that were sealed with another key, in key order.
    fileprivate func rows(in schema: SQLIdentifier, notBy name: String, after last: (String, String)?, limit: Int)
        -> SQL
    {
        let rest: SQL = last.map { " AND (\(key.0), \(key.1)) > (\($0.0), \($0.1))" } ?? ""
        return """
            SELECT \(key.0), \(key.1), sealed.user_id, sealed.\(column) FROM \(schema.internal).\(table) AS sealed
            WHERE sealed.\(column) IS NOT NULL
                AND (\(SealingKeys.name(in: "sealed.\(column)"))) IS DISTINCT FROM \(name)\(rest)
            ORDER BY \(key.0), \(key.1) LIMIT \(Int64(limit))
            """
    }

    /// Replaces values that have not changed since they were read.
    fileprivate func update(
        in schema: SQLIdentifier,
        _ names: [(String, String)],
        _ before: [[UInt8]],
        _ after: [[UInt8]]
    ) -> SQL {
        """
        UPDATE \(schema.internal).\(table) AS sealed SET \(column) = given.after
        FROM unnest(\(names.map(\.0)), \(names.map(\.1)), \(before), \(after)) AS given (one, other, before, after)
        WHERE \(match) AND sealed.\(column) = given.before
        """
    }

    /// Selects the number of values for each key.
    package func count(in schema: SQLIdentifier) -> SQL {
        """
        SELECT \(rawValue)::text AS place, coalesce(\(SealingKeys.name(in: "sealed.\(column)")), '') AS key,
            count(*)::text AS count
        FROM \(schema.internal).\(table) AS sealed WHERE sealed.\(column) IS NOT NULL GROUP BY 2
        """
    }
}

extension RecordStore {
    /// Reseals the values of a column that were sealed with another key than the first.
    ///
    /// Each batch is a separate statement, and values sealed with the first key are skipped, so an interrupted run can be
    /// resumed. A value that changes meanwhile is left as it is.
    ///
    /// - Parameters:
    ///   - batch: the number of rows that one statement changes.
    ///   - progress: gets the counts so far after each batch.
    package func reseal(
        _ column: SealedColumn,
        batch: Int = 500,
        progress: (ResealingCounts) -> Void = { _ in }
    ) async throws(SkyrowError) -> ResealingCounts {
        let keys = try await sealing()
        guard let first = keys.names.first else { throw .unexpected }
        var counts = ResealingCounts()
        var last: (String, String)?
        while true {
            let next = last
            let rows = try await reporting {
                let result = try await client.read(column.rows(in: schema, notBy: first, after: next, limit: batch))
                return try (0..<result.rowCount).map { row in
                    (
                        one: try result.decode(row: row, column: 0, as: String.self),
                        other: try result.decode(row: row, column: 1, as: String.self),
                        user: try result.decode(row: row, column: 2, as: UserID.self),
                        sealed: try result.decode(row: row, column: 3, as: [UInt8].self)
                    )
                }
            }
            guard let end = rows.last else { return counts }
            last = (end.one, end.other)
            var names: [(String, String)] = []
            var before: [[UInt8]] = []
            var after: [[UInt8]] = []
            for row in rows {
                let place = column.place(row.one, row.other, row.user)
                guard var plain = keys.open(row.sealed, for: place) else {
                    counts.unreadable += 1
                    continue
                }
                names.append((row.one, row.other))
                before.append(row.sealed)
                after.append(try keys.seal(plain, for: place))
                plain.cleanse()
            }
            if !names.isEmpty {
                let statement = column.update(in: schema, names, before, after)
                counts.resealed += try await reporting { try await client.write(statement).affectedRows }
            }
            progress(counts)
        }
    }
}
