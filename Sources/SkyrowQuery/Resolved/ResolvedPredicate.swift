package import SkyrowJSON
package import SkyrowModel

/// A predicate without an open question: what it compares, how, and what a missing value means.
///
/// ``Resolver`` makes it of a ``RecordPredicate``. SQL text is one interpreter of it, ``MemoryInterpreter`` another; a
/// seeded test holds them to each other. Each case is true, false or unknown for a record (Kleene's logic), and a
/// record matches where the whole is true. It is indirect, so that a part is as large as a pointer and cheap to hand on.
package indirect enum ResolvedPredicate: Hashable, Sendable {
    /// True where all are; true without any.
    case and([ResolvedPredicate])
    /// True where one is; false without any.
    case or([ResolvedPredicate])
    case not(ResolvedPredicate)
    /// True where none is true, and false otherwise: never unknown.
    case none([ResolvedPredicate])
    /// Unknown for every record: a comparison with `null`.
    case unknown
    case isMissing(ResolvedColumn)
    case isPresent(ResolvedColumn)
    /// This for every value, and unknown where there is none.
    case constant(ResolvedColumn, Bool)
    /// A column beside a literal of its own type; unknown where the column is missing, as are those that follow.
    case comparison(ResolvedColumn, Relation, ResolvedLiteral)
    /// Two columns of one type, or two of numbers, which are compared exactly.
    case columns(ResolvedColumn, Relation, ResolvedColumn)
    /// A text that matches a pattern as a whole.
    case pattern(ResolvedColumn, String)
    /// A text that has some words.
    case match(ResolvedColumn, WordQuery)
    /// A text of which a part is as a regular expression says.
    case regex(ResolvedColumn, RegexPattern)
    /// A text that ends with another.
    case suffix(ResolvedColumn, String)
    /// A text that another is part of.
    case substring(ResolvedColumn, String)
    case isOneOf(ResolvedColumn, ResolvedList)
    /// An id that is one of these, which are in the form that clients see.
    case hasID(ResolvedColumn, [String])
    /// A JSON array with this string as an element, or an object with this key.
    case holdsText(ResolvedColumn, String)
    case json(ResolvedColumn, JSONCondition)
    /// An array beside values of the type of its elements; those of references are in the form that clients see.
    case array(ResolvedColumn, ArrayRelation, ResolvedList)
    /// A location, or a geometry as a whole, that lies somewhere.
    case place(ResolvedColumn, ResolvedPlace)
    /// A geometry that a location lies in, or on the edge of.
    case covers(ResolvedColumn, Location)
    /// A value that a query finds, or an array of which it finds an element; false where it finds nothing.
    case isFound(ResolvedColumn, by: ResolvedSubquery)
    /// A value that a query does not find.
    case isNotFound(ResolvedColumn, by: ResolvedSubquery)
    /// A record that is a member of a relation of another, which is given; false where that is none the caller may read.
    case isMember(ResolvedColumn, ResolvedOwner)
    /// The id of a user who is something to the caller; false where it is missing, and never unknown.
    case isRelated(ResolvedColumn, ResolvedUserRelation)
    /// True where a predicate is true of one of some elements; false of none, and never unknown.
    case any(ResolvedElements)
    /// True where a predicate is true of each of some elements, and of none; never unknown.
    case all(ResolvedElements)
    /// True where each of some records, two or more, is a member of a relation; the predicate is that the id is one of theirs.
    case hasEach(ResolvedElements)

    /// Whether the truth for a record depends on other records, beside those that are joined to it.
    package var needsOtherRecords: Bool {
        switch self {
        case .and(let parts), .or(let parts), .none(let parts): parts.contains(where: \.needsOtherRecords)
        case .not(let part): part.needsOtherRecords
        case .isFound, .isNotFound, .isMember, .isRelated, .hasEach: true
        case .any(let elements), .all(let elements): elements.records != nil || elements.predicate.needsOtherRecords
        case .unknown, .isMissing, .isPresent, .constant, .comparison, .columns, .pattern, .regex, .match, .suffix,
            .substring, .isOneOf, .hasID, .holdsText, .json, .array, .place, .covers:
            false
        }
    }
}

