import Glibc
package import SkyrowActions
package import SkyrowModel
package import SkyrowStore
package import SkyrowSystem

/// One export, from the snapshot to the last file.
package struct ExportRun: Sendable {
    package let settings: ExportSettings
    /// The files, if they are exported.
    package let files: (any FileStorage)?
    /// The time stated in the manifest.
    package let time: Timestamp
    package let progress: ProgressMaker

    /// - Parameter files: Needed if the settings demand files.
    package init(
        settings: ExportSettings,
        files: (any FileStorage)? = nil,
        time: Timestamp,
        progress: @escaping ProgressMaker
    ) {
        self.settings = settings
        self.files = settings.withFiles ? files : nil
        self.time = time
        self.progress = progress
    }

    /// Throws ``ToolError`` if a type does not exist, or reading or writing fails.
    package func callAsFunction(on store: RecordStore) async throws(ToolError) -> RunSummary {
        let start = ContinuousClock.now
        do {
            guard files != nil else { return try await export(store, since: start) }
            return try await FileSnapshot.holding(store.schema, client: store.client) {
                try await export(store, since: start)
            }
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }

    private func export(_ store: RecordStore, since start: ContinuousClock.Instant) async throws -> RunSummary {
        try await store.withExport { export in
            let types = try chosenTypes(of: export)
            let (parts, tally) =
                switch settings.format {
                case .csv:
                    try await write(types, of: export) {
                        CSVRecordWriter(columns: $0, defusingFormulas: settings.isForSpreadsheets)
                    }
                case .json, .ndjson:
                    try await write(types, of: export) { _ in JSONRecordWriter(format: settings.format) }
                }
            return RunSummary(
                command: "export",
                partsName: "types",
                parts: parts,
                files: tally,
                bytes: parts.reduce(0) { $0 + ($1.bytes ?? 0) },
                path: path,
                elapsed: .now - start
            )
        }
    }

    private var path: String? {
        switch settings.destination {
        case .standardOutput: nil
        case .file(let path), .directory(let path): path
        }
    }

    private func chosenTypes(of export: RecordExport) throws(ToolError) -> [ExportedType] {
        guard !settings.types.isEmpty else { return export.types }
        var chosen: [ExportedType] = []
        for name in settings.types {
            guard let type = export.types.first(where: { $0.name == name }) else {
                throw .failure("The record type \(name) does not exist.")
            }
            chosen.append(type)
        }
        return chosen
    }

    private func write<Writer: RecordFileWriter>(
        _ types: [ExportedType],
        of export: RecordExport,
        with makeWriter: ([String]) -> Writer
    ) async throws -> ([RunSummary.Part], FileTally?) {
        let estimates = types.compactMap(\.estimate)
        var progress = progress(estimates.count == types.count ? estimates.reduce(0, +) : nil, "records")
        defer { progress.finish() }
        var parts: [RunSummary.Part] = []
        var tally: FileTally?
        func copy(_ type: ExportedType, to output: ExportOutput) async throws {
            var writer = makeWriter(type.columnNames)
            let before = parts.reduce(0) { $0 + $1.rows }
            let count = try await export.write(type, to: &writer) { writer, count in
                try output.write(writer.take())
                progress.report(before + count)
            }
            writer.finish()
            try output.write(writer.take())
            parts.append(RunSummary.Part(name: type.name.rawValue, rows: count, bytes: try await output.finish()))
        }
        switch settings.destination {
        case .standardOutput:
            for type in types { try await copy(type, to: ExportOutput(descriptor: FileDescriptor(owning: dup(1)))) }
        case .file(let path):
            for type in types { try await copy(type, to: ExportOutput(path: path, replacing: settings.overwrites)) }
        case .directory(let path):
            let directory = try ExportDirectory(path: path, replacing: settings.overwrites)
            for type in types {
                try await copy(
                    type,
                    to: ExportOutput(path: directory.path(of: type.name, settings.format), replacing: true)
                )
            }
            if let files {
                tally = try await copyFiles(files, of: export.files, to: directory.makeFolder(named: "files"))
            }
            try directory.finish(
                ExportManifest(
                    format: settings.format,
                    time: time,
                    types: zip(types, parts).map { directory.entry(of: $0, $1, settings.format) }
                )
            )
        }
        return (parts, tally)
    }

    private func copyFiles(
        _ files: any FileStorage,
        of snapshot: FileSnapshot,
        to folder: String
    ) async throws -> FileTally {
        try await FileCopy(source: files, progress: progress)(snapshot) { name, file throws(ToolError) in
            let output = try OutputFile(path: "\(folder)/\(name)", replacing: true)
            let contents = try await FileContents.read(file.nextPart) { part throws(ToolError) in try output.write(part)
            }
            try output.finish()
            return contents
        }
    }
}

/// The output for one type: standard output, or a file, compressed if its name ends with `.gz`.
final class ExportOutput {
    private let descriptor: FileDescriptor
    private let output: OutputFile?
    private let compressor: GzipWriter?
    private var count = 0

    init(descriptor: FileDescriptor) {
        self.descriptor = descriptor
        output = nil
        compressor = nil
    }

    init(path: String, replacing: Bool) async throws(ToolError) {
        let output = try OutputFile(path: path, replacing: replacing)
        self.output = output
        descriptor = output.file
        compressor = path.lowercased().hasSuffix(".gz") ? try await GzipWriter(to: output.file) : nil
    }

    func write(_ bytes: [UInt8]) throws(ToolError) {
        count += bytes.count
        if let compressor { try compressor.write(bytes) } else { try descriptor.write(bytes) }
    }

    /// Finishes the file, and returns the number of bytes written to it, before compression.
    func finish() async throws(ToolError) -> Int {
        try await compressor?.finish()
        try output?.finish()
        return count
    }
}

/// A directory with a file per type, and the manifest that completes it.
struct ExportDirectory: Sendable {
    let path: String

    /// Makes the directory. Throws ``ToolError`` if it is not empty, unless it may be overwritten.
    init(path: String, replacing: Bool) throws(ToolError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("Cannot create the directory \(path)") }
        guard let names = contentsOfDirectory(path) else { throw .system("Cannot open the directory \(path)") }
        guard replacing || names.isEmpty else {
            throw .failure(
                "The directory \(path) is not empty: choose another one, or add --overwrite to write into it."
            )
        }
        // A manifest of earlier contents no longer applies.
        guard unlink("\(path)/\(ExportManifest.fileName)") == 0 || errno == ENOENT else {
            throw .system("Cannot remove \(path)/\(ExportManifest.fileName)")
        }
    }

    /// Makes a directory in this one, unless it exists, and returns its path.
    func makeFolder(named name: String) throws(ToolError) -> String {
        let folder = "\(path)/\(name)"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw .system("Cannot create the directory \(folder)")
        }
        return folder
    }

    func path(of type: RecordTypeName, _ format: FileFormat) -> String {
        "\(path)/\(type).\(format.rawValue)"
    }

    func entry(of type: ExportedType, _ part: RunSummary.Part, _ format: FileFormat) -> ExportManifest.Entry {
        ExportManifest.Entry(
            type: type.name,
            file: "\(type.name).\(format.rawValue)",
            records: part.rows,
            bytes: part.bytes ?? 0,
            fields: Dictionary(type.recordType.fields.map { ($0.key.rawValue, $0.value.name) }) { first, _ in first },
            sequences: type.sequences,
            deleteRules: type.recordType.deleteRules,
            textLanguages: type.recordType.textLanguages,
            storedTexts: type.recordType.storedTexts,
            access: type.access
        )
    }

    func finish(_ manifest: ExportManifest) throws(ToolError) {
        let file = try OutputFile(path: "\(path)/\(ExportManifest.fileName)", replacing: true)
        try file.write(manifest.json)
        try file.finish()
    }
}
