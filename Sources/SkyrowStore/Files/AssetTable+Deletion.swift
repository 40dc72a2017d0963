package import SkyrowModel
internal import SkyrowPostgres

/// The outcome of deleting a file among others.
package enum AssetDeletion: Hashable, Sendable {
    case deleted
    /// It could be deleted, and one of the others could not.
    case kept
    /// A record refers to it.
    case referredTo
    /// No file has the name, or it was uploaded by another user.
    case missing
}

/// A file whose row is deleted and whose bytes are deleted next.
package struct GarbageFile: Hashable, Sendable {
    package let name: AssetName
    package let storage: String
}

extension AssetTable {
    /// The number of files that one transaction deletes, apart from ``delete(_:owner:force:)``.
    static let batch = 500

    /// Deletes files that no field refers to, all of them or none; names inside of JSON do not count.
    ///
    /// Requests that are about to save a reference to one of them end before, or fail. Throws ``SkyrowError/filesAreHeld`` if a
    /// backup goes on for half a second.
    ///
    /// - Parameters:
    ///   - owner: only files that this user uploaded; nil for all.
    ///   - force: whether to clear the fields that refer to the files, as a change of their records. Throws `108 InvalidArgument`
    ///     above 10,000 fields, and `113 ConstraintViolated` for a column that cannot be NULL.
    /// - Returns: The outcome of each file.
    package func delete(
        _ names: [AssetName],
        owner: UserID?,
        force: Bool
    ) async throws(SkyrowError) -> [AssetName: AssetDeletion] {
        let outcomes = try await store.reporting(
            special: { error in
                switch error.sqlState {
                case .some(.notNullViolation): .fieldIsRequired
                // Of a foreign key that the service may not read, or one of several columns.
                case .some(.foreignKeyViolation): .fileIsReferredTo
                default: nil
                }
            },
            {
                do {
                    let wanted = Set(names.map(\.rawValue))
                    try await deleteTogether(wanted, owner: owner, force: force)
                    return Dictionary(uniqueKeysWithValues: wanted.map { ($0, AssetDeletion.deleted) })
                } catch let error as NotDeletable {
                    return Dictionary(uniqueKeysWithValues: error.names.map { ($0, error.reason) })
                }
            }
        )
        return Dictionary(names.map { ($0, outcomes[$0.rawValue] ?? .kept) }, uniquingKeysWith: { first, _ in first })
    }

    /// Throws ``NotDeletable`` if one of the files cannot be deleted.
    private func deleteTogether(_ wanted: Set<String>, owner: UserID?, force: Bool) async throws {
        try await deleting(attempts: 3) { transaction in
            let isOpen: SQL = owner.map { "asset.owner = \($0)" } ?? "true"
            // From here on no transaction can refer to them. Those that did so before have ended.
            let found = try await transaction.query(
                """
                SELECT asset.name FROM \(schema.internal)._asset AS asset
                WHERE asset.name = ANY (\(Array(wanted))) AND \(isOpen) ORDER BY asset.name FOR UPDATE
                """
            ).decodeColumn(0, as: String.self)
            let missing = wanted.subtracting(found)
            guard missing.isEmpty else { throw NotDeletable(names: missing, reason: .missing) }
            let references = try await AssetReferences(to: schema, in: transaction)
            if force { try await clear(references, to: found, in: transaction) }
            let held = try await wanted.subtracting(discard(found, unlessIn: references, in: transaction))
            guard held.isEmpty else { throw NotDeletable(names: held, reason: .referredTo) }
        }
    }

    /// Why nothing is deleted.
    private struct NotDeletable: Error {
        let names: Set<String>
        let reason: AssetDeletion
    }

    /// Sets the columns that refer to files to NULL. The triggers of record tables give the records new revisions and times.
    private func clear(
        _ references: AssetReferences,
        to names: [String],
        in transaction: PostgresTransaction
    ) async throws {
        let most = Int64(CascadeStatement.maximumDependents)
        var count: Int64 = 0
        for column in references.columns {
            count += try await transaction.query(
                """
                SELECT count(*) FROM (
                    SELECT FROM \(column.table) AS holder WHERE holder.\(column.name) = ANY (\(names)) LIMIT \(most + 1)
                ) AS held
                """
            ).decode(row: 0, column: 0, as: Int64.self)
            guard count <= most else { throw SkyrowError.tooManyHolders }
        }
        for column in references.columns {
            try await transaction.execute(
                "UPDATE \(column.table) SET \(column.name) = NULL WHERE \(column.name) = ANY (\(names))"
            )
        }
    }

    // MARK: Garbage

