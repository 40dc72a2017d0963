package import SkyrowModel
internal import SkyrowPostgres

/// A row of `_upload` with its file.
package struct StoredUpload: Hashable, Sendable {
    package let id: UploadID
    /// The file; until it is stored, its size is that of the whole file.
    package let asset: StoredAsset
    /// The incoming file in the storage.
    package let incoming: String
    /// How many bytes are certain to be in the storage.
    package let received: Int64
    package let metadata: String
    /// SHA-256 of the file that is about to get its name.
    package let sha256: [UInt8]?
    package let expiresAt: Timestamp
}

/// The right to write an upload, until another request takes it over.
package struct UploadLease: Hashable, Sendable {
    package let id: UploadID
    package let number: Int64
}

/// Whether a request may go on to write its upload.
package enum UploadRenewal: Hashable, Sendable {
    case held
    /// Another request waits for its end.
    case wanted
    /// Another request writes the upload.
    case lost
}

/// Uploads that may be interrupted and continued.
///
/// Each request that writes one holds a lease of a few seconds, which it extends. The row counts the leases: a request that was
/// too slow, and whose lease another one has taken over, can record nothing any more.
extension AssetTable {
    /// Inserts the rows of an expected file and of its upload, with a lease; returns nil if its uploader has `limit` of them.
    ///
    /// The announced size counts as long as the upload is not complete. Throws as ``announce(_:limit:quota:storage:)``.
    ///
    /// - Parameters:
    ///   - incoming: the incoming file in the storage, which is empty.
    ///   - time: until the end of the lease.
    package func announce(
        _ asset: StoredAsset,
        limit: Int,
        quota: Int64?,
        storage: String,
        for id: UploadID,
        into incoming: String,
        metadata: String,
        leasedFor time: Duration
    ) async throws(SkyrowError) -> UploadLease? {
        let row: NewRow = [
            "id": "\(id.rawValue)", "name": "announced.name", "incoming": "\(incoming)", "metadata": "\(metadata)",
            "leased_until": Self.end(of: time),
        ]
        let isNew = try await announce(
            asset,
            limit: limit,
            quota: quota,
            storage: storage,
            with: """
                , upload AS (
                    INSERT INTO \(schema.internal)._upload (\(row.names)) SELECT \(row.values) FROM announced
                )
                """
        )
        return isNew ? UploadLease(id: id, number: 1) : nil
    }

    /// Returns an upload that has not expired.
    package func upload(_ id: UploadID) async throws(SkyrowError) -> StoredUpload? {
        try await store.read(StoredUpload.columns) {
            """
            SELECT \($0) FROM \(schema.internal)._upload AS upload
            JOIN \(schema.internal)._asset AS asset ON asset.name = upload.name
            WHERE upload.id = \(id.rawValue) AND \(StoredUpload.end) > now()
            """
        }.first ?? nil
    }

    /// Takes the lease of an upload that no request writes, which from now on expires in a day; asks the request that writes it to
    /// end otherwise.
    ///
    /// Returns nil if another request has the lease, if the upload is complete, and if it does not exist.
    package func claim(_ id: UploadID, for time: Duration) async throws(SkyrowError) -> (StoredUpload, UploadLease)? {
        let columns = Columns(
            { (upload: StoredUpload?, number: Int64) in upload.map { ($0, UploadLease(id: $0.id, number: number)) } },
            StoredUpload.columns,
            "upload.lease"
        )
        let isFree: SQL = "(upload.leased_until IS NULL OR upload.leased_until <= now())"
        // The row of the file is locked first, as by a deletion.
        return try await store.write(columns) {
            """
            WITH asset AS (
                UPDATE \(schema.internal)._asset AS asset SET expires_at = now() + \(Self.patience)
                FROM \(schema.internal)._upload AS upload
                WHERE upload.id = \(id.rawValue) AND asset.name = upload.name AND asset.state = 'expected'
                    AND asset.expires_at > now() AND \(isFree)
                RETURNING asset.*
            ), upload AS (
                UPDATE \(schema.internal)._upload AS upload
                SET lease = upload.lease + 1, leased_until = \(Self.end(of: time)), is_wanted = false
                FROM asset WHERE upload.name = asset.name AND \(isFree)
                RETURNING upload.*
            ), wish AS (
                UPDATE \(schema.internal)._upload AS upload SET is_wanted = true
                WHERE upload.id = \(id.rawValue) AND NOT upload.is_wanted AND NOT \(isFree)
            )
            SELECT \($0) FROM upload JOIN asset ON asset.name = upload.name
            """
        }.first ?? nil
    }