/// The record of whose relation others are members.
package struct ResolvedOwner: Hashable, Sendable {
    /// Its place among all queries and lists of records inside of the predicate.
    package var number: Int
    package var type: RecordTypeName
    package var relation: ResolvedColumn
    package var idColumn: ResolvedColumn
    /// The id that clients see.
    package var wireID: String
}

/// The elements of an array or members of a relation, and what is asked of each.
package struct ResolvedElements: Hashable, Sendable {
    /// The records that an array of references or a relation leads to, as far as the caller may read them; any other is no element.
    package struct Records: Hashable, Sendable {
        /// Their place among all queries and lists of records inside of the predicate.
        package var number: Int
        package var type: RecordTypeName
        package var joins: [ResolvedJoin]
        /// The collation of their ids.
        package var idCollation: TextCollation
    }

    /// The array or relation; a value that is missing, or no array, has no elements.
    package var column: ResolvedColumn
    /// nil where the elements are values.
    package var records: Records?
    /// How many `any` and `all` it is inside of, itself counted.
    package var depth: Int
    package var predicate: ResolvedPredicate
}

/// A query inside a predicate, under the access of the whole.
package struct ResolvedSubquery: Hashable, Sendable {
    /// Its place among all queries inside of the predicate.
    package var number: Int
    package var type: RecordTypeName
    package var predicate: ResolvedPredicate?
    package var joins: [ResolvedJoin]
    /// The column that is compared; where it is missing it is passed over.
    package var key: ResolvedColumn
    /// The order of the records, which ends with the id, and how many of them count; nil for all.
    package var first: First?

    /// The first records of an order.
    package struct First: Hashable, Sendable {
        package var sort: [ResolvedSort]
        package var limit: Int
    }
}

/// How an array is to some values. An element that is NULL is none of them.
package enum ArrayRelation: Hashable, Sendable {
    /// It has these elements in this order.
    case equal
    /// Each of the values is an element.
    case holdsAll
    /// One of the values is an element.
    case holdsAny
    /// Each element is one of the values.
    case heldBy
}

/// What is asked of a JSON value; values are the same as ``JSONIdentity`` says.
package enum JSONCondition: Hashable, Sendable {
    /// It is one of these, or an array with one of those that are neither array nor object as an element.
    case isOneOf([JSONText])
    /// It is an array of which each of these is an element; true of every value without any.
    case containsAll([JSONText])
    /// It is an array of which one of these is an element.
    case containsAny([JSONText])
    /// It is an array, and each of its elements is one of these.
    case containedBy([JSONText])
}

/// How two values of one type are to each other.
package enum Relation: Hashable, Sendable {
    case equal, unequal, less, lessOrEqual, greater, greaterOrEqual

    /// nil for the operators that compare in another way.
    package init?(_ comparison: ComparisonOperator) {
        switch comparison {
        case .eq: self = .equal
        case .neq: self = .unequal
        case .lt: self = .less
        case .lte: self = .lessOrEqual
        case .gt: self = .greater
        case .gte: self = .greaterOrEqual
        case .like, .ilike, .startsWith, .endsWith, .in, .nin, .contains, .containsAll, .containsAny, .containedBy,
            .exists:
            return nil
        }
    }

    /// The relation that holds when the two sides change places.
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

    /// Whether it depends on the order of values and not on their equality alone.
    package var isOrder: Bool {
        switch self {
        case .equal, .unequal: false
        case .less, .lessOrEqual, .greater, .greaterOrEqual: true
        }
    }
}

/// A value of the type of the column that it is compared with.
package enum ResolvedLiteral: Hashable, Sendable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case decimal(JSONDecimal)
    case boolean(Bool)
    case datetime(Timestamp)
    case bytes([UInt8])
    case location(Location)
    case geometry(Geometry)
}

/// Values of the type of the column that is looked up among them.
package enum ResolvedList: Hashable, Sendable {
    case texts([String])
    case integers([Int64])
    case numbers([Double])
    case decimals([JSONDecimal])
    case booleans([Bool])
    case datetimes([Timestamp])
    case bytes([[UInt8]])
    case locations([Location])
}

extension ResolvedList {
    package var count: Int {
        switch self {
        case .texts(let list): list.count
        case .integers(let list): list.count
        case .numbers(let list): list.count
        case .decimals(let list): list.count
        case .booleans(let list): list.count
        case .datetimes(let list): list.count
        case .bytes(let list): list.count
        case .locations(let list): list.count
        }
    }
}
