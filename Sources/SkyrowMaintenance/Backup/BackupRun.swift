import Glibc
package import Logging
package import SkyrowActions
package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore
package import SkyrowSystem

/// The database of a backup or a restore.
package struct BackupDatabase: Sendable {
    package let client: PostgresClient
    /// The PostgreSQL schema of the application.
    package let schema: SQLIdentifier
    package let logger: Logger
    /// The environment with which PostgreSQL's programs connect to the database.
    package let environment: [String: String]
    /// The descriptors that such a program inherits, as 3, 4, ….
    package let descriptors: [FileDescriptor]

    package init(
        client: PostgresClient,
        schema: SQLIdentifier,
        logger: Logger,
        environment: [String: String],
        descriptors: [FileDescriptor]
    ) {
        self.client = client
        self.schema = schema
        self.logger = logger
        self.environment = environment
        self.descriptors = descriptors
    }

    var store: RecordStore { RecordStore(client: client, schema: schema, mode: .production, logger: logger) }
}

/// The files of records in a backup or a restore.
package struct BackupFiles: Sendable {
    /// Where the service has them.
    package let storage: any FileStorage
    /// Where they are in addition to the archive; nil if they are in it.
    package let directory: (any FileStorage)?

    package init(storage: any FileStorage, directory: (any FileStorage)? = nil) {
        self.storage = storage
        self.directory = directory
    }
}

