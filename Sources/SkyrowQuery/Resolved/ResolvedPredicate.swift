package import SkyrowModel

/// A fully resolved predicate: its columns and literals have types, and the result for missing values is defined.
///
/// ``Resolver`` creates it from a ``RecordPredicate``. It has two interpreters, SQL text and ``MemoryInterpreter``, which a
/// seeded test compares. Each case is true, false or unknown for a record (Kleene's logic), and a record matches if the whole
/// is true. The enum is indirect, so that a part has the size of a pointer and is cheap to pass on.
package indirect enum ResolvedPredicate: Hashable, Sendable {
    /// True if all are true; true if empty.
    case and([ResolvedPredicate])
    /// True if any is true; false if empty.
    case or([ResolvedPredicate])
    case not(ResolvedPredicate)
    /// True if none of them is true, and false otherwise: never unknown.
    case none([ResolvedPredicate])
    /// Unknown for every record: a comparison with `null`.
    case unknown
    case isMissing(ResolvedColumn)
    case isPresent(ResolvedColumn)
    /// This truth value for any value; unknown for a missing one.
    case constant(ResolvedColumn, Bool)
    /// Compares a column with a literal of its type; like the following cases, unknown for a missing value.
    case comparison(ResolvedColumn, Relation, ResolvedLiteral)
    /// Compares two columns of one type, or exactly two of numbers.
    case columns(ResolvedColumn, Relation, ResolvedColumn)
    /// A text that another one is tested with.
    case text(ResolvedColumn, TextTest, String)
    /// A text that contains the words of a query.
    case match(ResolvedColumn, WordQuery)
    /// A text that contains a match of a regular expression.
    case regex(ResolvedColumn, RegexPattern)
    case isOneOf(ResolvedColumn, ResolvedList)
    /// An id that is one of these wire ids.
    case hasID(ResolvedColumn, [String])
    /// A JSON array with this string as an element, or an object with this key.
    case holdsText(ResolvedColumn, String)
    /// Compares a JSON value with others, which are equal as defined by ``JSONIdentity``; true for every value that has to hold
    /// all of none.
    case json(ResolvedColumn, ArrayRelation, [JSONText])
    /// Compares an array with values of its element type; those of references are wire ids.
    case array(ResolvedColumn, ArrayRelation, ResolvedList)
    /// A location, or a whole geometry, that meets a condition.
    case place(ResolvedColumn, ResolvedPlace)
    /// A geometry that contains a location, or has it on an edge.
    case covers(ResolvedColumn, Location)
    /// A value that is in the result of a subquery, or an array with an element in it; false for an empty result.
    case isFound(ResolvedColumn, by: ResolvedSubquery)
    /// A value that is not in the result of a subquery.
    case isNotFound(ResolvedColumn, by: ResolvedSubquery)
    /// A record that is a member of a given record's relation; false if the caller may not read that record.
    case isMember(ResolvedColumn, ResolvedOwner)
    /// The id of a user with this relation to the caller; false for a missing id, and never unknown.
    case isRelated(ResolvedColumn, ResolvedUserRelation)
    /// True if a predicate is true for any element; false without elements, and never unknown.
    case any(ResolvedElements)
    /// True if a predicate is true for each element, also without elements; never unknown.
    case all(ResolvedElements)
    /// True if each of two or more records is a member of a relation; the predicate matches their ids.
    case hasEach(ResolvedElements)

    /// Whether the result for a record depends on other records, apart from those joined to it.
    package var needsOtherRecords: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.contains(where: \.needsOtherRecords)
        case .not(let part): part.needsOtherRecords
        case .isFound, .isNotFound, .isMember, .isRelated, .hasEach: true
        case .any(let elements), .all(let elements): elements.records != nil || elements.predicate.needsOtherRecords
        case .unknown, .isMissing, .isPresent, .constant, .comparison, .columns, .text, .regex, .match, .isOneOf,
            .hasID,
            .holdsText, .json, .array, .place, .covers:
            false
        }
    }
}

/// The record whose relation is searched for members.
package struct ResolvedOwner: Hashable, Sendable {
    /// Its index among all subqueries and lists of records inside the predicate.
    package var number: Int
    package var type: RecordTypeName
    package var relation: ResolvedColumn
    package var idColumn: ResolvedColumn
    /// The id on the wire.
    package var wireID: String
}

/// The elements of an array or the members of a relation, and the predicate on each.
package struct ResolvedElements: Hashable, Sendable {
    /// The readable targets of an array of references or of a relation; other targets do not count as elements.
    package struct Records: Hashable, Sendable {
        /// Their index among all subqueries and lists of records inside the predicate.
        package var number: Int
        package var type: RecordTypeName
        package var joins: [ResolvedJoin]
        /// The collation of their ids.
        package var idCollation: TextCollation
    }

    /// The array or relation; a value that is missing or not an array has no elements.
    package var column: ResolvedColumn
    /// nil if the elements are values.
    package var records: Records?
    /// The nesting depth of `any` and `all`, this one included.
    package var depth: Int
    package var predicate: ResolvedPredicate
}

/// A subquery of a predicate, with the same access.
package struct ResolvedSubquery: Hashable, Sendable {
    /// Its index among all subqueries inside the predicate.
    package var number: Int
    package var type: RecordTypeName
    package var predicate: ResolvedPredicate?
    package var joins: [ResolvedJoin]
    /// The compared column; records where it is missing are skipped.
    package var key: ResolvedColumn
    /// The sort order, which ends with the id, and the limit; nil for all records.
    package var first: First?

    /// The first records of an order.
    package struct First: Hashable, Sendable {
        package var sort: [ResolvedSort]
        package var limit: Int
    }
}

/// A comparison of two values of one type.
package enum Relation: Hashable, Sendable {
    case equal, unequal, less, lessOrEqual, greater, greaterOrEqual

    /// nil for operators that are not comparisons of this kind.
    package init?(_ comparison: ComparisonOperator) {
        switch comparison {
        case .eq: self = .equal
        case .neq: self = .unequal
        case .lt: self = .less
        case .lte: self = .lessOrEqual
        case .gt: self = .greater
        case .gte: self = .greaterOrEqual
        default: return nil
        }
    }

    /// The relation with the two sides swapped.
    package var turned: Relation {
        switch self {
        case .equal: .equal
        case .unequal: .unequal
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    /// Whether it depends on the order of values and not only on their equality.
    package var isOrder: Bool {
        switch self {
        case .equal, .unequal: false
        case .less, .lessOrEqual, .greater, .greaterOrEqual: true
        }
    }
}
