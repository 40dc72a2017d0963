import Glibc
import SkyrowModel
package import SkyrowStore
package import SkyrowSystem

/// One import of a file, from survey to result.
package struct ImportRun: Sendable {
    package let settings: ImportSettings
    /// Whether faulty records are skipped.
    package let continuesOnError: Bool
    package let isDryRun: Bool
    package let progress: ProgressMaker

    package init(settings: ImportSettings, continuesOnError: Bool, isDryRun: Bool, progress: @escaping ProgressMaker) {
        self.settings = settings
        self.continuesOnError = continuesOnError
        self.isDryRun = isDryRun
        self.progress = progress
    }

    /// A progress event for the operator.
    package enum Event {
        /// The plan, before anything is written.
        case planned(ImportPlan, recordCount: Int)
        /// The faults, a sentence each.
        case faults([String])
    }

    /// Surveys the file's columns. Throws ``ToolError`` if the file is not readable to its end.
    package func survey() async throws(ToolError) -> ImportSurvey {
        let survey = try await ImportSource(path: settings.path, reading: settings.reading).survey()
        if let fault = survey.faults.first(where: \.endsFile) { throw .failure("\(settings.path), \(fault).") }
        try settings.check(survey)
        guard survey.recordCount > 0 || !survey.faults.isEmpty else {
            throw .failure("\(settings.path) has no records.")
        }
        return survey
    }

    /// Imports the file, and reports events.
    package func callAsFunction(
        _ survey: ImportSurvey,
        on store: RecordStore,
        report: (Event) -> Void
    ) async throws(ToolError) -> ImportResult {
        let start = ContinuousClock.now
        let plan = try ImportPlan(
            type: settings.type,
            survey: survey,
            known: try await store.knownFields(of: settings.type),
            idColumn: settings.idColumn
        )
        guard TypeRules.builtIn(plan.type).origin == .saves || plan.hasRows else {
            throw .usage("Accounts cannot be imported: auth:signup creates their records in '\(plan.type)'.")
        }
        report(.planned(plan, recordCount: survey.recordCount))
        var source = ImportSource(path: settings.path, reading: settings.reading)
        source.reading.table = plan.table
        let faults = try await source.faults(of: plan)
        report(.faults(faults.map { "\(settings.path), \($0)" }))
        if !faults.isEmpty, !continuesOnError {
            throw .failure("Nothing was imported. Correct the file, or skip such lines with --continue-on-error.")
        }
        var result = ImportResult(path: settings.path, plan: plan, leftOut: faults.count)
        if !isDryRun {
            let count = survey.recordCount + survey.faults.count - faults.count
            let summary = try await write(source, plan, recordCount: count, to: store)
            report(.faults(summary.faults.map { "\(settings.path), \(ImportRun.describe($0))" }))
            result.imported = summary.imported
            result.leftOut += summary.faults.count
            result.elapsed = .now - start
        }
        return result
    }

    private func write(
        _ source: ImportSource,
        _ plan: ImportPlan,
        recordCount: Int,
        to store: RecordStore
    ) async throws(ToolError) -> ImportSummary {
        var progress = progress(recordCount, "records")
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

    static func describe(_ fault: ImportFault) -> String {
        (fault.line.map { "line \($0): " } ?? "") + fault.error.message
    }
}

extension RecordStore {
    /// Returns the type's current fields for a plan.
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