/// One backup, from reading the database to renaming the archive.
package struct BackupRun: Sendable {
    package let path: String
    /// Whether an existing archive is replaced.
    package let overwrites: Bool
    /// Whether valid access tokens are kept.
    package let withSessions: Bool
    /// The files to back up; nil for none.
    package let files: BackupFiles?
    /// The time that the archive states.
    package let time: Timestamp
    package let progress: ProgressMaker

    package init(
        path: String,
        overwrites: Bool,
        withSessions: Bool,
        files: BackupFiles? = nil,
        time: Timestamp,
        progress: @escaping ProgressMaker
    ) {
        self.path = path
        self.overwrites = overwrites
        self.withSessions = withSessions
        self.files = files
        self.time = time
        self.progress = progress
    }

    /// Throws ``ToolError`` if the database cannot be read completely, or the archive cannot be written.
    package func callAsFunction(_ database: BackupDatabase) async throws(ToolError) -> RunSummary {
        let start = ContinuousClock.now
        let source: BackupSource
        do {
            source = try await BackupSource(of: database.schema, client: database.client)
        } catch {
            throw ToolError(backupFailure: error, schema: database.schema)
        }
        let program = try DumpProgram.fitting(source.serverVersion, among: await DumpProgram.installed())
        let output = try OutputFile(path: path, replacing: overwrites)
        let writer = try BackupWriter(output, time: time)
        let (entry, tally) = try await write(database, source, program, to: writer)

        // The archive is read back as a restore would do, since an unreadable archive is not a backup.
        let reader = DumpReader(path: "/proc/self/fd/\(output.file.number)", entry: entry, program: program)
        let rows = try await reader.rows()
        var progress = progress(nil, "rows checked")
        defer { progress.finish() }
        while try await rows.next() != nil { progress.report(rows.rowCount) }
        let manifest = BackupManifest(
            schemaVersion: rows.schemaVersion,
            postgresVersion: program.majorVersion,
            time: time,
            schema: database.schema.name,
            hasSessions: withSessions,
            tables: rows.tables,
            leftOut: leftOut(source),
            files: archived(tally)
        )
        try await writer.add(BackupArchive.manifest) { write throws(ToolError) in try write(manifest.json) }
        try await writer.finish()
        return RunSummary(
            command: "backup",
            partsName: "tables",
            parts: manifest.parts,
            leftOut: manifest.leftOut,
            files: tally,
            filesLeftOut: tally == nil ? source.files : 0,
            bytes: writer.count,
            path: path,
            elapsed: .now - start
        )
    }

    /// Writes the dump and the files.
    private func write(
        _ database: BackupDatabase,
        _ source: BackupSource,
        _ program: DumpProgram,
        to writer: BackupWriter
    ) async throws(ToolError) -> (TarEntry, FileTally?) {
        guard let files else { return (try await dump(database, source, program, to: writer), nil) }
        do {
            // The rows of the dump have their files, which no deletion removes before they are copied.
            return try await FileSnapshot.withFiles(of: database.schema, client: database.client) { snapshot in
                let name = try await snapshot.exported()
                let entry = try await dump(database, source, program, snapshot: name, to: writer)
                return (entry, try await copy(files, of: snapshot, to: writer))
            }
        } catch {
            throw ToolError(backupFailure: error, schema: database.schema)
        }
    }

    private func copy(
        _ files: BackupFiles,
        of snapshot: FileSnapshot,
        to writer: BackupWriter
    ) async throws -> FileTally {
        let copy = FileCopy(source: files.storage, progress: progress)
        guard let directory = files.directory else {
            return try await copy(snapshot) { name, file throws(ToolError) in
                try await writer.add(BackupArchive.files + name.rawValue) { write throws(ToolError) in
                    while case let part = try file.nextPart(), !part.isEmpty { try write(part) }
                }
            }
        }
        return try await copy(snapshot) { name, size throws(ToolError) in
            try await directory.size(of: name) != size
        } _: { name, file throws(ToolError) in
            try await directory.write(name, file.nextPart)
        }
    }

    private func archived(_ tally: FileTally?) -> BackupManifest.Files? {
        guard let tally, files?.directory == nil else { return nil }
        return BackupManifest.Files(count: tally.count, bytes: Int(tally.bytes))
    }

    private func leftOut(_ source: BackupSource) -> [String] {
        withSessions ? [] : source.momentary
    }

    /// Dumps into the archive. pg_dump reads everything in one snapshot.
    private func dump(
        _ database: BackupDatabase,
        _ source: BackupSource,
        _ program: DumpProgram,
        snapshot: String? = nil,
        to writer: BackupWriter
    ) async throws(ToolError) -> TarEntry {
        let words = program.dump(
            schema: database.schema.name,
            internal: database.schema.internal.name,
            extensions: source.extensions,
            leftOut: leftOut(source),
            snapshot: snapshot
        )
        var progress = progress(nil, "bytes written")
        defer { progress.finish() }
        let offset = TarHeader.blockLength
        var size = 0
        try await writer.add(BackupArchive.dump) { write throws(ToolError) in
            let output = try await ProgramOutput(
                of: words,
                environment: database.environment,
                others: database.descriptors
            )
            while true {
                let chunk = try await output.next()
                if chunk.isEmpty { return }
                try write(chunk)
                size += chunk.count
                progress.report(size)
            }
        }
        return TarEntry(name: BackupArchive.dump, offset: offset, size: size)
    }
}

extension BackupManifest {
    /// The tables, for a summary.
    package var parts: [RunSummary.Part] {
        tables.map { RunSummary.Part(name: $0.name, rows: $0.rows, bytes: $0.bytes) }
    }
}

extension ToolError {
    /// Makes the error for a backup or restore that failed.
    package init(backupFailure error: any Error, schema: SQLIdentifier) {
        switch error as? BackupRefusal {
        case .nothing:
            self = .failure("The schema \(schema.name) has no application: start the service first.")
        case .isServed:
            self = .failure("A service is using the schema \(schema.name): stop all services of it first.")
        case .isNotEmpty(let names):
            let list = names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
            self = .failure(
                "The schema \(schema.name) is not empty (\(list)): add --replace to replace it with the archive."
            )
        case .othersDepend(let names):
            self = .failure(
                """
                These would be dropped with the schema \(schema.name): \(names.joined(separator: ", ")). Drop them first, \
                and create them again afterwards.
                """
            )
        case nil:
            self.init(databaseFailure: error)
        }
    }
}
