package import SkyrowModel
internal import SkyrowPostgres

/// A row of `_asset` with what a check of the storage compares.
package struct AssetRow: Hashable, Sendable {
    package let asset: StoredAsset
    /// SHA-256 of the bytes; nil for a file that was found in the storage.
    package let sha256: [UInt8]?
    package let storage: String
}

/// How many files an application has.
package struct AssetTotals: Hashable, Sendable {
    package let expected: Int
    package let stored: Int
    /// The bytes of the stored files.
    package let bytes: Int64

    package init(expected: Int = 0, stored: Int = 0, bytes: Int64 = 0) {
        self.expected = expected
        self.stored = stored
        self.bytes = bytes
    }
}

/// The files of an application: those whose bytes are in the storage, and those that were announced.
///
/// A file is deleted in two steps, so that no row refers to missing bytes: its row moves to `_garbage` in one statement, and
/// after the commit its bytes are deleted and ``forget(_:)`` removes the row.
///
/// ```swift
/// guard try await store.assets.announce(asset, limit: 100) else { throw … }
/// // The bytes are in the storage.
/// try await store.assets.markStored(asset, sha256: digest)
/// ```
package struct AssetTable: StoreTable, Sendable {
    /// Upper bound on the announced files without an uploader.
    static let maximumOwnerless = 10_000
    /// How long the bytes of an announced file are expected.
    static let patience: SQL = "interval '1 day'"

    let store: RecordStore

    // MARK: Uploading

    /// Inserts the row of a file whose bytes are expected within a day; returns false if its uploader has `limit` of them.
    ///
    /// Requests at the same time may exceed both bounds by their number. Throws `109 Duplicated` if the name exists, `110
    /// ResourceNotFound` if the account of the uploader does not, and `129 AssetSizeTooLarge` beyond the quota.
    ///
    /// - Parameters:
    ///   - quota: upper bound on the bytes of all files of the uploader, with this one; nil without a bound.
    ///   - storage: the kind of the storage in which the bytes are expected.
    package func announce(
        _ asset: StoredAsset,
        limit: Int,
        quota: Int64? = nil,
        storage: String = "local"
    ) async throws(SkyrowError) -> Bool {
        try await announce(asset, limit: limit, quota: quota, storage: storage, with: "")
    }

    /// - Parameter upload: a further common table expression, which reads the new row from `announced`.
    func announce(
        _ asset: StoredAsset,
        limit: Int,
        quota: Int64?,
        storage: String,
        with upload: SQL
    ) async throws(SkyrowError) -> Bool {
        let row: NewRow =
            row(of: asset) + [
                "state": "'expected'", "expires_at": "now() + \(Self.patience)", "storage": "\(storage)",
            ]
        let isOfUploader: SQL = asset.owner.map { "known.owner = \($0)" } ?? "known.owner IS NULL"
        let limit = Int64(asset.owner == nil ? Self.maximumOwnerless : limit)
        let quota = asset.owner == nil ? nil : quota
        let bytes: SQL = quota == nil ? "0::bigint" : "(\(Self.sumOfBytes(in: schema, where: isOfUploader)))"
        let statement: SQL = """
            WITH uploader AS MATERIALIZED (
                SELECT \(bytes) AS bytes, (
                    SELECT count(*) FROM (
                        SELECT FROM \(schema.internal)._asset AS known
                        WHERE known.state = 'expected' AND known.expires_at > now() AND \(isOfUploader) LIMIT \(limit)
                    ) AS waiting
                ) AS announced
            ), announced AS (
                INSERT INTO \(schema.internal)._asset (\(row.names)) SELECT \(row.values) FROM uploader
                WHERE uploader.announced < \(limit) AND uploader.bytes <= \((quota ?? .max) - asset.size)
                RETURNING name
            )\(upload)
            SELECT EXISTS (SELECT FROM announced), uploader.bytes FROM uploader
            """
        let (isAdded, used) = try await inserting {
            let result = try await store.client.write(statement)
            let isAdded = try result.decode(row: 0, column: 0, as: Bool.self)
            return (isAdded, try result.decode(row: 0, column: 1, as: Int64.self))
        }
        if let quota, !isAdded, used > quota - asset.size { throw .fileQuotaExceeded(limit: quota, used: used) }
        return isAdded
    }

    /// Returns the bytes of the files of a user, announced ones included.
    package func bytes(of owner: UserID) async throws(SkyrowError) -> Int64 {
        try await store.value(reading: Self.sumOfBytes(in: schema, where: "known.owner = \(owner)")) ?? 0
    }

    /// The index of owners contains the sizes.
    private static func sumOfBytes(in schema: SQLIdentifier, where condition: SQL) -> SQL {
        "SELECT coalesce(sum(known.size), 0)::bigint FROM \(schema.internal)._asset AS known WHERE \(condition)"
    }

    /// Inserts the row of a file whose bytes are in the storage.
    ///
    /// Throws `109 Duplicated` if the name exists, and `110 ResourceNotFound` if the account of the uploader does not.
    package func insertStored(_ asset: StoredAsset, sha256: [UInt8], storage: String) async throws(SkyrowError) {
        let row: NewRow =
            row(of: asset) + [
                "state": "'stored'", "stored_at": "now()", "sha256": "\(sha256)", "storage": "\(storage)",
            ]
        _ = try await insert("INSERT INTO \(schema.internal)._asset (\(row.names)) VALUES (\(row.values))")
    }

    private func row(of asset: StoredAsset) -> NewRow {
        [
            "name": "\(asset.name.rawValue)", "filename": "\(asset.filename)", "content_type": "\(asset.contentType)",
            "size": "\(asset.size)", "owner": "\(asset.owner as UserID?)", "sniffed": "\(asset.sniffed as String?)",
            "width": "\(asset.dimensions?.width as Int?)", "height": "\(asset.dimensions?.height as Int?)",
        ]
    }

    private func insert(_ statement: SQL) async throws(SkyrowError) -> Bool {
        try await inserting { try await store.client.write(statement).affectedRows == 1 }
    }

    private func inserting<Success>(_ body: () async throws -> Success) async throws(SkyrowError) -> Success {
        try await store.reporting(
            special: { error in
                switch error.sqlState {
                case .some(.uniqueViolation): .fileExists
                case .some(.foreignKeyViolation): .uploaderNotFound
                default: nil
                }
            },
            body
        )
    }

    /// Records that the bytes of an announced file are in the storage; returns false if they were there before.
    ///
    /// Throws `110 ResourceNotFound` if no file of this name is expected any more.
    ///
    /// - Parameters:
    ///   - asset: the file as it was received; its uploader and file name are those of the announcement.
    ///   - sha256: nil if the service did not receive it.
    package func markStored(
        _ asset: StoredAsset,
        sha256: [UInt8]?,
        storage: String = "local"
    ) async throws(SkyrowError) -> Bool {
        let columns = Columns(
            { (isDone: Bool, isKnown: Bool) in (isDone, isKnown) },
            "outcome.is_done",
            "outcome.is_known"
        )
        let rows = try await store.write(columns) {
            """
            WITH done AS (
                UPDATE \(schema.internal)._asset AS asset
                SET state = 'stored', stored_at = now(), expires_at = NULL, size = \(asset.size),
                    content_type = \(asset.contentType), sniffed = \(asset.sniffed as String?), width = \(asset.dimensions?.width as Int?),
                    height = \(asset.dimensions?.height as Int?), sha256 = \(sha256 as [UInt8]?), storage = \(storage)
                WHERE asset.name = \(asset.name.rawValue) AND asset.state = 'expected'
                RETURNING asset.name
            )
            SELECT \($0) FROM (SELECT
                EXISTS (SELECT FROM done) AS is_done,
                EXISTS (SELECT FROM \(schema.internal)._asset AS asset WHERE asset.name = \(asset.name.rawValue)) AS is_known
            ) AS outcome
            """
        }
        guard let outcome = rows.first, outcome.1 else { throw .fileNotFound }
        return outcome.0
    }

    /// Moves the announced files whose bytes have not arrived within a day to `_garbage`, since an upload may have stored their
    /// bytes and then failed; returns their number.
    package func expire() async throws(SkyrowError) -> Int {
        try await store.reporting {
            var count = 0
            while true {
                let isExpired: SQL = "asset.state = 'expected' AND asset.expires_at <= now()"
                let names = try await store.client.read(
                    """
                    SELECT asset.name FROM \(schema.internal)._asset AS asset WHERE \(isExpired)
                    ORDER BY asset.expires_at LIMIT \(Int64(Self.batch))
                    """
                ).decodeColumn(0, as: String.self)
                let removed = try await discard(names, if: isExpired)
                count += removed
                // A row that psql made a record refer to stays, and so does one that another process holds.
                if names.count < Self.batch || removed == 0 { return count }
            }
        }
    }

    // MARK: Reading

    /// Returns the row of a file, for every caller; nil if no file has the name.
    package func asset(_ name: AssetName) async throws(SkyrowError) -> StoredAsset? {
        try await store.read(StoredAsset.columns) {
            "SELECT \($0) FROM \(schema.internal)._asset AS asset WHERE asset.name = \(name.rawValue)"
        }.first ?? nil
    }

    /// Returns those of some files whose bytes are expected.
    package func expected(among names: [AssetName]) async throws(SkyrowError) -> [StoredAsset] {
        try await store.read(StoredAsset.columns) {
            """
            SELECT \($0) FROM \(schema.internal)._asset AS asset
            WHERE asset.name = ANY (\(names.map(\.rawValue))) AND asset.state = 'expected' ORDER BY asset.name
            """
        }.compactMap(\.self)
    }

    /// Returns how many files there are; reads all rows.
    package func totals() async throws(SkyrowError) -> AssetTotals {
        let columns = Columns(
            { (expected: Int64, stored: Int64, bytes: Int64) in
                AssetTotals(expected: Int(expected), stored: Int(stored), bytes: bytes)
            },
            "count(*) FILTER (WHERE asset.state = 'expected')",
            "count(*) FILTER (WHERE asset.state = 'stored')",
            "coalesce(sum(asset.size) FILTER (WHERE asset.state = 'stored'), 0)::bigint"
        )
        let rows = try await store.read(columns) { "SELECT \($0) FROM \(schema.internal)._asset AS asset" }
        return rows.first ?? AssetTotals()
    }

    // MARK: Comparing with the storage

    /// Returns stored files in the order of their names, from behind `name` on; fewer than `limit` at the end.
    package func rows(after name: AssetName?, limit: Int) async throws(SkyrowError) -> [AssetRow] {
        let columns = Columns(
            { (asset: StoredAsset?, sha256: [UInt8]?, storage: String) in
                asset.map { AssetRow(asset: $0, sha256: sha256, storage: storage) }
            },
            StoredAsset.columns,
            "asset.sha256",
            "asset.storage"
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._asset AS asset
            WHERE asset.state = 'stored' AND asset.name > \(name?.rawValue ?? "") ORDER BY asset.name LIMIT \(Int64(limit))
            """
        }.compactMap(\.self)
    }

    /// Returns those of some files in the storage that have no row, and whose bytes are not about to be deleted.
    package func unknown(among names: [AssetName]) async throws(SkyrowError) -> Set<AssetName> {
        let known = try await store.read(Columns({ (name: String) in name }, "known.name")) {
            """
            SELECT \($0) FROM unnest(\(names.map(\.rawValue))) AS known (name)
            WHERE EXISTS (SELECT FROM \(schema.internal)._asset AS asset WHERE asset.name = known.name)
                OR EXISTS (SELECT FROM \(schema.internal)._garbage AS garbage WHERE garbage.name = known.name)
            """
        }
        return Set(names).subtracting(known.compactMap { AssetName($0) })
    }

    /// Inserts the row of a file that was found in the storage; returns false if it has one, or its bytes are about to be deleted.
    ///
    /// An announced file becomes a stored one, and keeps its uploader.
    ///
    /// - Parameter sha256: nil if it was not computed.
    package func adopt(_ asset: StoredAsset, sha256: [UInt8]?, storage: String) async throws(SkyrowError) -> Bool {
        let row: NewRow =
            row(of: asset) + [
                "state": "'stored'", "stored_at": "now()", "sha256": "\(sha256 as [UInt8]?)", "storage": "\(storage)",
            ]
        return try await insert(
            """
            INSERT INTO \(schema.internal)._asset AS known (\(row.names)) SELECT \(row.values)
            WHERE NOT EXISTS (
                SELECT FROM \(schema.internal)._garbage AS garbage WHERE garbage.name = \(asset.name.rawValue)
            )
            ON CONFLICT (name) DO UPDATE
            SET state = 'stored', stored_at = now(), expires_at = NULL, size = EXCLUDED.size, sha256 = EXCLUDED.sha256,
                content_type = EXCLUDED.content_type, sniffed = EXCLUDED.sniffed, width = EXCLUDED.width,
                height = EXCLUDED.height, storage = EXCLUDED.storage
            WHERE known.state = 'expected'
            """
        )
    }
}

extension StoredAsset {
    /// Of `asset`, a row of `_asset`; nil for a name or a state that this service cannot read.
    static let columns = Columns(
        {
            (
                name: String,
                filename: String,
                contentType: String,
                size: Int64,
                state: String,
                owner: UserID?,
                storedAt: Timestamp?,
                sniffed: String?,
                width: Int64?,
                height: Int64?
            ) -> StoredAsset? in
            guard let name = AssetName(name), let state = State(rawValue: state) else { return nil }
            return StoredAsset(
                name: name,
                filename: filename,
                contentType: contentType,
                size: size,
                state: state,
                owner: owner,
                storedAt: storedAt,
                sniffed: sniffed,
                dimensions: width.flatMap { width in
                    height.map { PixelSize(width: Int(width), height: Int($0)) }
                }
            )
        },
        "asset.name",
        "asset.filename",
        "asset.content_type",
        "asset.size",
        "asset.state",
        "asset.owner",
        "asset.stored_at",
        "asset.sniffed",
        "asset.width",
        "asset.height"
    )
}

extension SkyrowError {
    /// `129 AssetSizeTooLarge`.
    ///
    /// - Parameters:
    ///   - limit: the bytes that the files of a user may have.
    ///   - used: the bytes that they have.
    package static func fileQuotaExceeded(limit: Int64, used: Int64) -> SkyrowError {
        SkyrowError(
            .assetSizeTooLarge,
            "Your files have \(used) of \(limit) bytes, and this one does not fit; delete some first.",
            info: ["limit": .integer(limit), "used": .integer(used)]
        )
    }

    fileprivate static let fileExists = SkyrowError(.duplicated, "The file exists already.")
    fileprivate static let fileNotFound = SkyrowError(.resourceNotFound, "The file does not exist.")
    fileprivate static let uploaderNotFound = SkyrowError(
        .resourceNotFound,
        "The account of the uploader does not exist."
    )
}
