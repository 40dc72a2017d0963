package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

/// A key in the database, with the hashes by which it is found.
package struct KeyRecord: Hashable, Sendable {
    package var key: StoredKey
    /// SHA-256 of its text, 32 bytes.
    package var hash: [UInt8]
    /// The hash of the text before the last rotation.
    package var previousHash: [UInt8]?

    package init(_ key: StoredKey, hash: [UInt8], previousHash: [UInt8]? = nil) {
        self.key = key
        self.hash = hash
        self.previousHash = previousHash
    }
}

/// The keys with scopes of an application.
package struct KeyTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// The most keys that are read: those that are not revoked first, and then the ones that were revoked last.
    private static let maximumRead: Int64 = 10_000

    /// Returns the version of the keys, which grows with every change.
    package func version() async throws(SkyrowError) -> Int64 {
        try await store.reporting {
            let result = try await store.client.read(
                "SELECT value FROM \(schema.internal)._version WHERE name = 'keys'"
            )
            guard !result.isEmpty else { throw SkyrowError.keysUnknown }
            return try result.decode(row: 0, column: 0)
        }
    }

    /// Returns the keys and their version, as of one point in time. A key whose scopes or networks cannot be read is left out.
    package func all() async throws(SkyrowError) -> (keys: [KeyRecord], version: Int64) {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT version.value, \(KeyTable.columns), key.hash, key.previous_hash
                FROM \(schema.internal)._version AS version LEFT JOIN LATERAL (
                    SELECT * FROM \(schema.internal)._key AS known
                    ORDER BY known.revoked_at DESC NULLS FIRST, known.id LIMIT \(KeyTable.maximumRead)
                ) AS key ON true
                WHERE version.name = 'keys'
                """
            )
            guard !result.isEmpty else { throw SkyrowError.keysUnknown }
            var keys: [KeyRecord] = []
            for row in 0..<result.rowCount {
                guard let key = try KeyTable.key(result, row: row, first: 1) else { continue }
                keys.append(
                    KeyRecord(
                        key,
                        hash: try result.decode(row: row, column: 11),
                        previousHash: try result.decode(row: row, column: 12)
                    )
                )
            }
            return (keys, try result.decode(row: 0, column: 0))
        }
    }

    /// Returns the keys in the order of their creation.
    package func list() async throws(SkyrowError) -> [StoredKey] {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT \(KeyTable.columns) FROM (
                    SELECT * FROM \(schema.internal)._key AS known
                    ORDER BY known.revoked_at DESC NULLS FIRST, known.id LIMIT \(KeyTable.maximumRead)
                ) AS key ORDER BY key.created_at, key.id
                """
            )
            return try (0..<result.rowCount).compactMap { try KeyTable.key(result, row: $0, first: 0) }
        }
    }

    /// Stores a key; throws `108 InvalidArgument` if there are too many valid keys, and for an end in the past.
    package func insert(
        _ creation: KeyCreation,
        id: KeyID,
        hash: [UInt8],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> StoredKey {
        try await store.reporting {
            let expiry = creation.expiresAt.map(PostgresTimestamp.init)
            let recorded = event.insertion(
                into: schema,
                from: "made",
                user: "NULL::text",
                data: "jsonb_build_object('name', made.name, 'kind', made.kind, 'scopes', made.scopes)"
            )
            let result = try await store.client.write(
                """
                WITH made AS (
                    INSERT INTO \(schema.internal)._key (id, hash, name, kind, scopes, networks, expires_at)
                    SELECT \(id.rawValue), \(hash), \(creation.name), \(creation.kind.rawValue),
                        \(creation.scopes.map(\.text)), \(creation.networks.map(\.description))::cidr[],
                        \(expiry as PostgresTimestamp?)
                    WHERE (SELECT count(*) FROM \(schema.internal)._key AS known WHERE known.revoked_at IS NULL)
                        < \(Int64(KeyCreation.maximumKeys))
                        AND (\(expiry as PostgresTimestamp?)::timestamptz > now()) IS NOT FALSE
                    RETURNING *
                ), recorded AS (\(recorded))
                SELECT \(KeyTable.columns) FROM made AS key
                """
            )
            guard !result.isEmpty, let key = try KeyTable.key(result, row: 0, first: 0) else {
                throw SkyrowError.invalidArgument(
                    "The key must expire in the future, and an application can have at most \(KeyCreation.maximumKeys) keys."
                )
            }
            return key
        }
    }

    /// Gives a key another hash; throws `110 ResourceNotFound` if no valid key has that id.
    package func rotate(
        _ rotation: KeyRotation,
        hash: [UInt8],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> StoredKey {
        try await store.reporting {
            let recorded = event.insertion(into: schema, from: "turned", user: "NULL::text")
            let result = try await store.client.write(
                """
                WITH turned AS (
                    UPDATE \(schema.internal)._key AS known SET previous_hash = known.hash, hash = \(hash),
                        previous_until = now() + make_interval(secs => \(Double(rotation.overlap.components.seconds)))
                    WHERE known.id = \(rotation.id.rawValue) AND known.revoked_at IS NULL
                        AND (known.expires_at > now()) IS NOT FALSE
                    RETURNING *
                ), recorded AS (\(recorded))
                SELECT \(KeyTable.columns) FROM turned AS key
                """
            )
            guard !result.isEmpty, let key = try KeyTable.key(result, row: 0, first: 0) else {
                throw SkyrowError.keyNotFound
            }
            return key
        }
    }

    /// Revokes a key; throws `110 ResourceNotFound` if no key has that id. A key that was revoked before stays as it is.
    package func revoke(_ id: KeyID, recording event: AuditEvent) async throws(SkyrowError) {
        try await store.reporting {
            let result = try await store.client.write(
                """
                WITH ended AS (
                    UPDATE \(schema.internal)._key AS known SET revoked_at = now()
                    WHERE known.id = \(id.rawValue) AND known.revoked_at IS NULL
                    RETURNING known.id
                ), recorded AS (\(event.insertion(into: schema, from: "ended", user: "NULL::text")))
                SELECT EXISTS (SELECT FROM \(schema.internal)._key AS known WHERE known.id = \(id.rawValue))
                """
            )
            guard try result.decode(row: 0, column: 0, as: Bool.self) else { throw SkyrowError.keyNotFound }
        }
    }

    /// Records that these keys were used. A row that another statement has locked is skipped: that statement records the same, or
    /// revokes the key.
    package func noteUse(of ids: [KeyID], at now: Timestamp) async throws(SkyrowError) {
        try await store.write(
            """
            WITH used AS (
                SELECT key.id FROM \(schema.internal)._key AS key
                WHERE key.id = ANY (\(ids.map(\.rawValue))) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE \(schema.internal)._key AS key
            SET last_used_at = greatest(key.last_used_at, \(PostgresTimestamp(now)))
            FROM used WHERE key.id = used.id
            """
        )
    }

    /// Removes the keys that were revoked more than 90 days ago.
    package func purgeRevoked() async throws(SkyrowError) {
        try await store.write(
            "DELETE FROM \(schema.internal)._key AS key WHERE key.revoked_at < now() - interval '90 days'"
        )
    }

    private static let columns: SQL = """
        key.id, key.name, key.kind, key.scopes, key.networks::text[], key.created_at, key.expires_at, key.revoked_at,
        key.last_used_at, key.previous_until
        """

    /// Returns the key of a row; nil without a key, and for a key with parts that this service cannot read.
    private static func key(_ result: PostgresResult, row: Int, first: Int) throws -> StoredKey? {
        guard let id = try result.decode(row: row, column: first, as: String?.self).flatMap({ KeyID($0) }),
            let kind = KeyKind(rawValue: try result.decode(row: row, column: first + 2))
        else { return nil }
        let texts = try result.decode(row: row, column: first + 3, as: [String].self)
        let scopes = texts.compactMap { try? KeyScope($0) }
        let places = try result.decode(row: row, column: first + 4, as: [String].self)
        let networks = places.compactMap { AddressRange($0) }
        // Without one of them the key could mean something else.
        guard scopes.count == texts.count, networks.count == places.count else { return nil }
        return StoredKey(
            id: id,
            name: try result.decode(row: row, column: first + 1),
            kind: kind,
            scopes: scopes,
            networks: networks,
            createdAt: try Timestamp(result, row: row, column: first + 5) ?? .negativeInfinity,
            expiresAt: try Timestamp(result, row: row, column: first + 6),
            revokedAt: try Timestamp(result, row: row, column: first + 7),
            lastUsedAt: try Timestamp(result, row: row, column: first + 8),
            previousUntil: try Timestamp(result, row: row, column: first + 9)
        )
    }
}

extension RecordStore {
    package var keys: KeyTable { KeyTable(store: self) }
}

extension SkyrowError {
    fileprivate static let keyNotFound = SkyrowError(.resourceNotFound, "The key does not exist.")
    /// If it is unknown which keys are valid, no key is.
    fileprivate static let keysUnknown = SkyrowError(
        .unexpectedUnableToOpenDatabase,
        "The keys cannot be read at the moment; try again."
    )
}
