import Glibc
import SkyrowModel
import SkyrowStore

/// One import of a file, from the table of columns to the last sentence.
struct ImportRun: Sendable {
    let settings: ImportSettings
    /// Whether what cannot be imported is left out.
    let continuesOnError: Bool
    let isDryRun: Bool

    /// Reads the file for its columns; throws ``ToolError`` when it cannot be understood to its end.
    func survey() async throws(ToolError) -> ImportSurvey {
        let survey = try await ImportSource(path: settings.path, reading: settings.reading).survey()
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
            known: try await store.knownFields(of: settings.type),
            idColumn: settings.idColumn
        )
        guard plan.type != .user || plan.hasRows else {
            throw .usage("Accounts cannot be imported: their records in 'user' are made by auth:signup.")
        }
        let rows = plan.hasRows ? ", with owners, access lists and times" : ""
        print("\(settings.path) to \(settings.type), \(decimal(survey.recordCount)) records\(rows):")
        print(importTable(plan, recordCount: survey.recordCount))
        fflush(nil)

        var source = ImportSource(path: settings.path, reading: settings.reading)
        source.reading.table = plan.table
        let faults = try await source.faults(of: plan)
        report(faults.map(\.description))
        if !faults.isEmpty, !continuesOnError {
            throw .failure("Nothing was imported. Mend the file, or leave such lines out with --continue-on-error.")
        }
        if isDryRun {
            print("Nothing was imported, as --dry-run asks.")
            return
        }
        let count = survey.recordCount + survey.faults.count - faults.count
        let summary = try await write(source, plan, recordCount: count, to: store)
        report(summary.faults.map(ImportRun.describe))
        print(ImportRun.conclusion(summary, leftOut: faults.count, type: plan.type, elapsed: .now - start))
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

    /// Tells faults on standard error, as many as one wants to read.
    private func report(_ faults: [String]) {
        var lines = faults.prefix(ImportRun.shownFaults).map { "\(settings.path), \($0)" }
        if faults.count > lines.count { lines.append("… and \(decimal(faults.count - lines.count)) more") }
        for line in lines { complain(line) }
    }

    private static let shownFaults = 20

    static func describe(_ fault: ImportFault) -> String {
        (fault.line.map { "line \($0): " } ?? "") + fault.error.message
    }

    /// `58,788 records imported to movie in 1.9 s, 30,941 a second; 3 left out`
    static func conclusion(
        _ summary: ImportSummary,
        leftOut: Int,
        type: RecordTypeName,
        elapsed: Duration
    ) -> String {
        let rate = Int(Double(summary.imported) / max(elapsed.inSeconds, 1e-3))
        let left = leftOut + summary.faults.count
        return "\(decimal(summary.imported)) records imported to \(type) in \(elapsed.inTenths), "
            + "\(decimal(rate)) a second" + (left > 0 ? "; \(decimal(left)) left out" : "")
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
