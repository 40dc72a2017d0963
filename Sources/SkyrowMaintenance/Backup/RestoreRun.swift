import SkyrowActions
package import SkyrowModel
import SkyrowPostgres
package import SkyrowStore
package import SkyrowSystem

/// One restore of a verified archive, which replaces the existing data completely or not at all.
package struct RestoreRun: Sendable {
    package let archive: BackupReader
    /// Whether existing contents of the schema may be replaced.
    package let replaces: Bool
    /// Whether the archive's SQL may run with privileges beyond the database.
    package let trusts: Bool
    /// Whether the archive's access tokens stay valid.
    package let keepsSessions: Bool
    /// The present time.
    package let time: Timestamp
    private let migrator: Migrator
    private let progress: ProgressMaker

    /// Throws ``ToolError`` if this program or these settings do not support the archive.
    package init(
        _ archive: BackupReader,
        schema: String,
        replaces: Bool,
        trusts: Bool = false,
        keepsSessions: Bool = false,
        time: Timestamp,
        migrator: Migrator = Migrator(),
        progress: @escaping ProgressMaker
    ) throws(ToolError) {
        self.archive = archive
        self.replaces = replaces
        self.trusts = trusts
        self.keepsSessions = keepsSessions
        self.time = time
        self.migrator = migrator
        self.progress = progress
        let manifest = archive.manifest
        guard manifest.schemaVersion <= migrator.latestVersion else {
            throw .failure(
                """
                \(archive.path) has schema version \(manifest.schemaVersion), and this skyrow supports versions up to \
                \(migrator.latestVersion): use a newer skyrow (the archive was created with \(manifest.program)).
                """
            )
        }
        guard manifest.schema == schema else {
            throw .failure(
                "\(archive.path) contains the schema \(manifest.schema), not \(schema): add --schema \(manifest.schema)."
            )
        }
    }

    /// Throws ``ToolError`` if the archive cannot be restored; the database is unchanged then.
    ///
    /// - Parameter files: Where the files go, and where they are unless they are in the archive; nil leaves them out.
    package func callAsFunction(
        _ database: BackupDatabase,
        files: BackupFiles? = nil
    ) async throws(ToolError) -> (RunSummary, [Migrator.Step]) {
        let start = ContinuousClock.now
        let manifest = archive.manifest
        do {
            let server = try await BackupSource.serverVersion(database.client)
            guard server >= manifest.postgresVersion else {
                throw ToolError.failure(
                    """
                    \(archive.path) was created with PostgreSQL \(manifest.postgresVersion), and this server has \
                    PostgreSQL \(server): restore to a server that is at least as new.
                    """
                )
            }
            if !trusts { try await refusePowerfulRole(database.client) }
            let reader = try await reader()
            var tally: FileTally?
            let steps = try await SchemaRestore.restore(
                database.schema,
                client: database.client,
                replacing: replaces,
                keepingSessions: keepsSessions,
                migrator: migrator,
                logger: database.logger
            ) { restore in
                // Files that a failed restore leaves have no rows, so `skyrow files verify --remove` finds them.
                if let files, files.directory == nil { tally = try await restoreFiles(to: files.storage) }
                try await make("pre-data", in: restore, reader) { piece, script in try await piece.run(script) }
                try await fill(restore, try await reader.rows())
                var incomplete = Incomplete(manifest)
                try await make("post-data", in: restore, reader) { piece, script in
                    for reference in DumpReference.all(in: script, of: database.schema)
                    where incomplete.misses(reference.target) {
                        guard try await piece.removeDangling(reference) > 0 else { continue }
                        incomplete.tables.insert(reference.table)
                    }
                    try await piece.run(script)
                }
                if let files, let directory = files.directory {
                    tally = try await copyFiles(of: restore, database.schema, from: directory, to: files.storage)
                }
            }
            let summary = RunSummary(
                command: "restore",
                partsName: "tables",
                parts: manifest.parts,
                files: tally,
                fileReport: try await verify(files, database),
                bytes: archive.dump.size,
                path: archive.path,
                elapsed: .now - start
            )
            return (summary, steps)
        } catch let error as PostgresError where error.sqlState == .outOfMemory {
            throw .failure(
                """
                PostgreSQL ran out of memory: \(error.message ?? "\(error)"). Nothing was changed. If its lock table is full, \
                raise max_locks_per_transaction, or drop the schema \(database.schema.name) if it is empty.
                """
            )
        } catch let error as PostgresError where error.code == .server {
            let reason = error.message ?? "\(error)"
            throw .failure("PostgreSQL rejected the contents of \(archive.path): \(reason). Nothing was changed.")
        } catch {
            throw ToolError(backupFailure: error, schema: database.schema)
        }
    }

    /// Writes the files of the archive that the storage lacks.
    private func restoreFiles(to storage: any FileStorage) async throws(ToolError) -> FileTally {
        var tally = FileTally()
        var progress = progress(archive.manifest.files?.count ?? 0, "files")
        defer { progress.finish() }
        try await archive.eachFile { name, next, check throws(ToolError) in
            if let present = try await storage.contents(of: name), (try? check(present)) != nil {
                tally.present += 1
            } else {
                tally.add(try await storage.write(name, next, check: check))
            }
            progress.report(tally.count + tally.present)
        }
        return tally
    }

    /// Copies the files of the restored rows that the storage lacks, before clients can see the rows.
    private func copyFiles(
        of restore: SchemaRestore,
        _ schema: SQLIdentifier,
        from directory: any FileStorage,
        to storage: any FileStorage
    ) async throws -> FileTally {
        var tally = FileTally()
        var progress = progress(nil, "files")
        defer { progress.finish() }
        var last: AssetName?
        repeat {
            let page = try await restore.piece { piece in try await piece.storedFiles(after: last, of: schema) }
            for row in page {
                if try await storage.size(of: row.name) == row.size {
                    tally.present += 1
                } else if let file = try await directory.file(row.name) {
                    tally.add(try await storage.write(row.name, file.nextPart), of: row)
                } else {
                    tally.add(missing: row)
                }
                progress.report(tally.count + tally.present)
            }
            last = page.count < FileRow.pageLength ? nil : page.last?.name
        } while last != nil
        return tally
    }

    /// Compares the rows with the files; nil if files were left out.
    private func verify(_ files: BackupFiles?, _ database: BackupDatabase) async throws(ToolError) -> FileReport? {
        guard let files else { return nil }
        let run = FileVerification(time: time, progress: progress)
        do throws(ToolError) {
            return try await run(files.storage, of: database.store)
        } catch {
            throw .failure("The rows are restored, and the files could not be compared with them: \(error)")
        }
    }

    /// Creates the objects of a section, in pieces.
    private func make(
        _ section: String,
        in restore: SchemaRestore,
        _ reader: DumpReader,
        _ body: (RestorePiece, _ script: String) async throws -> Void
    ) async throws {
        for part in try await reader.parts(of: section, length: restore.pieceLength) {
            let script = try await reader.script(section: section, part: part)
            try await restore.piece { piece in try await body(piece, script) }
        }
    }

    /// The tables with missing rows that others may refer to. Archives without sessions by earlier versions contain
    /// live tickets, which refer to sessions.
    private struct Incomplete {
        private let present: Set<String>
        var tables: Set<String> = []

        init(_ manifest: BackupManifest) {
            present = Set(manifest.tables.map(\.name))
        }

        func misses(_ table: String) -> Bool {
            !present.contains(table) || tables.contains(table)
        }
    }

    private func reader() async throws(ToolError) -> DumpReader {
        let program = try DumpProgram.fitting(archive.manifest.postgresVersion, among: await DumpProgram.installed())
        return DumpReader(path: archive.path, entry: archive.dump, program: program)
    }

    /// Returns the functions and triggers in the archive that Skyrow did not make; read-only.
    ///
    /// Throws ``ToolError`` if the archive cannot be read, or pg_restore is missing.
    package func foreignCode() async throws(ToolError) -> [ArchiveCode] {
        let reader = try await reader()
        var script = ""
        for section in ["pre-data", "post-data"] {
            for part in try await reader.parts(of: section, length: .max) {
                script += try await reader.script(section: section, part: part) + "\n"
            }
        }
        return ArchiveCode.foreign(in: script)
    }

    /// The archive's SQL runs as the restoring role. As a superuser it could run commands and read files.
    private func refusePowerfulRole(_ client: PostgresClient) async throws {
        // Superusers are members of every role.
        let result = try await client.read(
            """
            SELECT current_user::text FROM pg_catalog.pg_roles
            WHERE rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
                AND pg_catalog.pg_has_role(oid, 'MEMBER')
            LIMIT 1
            """
        )
        guard !result.isEmpty else { return }
        throw ToolError.failure(
            """
            The role \(try result.decode(row: 0, column: 0, as: String.self)) may run commands or use files on the machine of \
            PostgreSQL, and so could SQL in \(archive.path): restore as the role of the service, which lacks these rights, or \
            add --trust-archive if the archive is your own.
            """
        )
    }

    private func fill(_ restore: SchemaRestore, _ rows: DumpRows) async throws {
        let manifest = archive.manifest
        var progress = progress(manifest.tables.reduce(0) { $0 + $1.rows }, "rows")
        defer { progress.finish() }
        // The settings at the beginning of the script apply to every session.
        var settings: String?
        var isAtEnd = false
        while !isAtEnd {
            isAtEnd = try await restore.piece { piece in
                if let settings { try await piece.run(settings) }
                for _ in 0..<restore.pieceLength {
                    switch try await rows.next() {
                    case .script(let statements)?:
                        if settings == nil { settings = statements }
                        try await piece.run(statements)
                    case .copy(let statement, let table)?:
                        let count = try await piece.copy(statement, rows.lines)
                        guard count == rows.tables.last?.rows else {
                            throw ToolError.failure(
                                "\(table) has \(count) rows, which is not the number in the archive."
                            )
                        }
                        progress.report(rows.rowCount)
                    case .lines?, .endOfCopy?: break
                    case nil: return true
                    }
                }
                return false
            }
        }
        // The archive was verified before; this detects a change since then.
        guard rows.tables == manifest.tables else { throw ToolError.damagedArchive(archive.path) }
    }
}
