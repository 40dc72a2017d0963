import SkyrowStore
import SkyrowSystem

/// A file to import. It is read several times: for its columns, to check its values, and to write them.
struct ImportSource: Sendable {
    let path: String
    var reading: ImportReading

    /// Reads the whole file. `body` gets the records in parts, with the columns known so far.
    func forEachPart(
        _ body: ([Result<SourceRecord, LineFault>], _ columns: [String]) throws(ToolError) -> Void
    ) async throws(ToolError) {
        var reader = SourceReader(reading)
        let file = try await ImportFile(opening: path)
        while true {
            let bytes = try await file.next()
            try body(reader.take(bytes), reader.columns)
            if bytes.isEmpty { return }
        }
    }

    /// Reads the columns.
    func survey() async throws(ToolError) -> ImportSurvey {
        var survey = ImportSurvey()
        try await forEachPart { records, columns in survey.observe(records, columns: columns) }
        return survey
    }

    /// Returns a fault for every record that does not fit the plan.
    func faults(of plan: ImportPlan) async throws(ToolError) -> [LineFault] {
        var faults: [LineFault] = []
        try await forEachPart { records, _ in
            for record in records {
                do throws(LineFault) {
                    _ = try plan.row(from: record.get())
                } catch {
                    faults.append(error)
                }
            }
        }
        return faults
    }
}

/// The rows of a file.
struct ImportRows: AsyncSequence {
    let source: ImportSource
    let plan: ImportPlan
    /// Whether a record that does not fit the plan ends the sequence with a ``LineFault``. Otherwise it is skipped, as
    /// it was reported before.
    var isStrict = false

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: ImportSource
        let plan: ImportPlan
        let isStrict: Bool
        var reader: SourceReader
        var file: ImportFile?
        var ready: ArraySlice<Result<SourceRecord, LineFault>> = []
        var isAtEnd = false

        mutating func next() async throws -> ImportRow? {
            while true {
                while let record = ready.popFirst() {
                    do throws(LineFault) {
                        return try plan.row(from: record.get())
                    } catch {
                        if isStrict { throw error }
                    }
                }
                if isAtEnd { return nil }
                let file = if let file { file } else { try await ImportFile(opening: source.path) }
                self.file = file
                let bytes = try await file.next()
                ready = reader.take(bytes)[...]
                isAtEnd = bytes.isEmpty
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source, plan: plan, isStrict: isStrict, reader: SourceReader(source.reading))
    }
}