    /// Extends a lease.
    package func renew(_ lease: UploadLease, for time: Duration) async throws(SkyrowError) -> UploadRenewal {
        let isWanted: Bool? = try await store.value(
            writing: """
                UPDATE \(schema.internal)._upload AS upload SET leased_until = \(Self.end(of: time))
                WHERE \(Self.isHeld(lease)) RETURNING upload.is_wanted
                """
        )
        return isWanted.map { $0 ? .wanted : .held } ?? .lost
    }

    /// Returns a lease, and records how many bytes are certain to be in the storage; returns false if another request has taken the
    /// lease over, and nothing was recorded.
    package func release(_ lease: UploadLease, at received: Int64) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            UPDATE \(schema.internal)._upload AS upload SET received = \(received), leased_until = NULL, is_wanted = false
            WHERE \(Self.isHeld(lease))
            """
        ) == 1
    }

    /// Records what the complete file is, before it gets its name, so that it can be marked as stored after a crash; returns false if
    /// another request has taken the lease over.
    package func prepareEnd(
        _ lease: UploadLease,
        _ asset: StoredAsset,
        sha256: [UInt8],
        for time: Duration
    ) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            WITH asset AS (
                UPDATE \(schema.internal)._asset AS asset
                SET content_type = \(asset.contentType), sniffed = \(asset.sniffed as String?),
                    width = \(asset.dimensions?.width as Int?), height = \(asset.dimensions?.height as Int?)
                FROM \(schema.internal)._upload AS upload
                WHERE asset.name = upload.name AND asset.state = 'expected' AND \(Self.isHeld(lease))
                RETURNING asset.name
            )
            UPDATE \(schema.internal)._upload AS upload SET sha256 = \(sha256), leased_until = \(Self.end(of: time))
            FROM asset WHERE upload.name = asset.name AND \(Self.isHeld(lease))
            """
        ) == 1
    }

    /// Deletes an upload, and its file unless that is stored.
    package func remove(_ upload: StoredUpload) async throws(SkyrowError) {
        try await store.reporting {
            // An interrupted end may have stored the bytes.
            _ = try await discard([upload.asset.name.rawValue], if: "asset.state = 'expected'")
            _ = try await store.client.write(
                "DELETE FROM \(schema.internal)._upload AS upload WHERE upload.id = \(upload.id.rawValue)"
            )
        }
    }

    /// Deletes the uploads that have been complete for a day; returns their number. Others end with their files.
    package func expireUploads() async throws(SkyrowError) -> Int {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._upload AS upload USING \(schema.internal)._asset AS asset
            WHERE asset.name = upload.name AND asset.state = 'stored' AND \(StoredUpload.end) <= now()
            """
        )
    }

    /// Returns those of some incoming files that uploads continue.
    package func continued(among incoming: [String]) async throws(SkyrowError) -> Set<String> {
        let columns = Columns({ (incoming: String) in incoming }, "upload.incoming")
        let rows = try await store.read(columns) {
            "SELECT \($0) FROM \(schema.internal)._upload AS upload WHERE upload.incoming = ANY (\(incoming))"
        }
        return Set(rows)
    }

    private static func isHeld(_ lease: UploadLease) -> SQL {
        "upload.id = \(lease.id.rawValue) AND upload.lease = \(lease.number) AND upload.leased_until IS NOT NULL"
    }

    private static func end(of time: Duration) -> SQL {
        "now() + \(time.components.seconds) * interval '1 s'"
    }
}

extension StoredUpload {
    /// Until when it can be continued, or its outcome be asked for.
    fileprivate static let end: SQL = "coalesce(asset.expires_at, asset.stored_at + \(AssetTable.patience))"

    /// Of `upload` and `asset`; nil for what this service cannot read.
    fileprivate static let columns = Columns(
        {
            (
                asset: StoredAsset?,
                id: String,
                incoming: String,
                received: Int64,
                metadata: String,
                sha256: [UInt8]?,
                expiresAt: Timestamp
            ) -> StoredUpload? in
            guard let asset, let id = UploadID(id) else { return nil }
            return StoredUpload(
                id: id,
                asset: asset,
                incoming: incoming,
                received: received,
                metadata: metadata,
                sha256: sha256,
                expiresAt: expiresAt
            )
        },
        StoredAsset.columns,
        "upload.id",
        "upload.incoming",
        "upload.received",
        "upload.metadata",
        "upload.sha256",
        Columns<Timestamp>(end)
    )
}
