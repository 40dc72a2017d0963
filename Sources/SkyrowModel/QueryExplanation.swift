/// How much of a query is done to explain it.
package enum ExplainMode: String, Hashable, Sendable, CaseIterable {
    /// It is planned.
    case plan
    /// It is run, and its records are not sent.
    case analyze
}

/// How PostgreSQL would answer a query, and what would help.
package struct QueryExplanation: Hashable, Sendable {
    /// What a query costs with the number of records of its types.
    package enum CostClass: String, Hashable, Sendable, CaseIterable {
        /// One record by its id.
        case point
        /// An index leads to the records.
        case indexed
        /// Several types are joined.
        case join
        /// A large table is read or sorted as a whole.
        case scan
    }

    package struct Statement: Hashable, Sendable {
        package var sql: String
        /// The values of the placeholders by type and size: `$1: text, 5 bytes`.
        package var values: [String]
        /// What PostgreSQL prints for `EXPLAIN (FORMAT JSON)`.
        package var plan: JSONText
        package var rowsEstimated: Int64

        package init(sql: String, values: [String], plan: JSONText, rowsEstimated: Int64) {
            self.sql = sql
            self.values = values
            self.plan = plan
            self.rowsEstimated = rowsEstimated
        }
    }

    package struct Advice: Hashable, Sendable {
        package enum Reason: String, Hashable, Sendable, CaseIterable {
            /// A condition that few records meet is looked for in the whole table.
            case sequentialScan = "sequential_scan"
            /// Records are sorted for a page of them.
            case sort
            /// The order is that of a field of another type.
            case sortThroughReference = "sort_through_reference"
            /// A part of a text, or an element of an array, is looked for in the whole table.
            case containsScan = "contains_scan"
            /// A place is looked for in the whole table.
            case placeScan = "place_scan"
            /// A text is ordered by the rules of a language in the table.
            case textOrder = "text_order"
            /// An index was never finished.
            case invalidIndex = "invalid_index"
        }

        package var reason: Reason
        /// One sentence.
        package var message: String
        /// The index that would help; nil where none would.
        package var index: IndexDefinition?

        package init(_ reason: Reason, _ message: String, index: IndexDefinition? = nil) {
            self.reason = reason
            self.message = message
            self.index = index
        }
    }

    package var statements: [Statement]
    package var advice: [Advice]
    package var costClass: CostClass

    package init(statements: [Statement], advice: [Advice], costClass: CostClass) {
        self.statements = statements
        self.advice = advice
        self.costClass = costClass
    }
}
