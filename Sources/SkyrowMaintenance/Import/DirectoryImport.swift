import Glibc
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
package import SkyrowStore
package import SkyrowSystem

/// The import of a directory that `skyrow export` wrote, completely or not at all.
package struct DirectoryImport: Sendable {
    package let directory: String
    package let manifest: ExportManifest
    /// The types to import, ordered to minimize references to later types.
    package let entries: [ExportManifest.Entry]
    package let isDryRun: Bool
    let progress: ProgressMaker

    /// - Parameter type: The only type to import; nil for all.
    ///
    /// Throws ``ToolError`` if the directory is not a complete export, or lacks the type.
    package init(directory: String, type: String?, isDryRun: Bool, progress: @escaping ProgressMaker) throws(ToolError)
    {
        self.directory = directory
        self.isDryRun = isDryRun
        self.progress = progress
        manifest = try ExportManifest(of: directory)
        let chosen = manifest.types.filter { type == nil || $0.type.rawValue == type }
        guard !chosen.isEmpty || type == nil else { throw .failure("\(directory) has no type \(type ?? "").") }
        entries = DirectoryImport.order(chosen)
    }

    /// The total number of records.
    package var recordCount: Int { entries.reduce(0) { $0 + $1.records } }

    /// Orders types before those that refer to them; within reference cycles, in the given order.
    ///
    /// Skyrow's references are deferred to the end of the transaction and need no order; those made in psql may.
    package static func order(_ entries: [ExportManifest.Entry]) -> [ExportManifest.Entry] {
        var ordered: [ExportManifest.Entry] = []
        var visited: Set<RecordTypeName> = []
        func visit(_ entry: ExportManifest.Entry) {
            guard visited.insert(entry.type).inserted else { return }
            for case .reference(let target) in entry.knownFields.sorted(by: { $0.key < $1.key }).map(\.value) {
                if let other = entries.first(where: { $0.type == target }) { visit(other) }
            }
            ordered.append(entry)
        }
        for entry in entries { visit(entry) }
        return ordered
    }

    /// Throws ``ToolError`` for the first thing that cannot be imported.
    ///
    /// - Parameter planned: Called before anything is written.
    package func callAsFunction(on store: RecordStore, planned: () -> Void) async throws(ToolError) -> RunSummary {
        let start = ContinuousClock.now
        var parts: [(entry: ExportManifest.Entry, plan: ImportPlan)] = []
        for entry in entries { parts.append((entry, try await plan(entry, on: store))) }
        planned()
        if isDryRun {
            for (entry, plan) in parts {
                var count = 0
                do {
                    for try await _ in rows(entry, plan) { count += 1 }
                } catch {
                    throw explain(error, entry)
                }
                try check(count, entry)
            }
        } else {
            try await write(parts, to: store)
        }
        return RunSummary(
            command: "import",
            isDryRun: isDryRun,
            partsName: "types",
            parts: entries.map { RunSummary.Part(name: $0.type.rawValue, rows: $0.records) },
            bytes: entries.reduce(0) { $0 + $1.bytes },
            path: directory,
            elapsed: .now - start
        )
    }

    private func plan(_ entry: ExportManifest.Entry, on store: RecordStore) async throws(ToolError) -> ImportPlan {
        var known = try await store.knownFields(of: entry.type)
        known.declared = entry.knownFields
        let names =
            manifest.format == .csv
            ? ReservedColumn.exported.map(\.rawValue) : ReservedColumn.exported.map(\.member) + ["_type"]
        return try ImportPlan(
            type: entry.type,
            survey: ImportSurvey(columns: names + entry.fields.keys.sorted()),
            known: known
        )
    }

    private func rows(_ entry: ExportManifest.Entry, _ plan: ImportPlan) -> ImportRows {
        let reading = ImportReading(format: manifest.format, table: plan.table)
        let source = ImportSource(path: "\(directory)/\(entry.file)", reading: reading)
        return ImportRows(source: source, plan: plan, isStrict: true)
    }

    private func write(
        _ parts: [(entry: ExportManifest.Entry, plan: ImportPlan)],
        to store: RecordStore
    ) async throws(ToolError) {
        var progress = progress(recordCount, "records")
        defer { progress.finish() }
        var done = 0
        var current = parts.first?.entry
        let access = parts.compactMap { part in part.entry.access.map { (part.entry.type, $0) } }
        do {
            try await store.withImport(
                creating: parts.map { $0.entry.recordType(of: $0.plan.newFields) },
                access: Dictionary(access) { first, _ in first }
            ) { records in
                for (entry, plan) in parts {
                    current = entry
                    let count = try await records.add(rows(entry, plan), to: plan.importColumns) {
                        progress.report(done + $0)
                    }
                    try check(count, entry)
                    for (field, number) in entry.sequences {
                        try await records.advanceSequence(field, of: entry.type, to: number)
                    }
                    done += count
                }
            }
        } catch {
            throw explain(error, current)
        }
    }

    /// Throws if the record count is wrong: a file truncated between two lines looks complete.
    private func check(_ count: Int, _ entry: ExportManifest.Entry) throws(ToolError) {
        guard count == entry.records else {
            throw .failure(
                """
                \(directory)/\(entry.file) has \(decimal(count)) records and \(ExportManifest.fileName) says \
                \(decimal(entry.records)): it was changed or truncated. Nothing was imported.
                """
            )
        }
    }

    private func explain(_ error: any Error, _ entry: ExportManifest.Entry?) -> ToolError {
        let path = entry.map { "\(directory)/\($0.file)" } ?? directory
        return switch error {
        case let fault as LineFault: .failure("\(path), \(fault). Nothing was imported.")
        case let fault as ImportFault where fault.line == nil:
            .failure("\(directory): \(fault.error.message) Nothing was imported.")
        case let fault as ImportFault: .failure("\(path), \(ImportRun.describe(fault)) Nothing was imported.")
        default: ToolError(databaseFailure: error)
        }
    }
}

extension ExportManifest.Entry {
    /// The record type with its new fields, as it was exported. Existing fields stay as they are.
    fileprivate func recordType(of newFields: [FieldName: FieldType]) -> RecordType {
        // Profiles are deleted only with their accounts, regardless of the references that psql made.
        let mayCascade = TypeRules.builtIn(type).origin != .accounts
        return RecordType(
            name: type,
            fields: newFields,
            deleteRules: deleteRules.filter { newFields[$0.key] != nil && (mayCascade || $0.value != .cascade) },
            textLanguages: textLanguages.filter { newFields[$0.key] != nil },
            storedTexts: storedTexts.filter { newFields[$0] != nil }
        )
    }
}
