package import SkyrowModel
package import SkyrowPostgres

extension ResponseAccount: PostgresRowBudget {
    package func takeForRows(_ bytes: Int) -> PostgresError.Code? {
        let refusal: Refusal? = takeForRows(bytes)
        return switch refusal {
        case nil: nil
        case .tooLarge: .resultTooLarge
        case .noMemory: .resultMemoryExhausted
        }
    }
}

extension PostgresRowLimit {
    /// The bound on the rows that the current request reads; nil outside of requests.
    static var reading: PostgresRowLimit? {
        ResponseAccount.current.map { PostgresRowLimit(budget: $0, excess: .fails) }
    }

    /// The bound on the rows of a write, and of the query for the reasons of refusals; above it, rows lack the fields.
    ///
    /// - Parameter last: the number of columns after those of the selection.
    static func writing(_ selection: RecordSelection, last: Int = 0) -> PostgresRowLimit? {
        ResponseAccount.current.map {
            PostgresRowLimit(budget: $0, excess: .keepsColumns(first: selection.reservedWidth, last: last))
        }
    }
}
