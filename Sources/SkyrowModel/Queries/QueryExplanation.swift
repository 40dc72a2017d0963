/// How much of a query is executed to explain it.
package enum ExplainMode: String, Hashable, Sendable, CaseIterable {
    /// It is planned only.
    case plan
    /// It is run, but its records are not sent.
    case analyze
}

/// How PostgreSQL would execute a query, and what would make it faster.
package struct QueryExplanation: Hashable, Sendable {
    /// How the cost of a query grows with the number of records of its types.
    package enum CostClass: String, Hashable, Sendable, CaseIterable {
        /// One record is found by its id.
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
        /// The output of `EXPLAIN (FORMAT JSON)`.
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
            /// A condition that few records meet is evaluated on the whole table.
            case sequentialScan = "sequential_scan"
            /// All matching records are sorted to return one page.
            case sort
            /// The sort key is a field of another type.
            case sortThroughReference = "sort_through_reference"
            /// The whole table is searched for part of a text, or for an element of an array.
            case containsScan = "contains_scan"
            /// The whole table is searched for a location.
            case placeScan = "place_scan"
            /// The texts of the table are sorted by the collation of a language.
            case textOrder = "text_order"
            /// The build of an index never finished.
            case invalidIndex = "invalid_index"
        }

        package var reason: Reason
        /// One sentence.
        package var message: String
        /// The index that would help; nil without one.
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
