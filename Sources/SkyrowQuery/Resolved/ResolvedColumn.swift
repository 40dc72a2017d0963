package import SkyrowModel

/// The column that a key path of a query refers to.
package struct ResolvedColumn: Hashable, Sendable {
    /// A column of a record.
    package enum Place: Hashable, Sendable {
        /// A field, and its position among the fields of the type.
        case field(FieldName, position: Int)
        case metadata(ReservedColumn)
        /// The array element of a predicate, inside this many `any` and `all`.
        case element(depth: Int)
    }

    /// The records of the column if it is compared with one of other records; nil for the records that the condition is on.
    package var scope: Scope?
    /// The number of the join whose record it is in; nil for the record of the condition.
    package var join: Int?
    package var place: Place
    package var kind: ValueKind
    /// The stored forms of ids in the column.
    package var idForms = StoredIDForms.plain
    /// Whether an id is compared in its wire form instead of the stored one.
    package var readsWireID = false
    package var collation = TextCollation.bytes
    /// The language by which `match` splits a text into words.
    package var language = TextLanguage.words
    /// The records that an enclosing condition is on.
    package enum Scope: Hashable, Sendable {
        /// The records of the whole query.
        case query
        /// The records at this index among all subqueries and lists of records inside the predicate.
        case inside(Int)
    }

    /// How the column's value is read for comparison; ``kind`` is the kind of the result.
    package var reading = Reading.stored
    /// Whether a text is compared case-folded.
    package var folds = false
    /// The language whose order texts are sorted in; nil for byte order.
    package var sortLanguage: String?
    /// In which records the caller sees the column, which is missing in others; nil for all records.
    package var limit: Limit?

    /// The column without a limit.
    var unlimited: ResolvedColumn {
        var column = self
        column.limit = nil
        return column
    }

    /// A caller, and the condition on a record under which it sees a column.
    package struct Limit: Hashable, Sendable {
        package var user: UserID
        package var reach: AccessCondition
    }

    /// What is compared of a column's value.
    package enum Reading: Hashable, Sendable {
        /// The value itself.
        case stored
        /// The value inside JSON at this path; `null` there counts as missing.
        case inside([String])
        /// The value inside JSON at this path if it has the type; values of other types count as missing.
        case typed([String], JSONValueType)
        /// The length of the JSON array at this path; other values count as missing.
        case size([String])
        /// The number of elements of a typed array.
        case count
        /// The number of a relation's members that the caller may read; `number` is the index of the members' type among all
        /// lists of records inside the predicate.
        case members(number: Int, of: RecordTypeName)
        /// The distance of a location from this one in metres.
        case distance(Location)
        /// The relevance of a text for the words of a query, as a number.
        case rank(WordQuery)
    }

    /// The row of the operator table for the column.
    package var valueClass: ValueClasses {
        if case .inside = reading { .jsonPath } else { kind.valueClass }
    }
}

extension ReservedColumn {
    /// Returns the kind of its values in a record of a type.
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

/// How wire ids are stored in a column.
package enum StoredIDForms: Hashable, Sendable {
    /// Without a prefix: ids of public records.
    case plain
    /// With a prefix: ids of the records of one private database.
    case prefixed(String)
    /// With this prefix or without: the targets of a private record's references.
    case either(String)
    /// With any prefix or without, in `_union`.
    case any
}
