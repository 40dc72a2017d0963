package import SkyrowModel

/// What a key path of a query stands for.
package struct ResolvedColumn: Hashable, Sendable {
    /// Which column of a record.
    package enum Place: Hashable, Sendable {
        /// A field, and its place among the fields of the type.
        case field(FieldName, position: Int)
        case metadata(ReservedColumn)
        /// The element of an array that a predicate is asked of, this many `any` and `all` deep.
        case element(depth: Int)
    }

    /// Whose column it is, where it stands beside one of other records; nil for the records that the condition is about.
    package var scope: Scope?
    /// The number of the join whose record it is; nil for the record that is asked about.
    package var join: Int?
    package var place: Place
    package var kind: ValueKind
    /// The forms in which the column holds an id that clients see, where it holds one.
    package var idForms = StoredIDForms.plain
    /// Whether an id is compared in the form that clients see and not as it is stored.
    package var readsWireID = false
    package var collation = TextCollation.bytes
    /// How `match` finds the words of a text.
    package var language = TextLanguage.words
    /// The records that a condition around this one is about.
    package enum Scope: Hashable, Sendable {
        /// Those of the whole query.
        case query
        /// Those at a place among all queries and lists of records inside of the predicate.
        case inside(Int)
    }

    /// What of the column's value is compared; ``kind`` is the kind of that.
    package var reading = Reading.stored
    /// Whether a text is compared in lower case.
    package var folds = false
    /// The language in whose order texts are sorted; nil for the order of their bytes.
    package var sortLanguage: String?
    /// In which records the caller sees the column; nil where that is all of them. It is missing from others.
    package var limit: Limit?

    /// The same in all records.
    var unlimited: ResolvedColumn {
        var column = self
        column.limit = nil
        return column
    }

    /// A caller, and what must hold of a record for it.
    package struct Limit: Hashable, Sendable {
        package var user: UserID
        package var reach: FieldReach
    }

    /// What is compared of the value that a column holds.
    package enum Reading: Hashable, Sendable {
        /// The value itself.
        case stored
        /// The value inside JSON to which these steps lead; `null` there is missing.
        case inside([String])
        /// The value inside JSON to which these steps lead, where it has the type; any other is missing.
        case typed([String], JSONValueType)
        /// How many elements the array has to which these steps lead; a value that is no array is missing.
        case size([String])
        /// How many elements an array of one type has.
        case count
        /// How many members a relation has that the caller may read; the place of their type among all lists of records
        /// inside of the predicate.
        case members(number: Int, of: RecordTypeName)
        /// How many metres a location is away from this one.
        case distance(Location)
        /// How well a text has the words that are asked for, a number.
        case rank(WordQuery)
    }

    /// The row of the table of operators that the column belongs to.
    package var valueClass: ValueClasses {
        if case .inside = reading { .jsonPath } else { kind.valueClass }
    }
}

extension ReservedColumn {
    /// What it holds in a record of a type.
    func kind(in type: RecordTypeName) -> ValueKind {
        switch self {
        case .id: .id(type)
        case .database: .database
        case .owner, .createdBy, .updatedBy: .user
        case .access: .access
        case .createdAt, .updatedAt: .datetime
        case .revision: .integer
        }
    }
}

/// How the ids that clients see are stored in a column.
package enum StoredIDForms: Hashable, Sendable {
    /// All as they are: ids of public records.
    case plain
    /// All behind a prefix: ids of the records of one private database.
    case prefixed(String)
    /// Behind this prefix or as they are: what a private record refers to.
    case either(String)
    /// Behind any prefix or none, in `_union`.
    case any
}
