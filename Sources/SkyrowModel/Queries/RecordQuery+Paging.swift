extension RecordQuery {
    /// Upper bound on `offset`.
    public static let maximumOffset = 100_000
    /// Upper bound on the sort keys of a query that is paged with cursors.
    public static let maximumCursorKeys = 8

    /// Where a page begins, and in which direction it is read; its records are always in the order of the query.
    public enum Position: Hashable, Sendable {
        /// At the first record.
        case first
        /// At the last record, read backwards. Without a sort the order is that of creation, so the newest records come.
        case last
        /// After a cursor.
        case after(String)
        /// Before a cursor, read backwards.
        case before(String)

        /// Whether the page is read backwards from its end.
        package var isBackwards: Bool {
            switch self {
            case .first, .after: false
            case .last, .before: true
            }
        }

        /// The cursor, and the name of the parameter that has it.
        package var cursor: (parameter: String, text: String)? {
            switch self {
            case .first, .last: nil
            case .after(let text): ("after", text)
            case .before(let text): ("before", text)
            }
        }
    }

    /// How the matching records are counted.
    public enum Counting: Hashable, Sendable {
        /// Exactly.
        case exact
        /// As far as it is cheap; ``CountKind`` describes the result.
        case estimate
    }

    /// Whether the matching records are counted.
    package var countsMatches: Bool {
        get { counting != nil }
        set { counting = newValue ? .exact : nil }
    }
}

/// The kind of a count that may be an estimate.
public enum CountKind: String, Hashable, Sendable {
    /// Exactly this many records match.
    case exact
    /// PostgreSQL expects about this many.
    case estimate
    /// At least this many match.
    case atLeast = "at_least"
}

extension SkyrowError {
    /// `108` for a cursor that does not belong to the query.
    package static func cursorInvalid(_ parameter: String) -> SkyrowError {
        .invalidArgument(
            "The cursor is not one of this query; a cursor is bound to the type, database, predicate and sort of its query.",
            parameter
        ).at(parameter)
    }
}
