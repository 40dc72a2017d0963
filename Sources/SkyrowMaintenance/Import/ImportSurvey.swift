import SkyrowModel

/// The result of a first pass over a file: its columns, their value types, and the number of records.
package struct ImportSurvey: Sendable {
    private(set) var columns: [String] = []
    private(set) var inferences: [TypeInference] = []
    private(set) var recordCount = 0
    private(set) var faults: [LineFault] = []

    init() {}

    /// Makes the survey of a file with given columns.
    init(columns: [String]) {
        self.columns = columns
        inferences = columns.map { _ in TypeInference() }
    }

    /// Adds the output of a ``SourceReader``, and its columns so far.
    mutating func observe(_ records: [Result<SourceRecord, LineFault>], columns: [String]) {
        self.columns = columns
        while inferences.count < columns.count { inferences.append(TypeInference()) }
        for record in records {
            switch record {
            case .failure(let fault):
                faults.append(fault)
            case .success(let record):
                recordCount += 1
                for (column, cell) in record.cells {
                    switch cell {
                    case .text(let field): if !field.text.isEmpty { inferences[column].observe(text: field.text) }
                    case .value(let value): inferences[column].observe(value)
                    case .privateReference(let type, _): inferences[column].observe(referenceTo: type)
                    }
                }
            }
        }
    }
}
