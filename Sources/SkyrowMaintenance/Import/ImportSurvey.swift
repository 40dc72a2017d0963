import SkyrowModel

/// The result of a first pass over a file: its columns, the types of their values, and how many records there are.
package struct ImportSurvey: Sendable {
    private(set) var columns: [String] = []
    private(set) var inferences: [TypeInference] = []
    private(set) var recordCount = 0
    private(set) var faults: [LineFault] = []

    init() {}

    /// The survey of a file whose columns are given.
    init(columns: [String]) {
        self.columns = columns
        inferences = columns.map { _ in TypeInference() }
    }

    /// Takes what a ``SourceReader`` gave, and the columns it knows by now.
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
