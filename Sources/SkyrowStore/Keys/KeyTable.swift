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
}

/// The keys with scopes of an application.
package struct KeyTable: StoreTable, Sendable {
    let store: RecordStore

    /// The most keys that are read: those that are not revoked first, and then the ones that were revoked last.
    private static let maximumRead: Int64 = 10_000

    /// Returns the version of the keys, which grows with every change.
    package func version() async throws(SkyrowError) -> Int64 {
        let version: Int64? = try await store.value(
            reading: "SELECT value FROM \(schema.internal)._version WHERE name = 'keys'"
        )
        guard let version else { throw .keysUnknown }
        return version
    }

    /// Returns the keys and their version, as of one point in time. A key whose scopes or networks cannot be read is left out.
    package func all() async throws(SkyrowError) -> (keys: [KeyRecord], version: Int64) {
        let key = Columns(
            { (key: StoredKey?, hash: [UInt8], previousHash: [UInt8]?) in
                key.map { KeyRecord(key: $0, hash: hash, previousHash: previousHash) }
            },
            StoredKey.columns,
            "key.hash",
            "key.previous_hash"
        )
        let columns = Columns(
            { (version: Int64, key: KeyRecord??) in (version, key ?? nil) },
            "version.value",
            key.ifAny
        )
        let rows = try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._version AS version LEFT JOIN LATERAL (\(newest)) AS key ON true
            WHERE version.name = 'keys'
            """
        }
        guard let version = rows.first?.0 else { throw .keysUnknown }
        return (rows.compactMap(\.1), version)
    }

    /// Returns the keys in the order of their creation.
    package func list() async throws(SkyrowError) -> [StoredKey] {
        try await store.read(StoredKey.columns) {
            "SELECT \($0) FROM (\(newest)) AS key ORDER BY key.created_at, key.id"
        }.compactMap(\.self)
    }

    private var newest: SQL {
        """
        SELECT * FROM \(schema.internal)._key AS known
        ORDER BY known.revoked_at DESC NULLS FIRST, known.id LIMIT \(KeyTable.maximumRead)
        """
    }

    /// Stores a key; throws `108 InvalidArgument` if there are too many valid keys, and for an end in the past.
    package func insert(
        _ creation: KeyCreation,
        id: KeyID,
        hash: [UInt8],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> StoredKey {
        let row: NewRow = [
            "id": "\(id.rawValue)", "hash": "\(hash)", "name": "\(creation.name)", "kind": "\(creation.kind.rawValue)",
            "scopes": "\(creation.scopes.map(\.text))", "networks": "\(creation.networks.map(\.description))::cidr[]",
            "expires_at": "\(creation.expiresAt as Timestamp?)",
        ]
        let recorded = store.recording(
            event,
            from: "made",
            data: "jsonb_build_object('name', made.name, 'kind', made.kind, 'scopes', made.scopes)"
        )
        let keys = try await store.write(StoredKey.columns) {
            """
            WITH made AS (
                INSERT INTO \(schema.internal)._key (\(row.names))
                SELECT \(row.values)
                WHERE (SELECT count(*) FROM \(schema.internal)._key AS known WHERE known.revoked_at IS NULL)
                    < \(KeyCreation.maximumKeys)
                    AND (\(creation.expiresAt as Timestamp?)::timestamptz > now()) IS NOT FALSE
                RETURNING *
            )\(recorded)
            SELECT \($0) FROM made AS key
            """
        }
        guard let key = keys.first ?? nil else {
            throw .invalidArgument(
                "The key must expire in the future, and an application can have at most \(KeyCreation.maximumKeys) keys."
            )
        }
        return key
    }

    /// Gives a key another hash; throws `110 ResourceNotFound` if no valid key has that id.
    package func rotate(
        _ rotation: KeyRotation,
        hash: [UInt8],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> StoredKey {
        let keys = try await store.write(StoredKey.columns) {
            """
            WITH turned AS (
                UPDATE \(schema.internal)._key AS known SET previous_hash = known.hash, hash = \(hash),
                    previous_until = now() + make_interval(secs => \(Double(rotation.overlap.components.seconds)))
                WHERE known.id = \(rotation.id.rawValue) AND known.revoked_at IS NULL
                    AND (known.expires_at > now()) IS NOT FALSE
                RETURNING *
            )\(store.recording(event, from: "turned"))
            SELECT \($0) FROM turned AS key
            """
        }
        guard let key = keys.first ?? nil else { throw .keyNotFound }
        return key
    }

    /// Revokes a key; throws `110 ResourceNotFound` if no key has that id. A key that was revoked before stays as it is.
    package func revoke(_ id: KeyID, recording event: AuditEvent) async throws(SkyrowError) {
        let isKnown: Bool? = try await store.value(
            writing: """
                WITH ended AS (
                    UPDATE \(schema.internal)._key AS known SET revoked_at = now()
                    WHERE known.id = \(id.rawValue) AND known.revoked_at IS NULL
                    RETURNING known.id
                )\(store.recording(event, from: "ended"))
                SELECT EXISTS (SELECT FROM \(schema.internal)._key AS known WHERE known.id = \(id.rawValue))
                """
        )
        guard isKnown == true else { throw .keyNotFound }
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
            SET last_used_at = greatest(key.last_used_at, \(now))
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
}

extension StoredKey {
    /// Of `key`, a row of `_key`; nil for a key with parts that this service cannot read.
    fileprivate static let columns = Columns(
        {
            (
                id: String,
                name: String,
                kind: String,
                scopes: [String],
                networks: [String],
                createdAt: Timestamp,
                expiresAt: Timestamp?,
                revokedAt: Timestamp?,
                lastUsedAt: Timestamp?,
                previousUntil: Timestamp?
            ) -> StoredKey? in
            guard let id = KeyID(id), let kind = KeyKind(rawValue: kind) else { return nil }
            let key = StoredKey(
                id: id,
                name: name,
                kind: kind,
                scopes: scopes.compactMap { try? KeyScope($0) },
                networks: networks.compactMap { AddressRange($0) },
                createdAt: createdAt,
                expiresAt: expiresAt,
                revokedAt: revokedAt,
                lastUsedAt: lastUsedAt,
                previousUntil: previousUntil
            )
            // Without one of them the key could mean something else.
            return key.scopes.count == scopes.count && key.networks.count == networks.count ? key : nil
        },
        "key.id",
        "key.name",
        "key.kind",
        "key.scopes",
        "key.networks::text[]",
        "key.created_at",
        "key.expires_at",
        "key.revoked_at",
        "key.last_used_at",
        "key.previous_until"
    )
}

extension SkyrowError {
    fileprivate static let keyNotFound = SkyrowError(.resourceNotFound, "The key does not exist.")
    /// If it is unknown which keys are valid, no key is.
    fileprivate static let keysUnknown = SkyrowError(
        .unexpectedUnableToOpenDatabase,
        "The keys cannot be read at the moment; try again."
    )
}
