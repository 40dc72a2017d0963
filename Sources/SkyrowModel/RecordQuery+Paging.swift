extension RecordQuery {
    /// The most records that `offset` leaves out.
    public static let maximumOffset = 100_000
    /// The most sort keys of a query that is paged with cursors.
    public static let maximumCursorKeys = 8

    /// Where a page begins, and in which direction it is read; its records are in the order of the query always.
    public enum Position: Hashable, Sendable {
        /// At the first record.
        case first
        /// At the last record, backwards. Without a sort the order is that of creation, so the page has the newest records.
        case last
        /// Behind the place of a cursor.
        case after(String)
        /// Before the place of a cursor, backwards.
        case before(String)

        /// Whether the page ends where it begins to be read.
        package var isBackwards: Bool {
            switch self {
            case .first, .after: false
            case .last, .before: true
            }
        }

        /// The parameter that has the cursor, and the cursor.
        package var cursor: (parameter: String, text: String)? {
            switch self {
            case .first, .last: nil
            case .after(let text): ("after", text)
            case .before(let text): ("before", text)
            }
        }
    }

    /// How the records that match are counted.
    public enum Counting: Hashable, Sendable {
        /// All of them.
        case exact
        /// As far as it costs little: ``CountKind`` says what came of it.
        case estimate
    }

    /// Whether the records that match are counted, however.
    package var countsMatches: Bool {
        get { counting != nil }
        set { counting = newValue ? .exact : nil }
    }
}

/// What a count is that may be an estimate.
public enum CountKind: String, Hashable, Sendable {
    /// That many records match.
    case exact
    /// PostgreSQL expects about that many.
    case estimate
    /// That many match, or more.
    case atLeast = "at_least"
}

extension SkyrowError {
    /// `108` for a cursor that does not belong to the query.
    package static func cursorInvalid(_ parameter: String) -> SkyrowError {
        .invalidArgument(
            "This is no cursor of this query; a cursor belongs to the type, database, predicate and sort that it came from.",
            parameter
        ).at(parameter)
    }
}
