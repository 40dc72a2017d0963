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
    /// The bound on the rows of a read that the current request makes; nil outside of requests.
    static var reading: PostgresRowLimit? {
        ResponseAccount.current.map { PostgresRowLimit(budget: $0, excess: .fails) }
    }

    /// The bound on the rows of a write, and of the question about what it refused: beyond it they lack the fields.
    ///
    /// - Parameter last: how many columns there are behind those of the selection.
    static func writing(_ selection: RecordSelection, last: Int = 0) -> PostgresRowLimit? {
        ResponseAccount.current.map {
            PostgresRowLimit(budget: $0, excess: .keepsColumns(first: selection.reservedWidth, last: last))
        }
    }
}
