import Glibc
import SkyrowModel
import SkyrowStore

/// One import, from the table of columns to the last sentence.
struct ImportRun: Sendable {
    let settings: ImportSettings
    /// Whether what cannot be imported is left out.
    let continuesOnError: Bool
    let isDryRun: Bool

    private var source: ImportSource { ImportSource(path: settings.path, reading: settings.reading) }

    /// Reads the file for its columns; throws ``ToolError`` when it cannot be understood to its end.
    func survey() async throws(ToolError) -> ImportSurvey {
        let survey = try await source.survey()
        if let fault = survey.faults.first(where: \.endsFile) { throw .failure("\(settings.path), \(fault).") }
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
            existing: try await existingFields(store),
            idColumn: settings.idColumn
        )
        print("\(settings.path) to \(settings.type), \(decimal(survey.recordCount)) records:")
        print(importTable(plan, recordCount: survey.recordCount))
        fflush(nil)

        let faults = try await source.faults(of: plan)
        report(faults.map(\.description))
        if !faults.isEmpty, !continuesOnError {
            throw .failure("Nothing was imported. Mend the file, or leave such lines out with --continue-on-error.")
        }
        if isDryRun {
            print("Nothing was imported, as --dry-run asks.")
            return
        }
        let summary = try await write(plan, recordCount: survey.recordCount - faults.count, to: store)
        report(summary.faults.map(ImportRun.describe))
        print(ImportRun.conclusion(summary, leftOut: faults.count, type: plan.type, elapsed: .now - start))
    }

    private func existingFields(_ store: RecordStore) async throws(ToolError) -> [FieldName: FieldType] {
        do {
            return try await store.recordSchema().types[settings.type]?.fields ?? [:]
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }

    private func write(
        _ plan: ImportPlan,
        recordCount: Int,
        to store: RecordStore
    ) async throws(ToolError) -> ImportSummary {
        var progress = ImportProgress(total: recordCount)
        defer { progress.finish() }
        do {
            return try await store.importRecords(
                ImportRows(source: source, plan: plan),
                to: ImportColumns(type: plan.type, fields: plan.fields),
                creating: plan.newFields,
                keepsGoing: continuesOnError
            ) { progress.report($0) }
        } catch let fault as ImportFault {
            throw .failure("\(settings.path), \(ImportRun.describe(fault)) Nothing was imported.")
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }

    /// Tells faults on standard error, as many as one wants to read.
    private func report(_ faults: [String]) {
        var lines = faults.prefix(ImportRun.shownFaults).map { "\(settings.path), \($0)" }
        if faults.count > lines.count { lines.append("… and \(decimal(faults.count - lines.count)) more") }
        for line in lines { complain(line) }
    }

    private static let shownFaults = 20

    private static func describe(_ fault: ImportFault) -> String {
        (fault.line.map { "line \($0): " } ?? "") + fault.error.message
    }

    /// `58,788 records imported to movie in 1.9 s, 30,941 a second; 3 left out`
    static func conclusion(
        _ summary: ImportSummary,
        leftOut: Int,
        type: RecordTypeName,
        elapsed: Duration
    ) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let tenths = Int((seconds * 10).rounded())
        let rate = Int(Double(summary.imported) / max(seconds, 1e-3))
        let left = leftOut + summary.faults.count
        return "\(decimal(summary.imported)) records imported to \(type) in \(tenths / 10).\(tenths % 10) s, "
            + "\(decimal(rate)) a second" + (left > 0 ? "; \(decimal(left)) left out" : "")
    }
}
