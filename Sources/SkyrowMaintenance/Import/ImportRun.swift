import Glibc
import SkyrowModel
import SkyrowStore

/// One import of a file, from the table of columns to the last sentence.
struct ImportRun: Sendable {
    let settings: ImportSettings
    /// Whether what cannot be imported is left out.
    let continuesOnError: Bool
    let isDryRun: Bool
    /// Whether one JSON object at the end replaces the progress reports.
    let isJSON: Bool

    /// Reads the file for its columns; throws ``ToolError`` when it cannot be understood to its end.
    func survey() async throws(ToolError) -> ImportSurvey {
        let survey = try await ImportSource(path: settings.path, reading: settings.reading).survey()
        if let fault = survey.faults.first(where: \.endsFile) { throw .failure("\(settings.path), \(fault).") }
        try settings.check(survey)
        guard survey.recordCount > 0 || !survey.faults.isEmpty else {
            throw .failure("There are no records in \(settings.path).")
        }
        return survey
    }

    /// Shows what it will do, and does it.
    func callAsFunction(_ survey: ImportSurvey, on store: RecordStore) async throws(ToolError) {
        let start = ContinuousClock.now
        let plan = try ImportPlan(
            type: settings.type,
            survey: survey,
            known: try await store.knownFields(of: settings.type),
            idColumn: settings.idColumn
        )
        guard TypeRules.builtIn(plan.type).origin == .saves || plan.hasRows else {
            throw .usage("Accounts cannot be imported: their records in '\(plan.type)' are made by auth:signup.")
        }
        if !isJSON {
            let rows = plan.hasRows ? ", with owners, access lists and times" : ""
            print("\(settings.path) to \(settings.type), \(decimal(survey.recordCount)) records\(rows):")
            print(importTable(plan, recordCount: survey.recordCount))
            fflush(nil)
        }

        var source = ImportSource(path: settings.path, reading: settings.reading)
        source.reading.table = plan.table
        let faults = try await source.faults(of: plan)
        report(faults.map(\.description))
        if !faults.isEmpty, !continuesOnError {
            throw .failure("Nothing was imported. Correct the file, or leave such lines out with --continue-on-error.")
        }
        var result = ImportResult(path: settings.path, plan: plan, leftOut: faults.count)
        if !isDryRun {
            let count = survey.recordCount + survey.faults.count - faults.count
            let summary = try await write(source, plan, recordCount: count, to: store)
            report(summary.faults.map(ImportRun.describe))
            result.imported = summary.imported
            result.leftOut += summary.faults.count
            result.elapsed = .now - start
        }
        print(isJSON ? result.json : result.sentence)
    }

    private func write(
        _ source: ImportSource,
        _ plan: ImportPlan,
        recordCount: Int,
        to store: RecordStore
    ) async throws(ToolError) -> ImportSummary {
        var progress = Progress(total: recordCount)
        defer { progress.finish() }
        do {
            return try await store.importRecords(
                ImportRows(source: source, plan: plan),
                to: plan.importColumns,
                creating: plan.newFields,
                keepsGoing: continuesOnError
            ) { progress.report($0) }
        } catch let fault as ImportFault {
            throw .failure("\(settings.path), \(ImportRun.describe(fault)) Nothing was imported.")
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }

    /// Writes faults to standard error, up to a limit.
    private func report(_ faults: [String]) {
        var lines = faults.prefix(ImportRun.shownFaults).map { "\(settings.path), \($0)" }
        if faults.count > lines.count { lines.append("… and \(decimal(faults.count - lines.count)) more") }
        for line in lines { complain(line) }
    }

    private static let shownFaults = 20

    static func describe(_ fault: ImportFault) -> String {
        (fault.line.map { "line \($0): " } ?? "") + fault.error.message
    }
}

extension RecordStore {
    /// What a plan must know of the type as it is now.
    func knownFields(of type: RecordTypeName) async throws(ToolError) -> ImportPlan.KnownFields {
        do {
            var known = ImportPlan.KnownFields()
            for column in try await table(of: type)?.columns ?? [] {
                known.existing[column.field] = column.type
                if !column.isWritable { known.readOnly.insert(column.field) }
            }
            return known
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }
}