    /// Runs `body` in a transaction that moves files to `_garbage`, or removes them from it.
    ///
    /// A backup locks `_garbage`, so that no file is deleted meanwhile. This is the first lock of the transaction: it holds no
    /// row that a save waits for while it waits itself. Throws ``SkyrowError/filesAreHeld`` if the backup goes on.
    ///
    /// - Parameter attempts: 3 take half a second.
    func deleting<Success>(
        attempts: Int = 1,
        _ body: (PostgresTransaction) async throws -> Success
    ) async throws -> Success {
        do {
            return try await patiently(attempts: attempts) {
                try await store.client.withTransaction { transaction in
                    try await transaction.limitLockWaits()
                    try await transaction.execute("LOCK TABLE \(schema.internal)._garbage IN ROW EXCLUSIVE MODE")
                    // The locks of rows are waited for until the end of the statement's time.
                    try await transaction.execute("SET LOCAL lock_timeout = 0")
                    return try await body(transaction)
                }
            }
        } catch let error as PostgresError where error.sqlState == .lockNotAvailable {
            throw SkyrowError.filesAreHeld
        }
    }

    /// Moves those of some files to `_garbage` that no field refers to, that meet a condition on `asset`, and that no other
    /// transaction holds; returns their number. Throws ``SkyrowError/filesAreHeld`` beside a backup.
    func discard(_ names: [String], if condition: SQL) async throws -> Int {
        guard !names.isEmpty else { return 0 }
        do {
            return try await deleting { transaction in
                // A request that is saving a reference to one of them holds its row, so the file is skipped. A request that begins
                // later waits for this transaction, and then finds no file.
                let free = try await transaction.query(
                    """
                    SELECT asset.name FROM \(schema.internal)._asset AS asset
                    WHERE asset.name = ANY (\(names)) AND \(condition) ORDER BY asset.name FOR UPDATE SKIP LOCKED
                    """
                ).decodeColumn(0, as: String.self)
                guard !free.isEmpty else { return 0 }
                let references = try await AssetReferences(to: schema, in: transaction)
                return try await discard(free, unlessIn: references, in: transaction).count
            }
        } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
            // A foreign key that the service may not read refers to one of them, or one that was added meanwhile.
            guard names.count > 1 else { return 0 }
            var count = 0
            for name in names { count += try await discard([name], if: condition) }
            return count
        }
    }

    /// Moves those of some locked files to `_garbage` that no column refers to; returns their names.
    private func discard(
        _ names: [String],
        unlessIn references: AssetReferences,
        in transaction: PostgresTransaction
    ) async throws -> [String] {
        try await transaction.query(
            """
            WITH gone AS (
                DELETE FROM \(schema.internal)._asset AS asset
                WHERE asset.name = ANY (\(names)) AND NOT \(references.refer(to: "asset.name"))
                RETURNING asset.name, asset.storage
            ), kept AS (
                INSERT INTO \(schema.internal)._garbage (name, storage) SELECT gone.name, gone.storage FROM gone
                ON CONFLICT (name) DO NOTHING
            )
            SELECT gone.name FROM gone
            """
        ).decodeColumn(0, as: String.self)
    }

    /// Returns files whose bytes are to be deleted, in the order of their names, from behind `name` on; fewer than `limit` at the
    /// end.
    package func garbage(after name: AssetName?, limit: Int) async throws(SkyrowError) -> [GarbageFile] {
        let columns = Columns(
            { (name: String, storage: String) in AssetName(name).map { GarbageFile(name: $0, storage: storage) } },
            "garbage.name",
            "garbage.storage"
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._garbage AS garbage
            WHERE garbage.name > \(name?.rawValue ?? "") ORDER BY garbage.name LIMIT \(Int64(limit))
            """
        }.compactMap(\.self)
    }

    /// Removes files from `_garbage` whose bytes are deleted. Throws ``SkyrowError/filesAreHeld`` beside a backup.
    package func forget(_ names: [AssetName]) async throws(SkyrowError) {
        guard !names.isEmpty else { return }
        try await store.reporting {
            try await deleting { transaction in
                _ = try await transaction.execute(
                    "DELETE FROM \(schema.internal)._garbage AS garbage WHERE garbage.name = ANY (\(names.map(\.rawValue)))"
                )
            }
        }
    }
}

extension SkyrowError {
    /// `135 Overloaded`: files are not deleted while a backup or an export reads them.
    package static let filesAreHeld = SkyrowError(
        .overloaded,
        "No file can be deleted while a backup or an export copies the files; nothing was deleted. Try again later.",
        info: ["retry_after": .integer(60)]
    )

    fileprivate static let fileIsReferredTo = SkyrowError(
        .constraintViolated,
        "A row of the database refers to one of the files; nothing was deleted."
    )
    fileprivate static let fieldIsRequired = SkyrowError(
        .constraintViolated,
        "A field that refers to the file cannot be empty."
    )
    fileprivate static let tooManyHolders = SkyrowError.invalidArgument(
        """
        More than \(CascadeStatement.maximumDependents) fields refer to these files; delete the files or their records in parts.
        """,
        "names"
    )
}
