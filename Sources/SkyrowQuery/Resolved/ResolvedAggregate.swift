package import SkyrowModel

/// A question about groups without an open question, for the database to answer.
package struct ResolvedAggregate: Hashable, Sendable {
    /// A member of each group in the answer.
    package struct Member: Hashable, Sendable {
        /// What it is made of.
        package enum Source: Hashable, Sendable {
            case key(ResolvedColumn, TimeBucket?)
            /// Without a column the number of records.
            case function(Aggregate.Function, ResolvedColumn?)
        }

        package var name: FieldName
        package var source: Source
        /// What it holds.
        package var kind: ValueKind
        /// Whether it is an integer that may have more than 64 bits.
        package var isUnbounded: Bool

        package var isKey: Bool {
            switch source {
            case .key: true
            case .function: false
            }
        }
    }

    /// The records that are grouped: those that match, in no order.
    package var records: ResolvedQuery
    /// The keys, then the aggregates, in the order in which they were asked for.
    package var members: [Member]
    /// About columns whose place is that of a member among the names in their order.
    package var having: ResolvedPredicate?
    /// Ends with the keys, so that no two groups have the same place.
    package var sort: [ResolvedSort]
    package var limit: Int
}

/// The members of a group as the fields of a record, which `having` and `sort` name.
package struct GroupType: QueryRecordType {
    package let name: RecordTypeName
    /// By name.
    private let fields: [(name: FieldName, kind: ValueKind)]

    package init(of type: RecordTypeName, _ members: [ResolvedAggregate.Member]) {
        name = type
        fields = members.map { ($0.name, $0.kind) }.sorted { $0.0 < $1.0 }
    }

    package var hasMetadata: Bool { false }
    package var classRules: ClassRules? { nil }

    package func queryField(_ name: FieldName) -> QueryField? {
        fields.firstIndex { $0.name == name }.map { place in
            let kind = fields[place].kind
            return QueryField(position: place, type: kind.answerType, jsonType: kind == .decimal ? .number : nil)
        }
    }

    package var fieldPositions: [Int] { Array(fields.indices) }

    package func isHidden(_ name: FieldName) -> Bool { false }
    package func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> FieldStanding { .all }
    package func collation(of column: ReservedColumn) -> TextCollation { .bytes }
}

/// A schema of groups, behind whose members there are no records.
struct GroupSchema: QuerySchema {
    subscript(type: RecordTypeName) -> GroupType? { nil }
}

extension ValueKind {
    /// The type of field that a group has for it.
    package var answerType: FieldType {
        switch self {
        case .integer: .integer
        case .number: .number
        // Every digit is kept.
        case .decimal: .json
        case .boolean: .boolean
        case .datetime: .datetime
        case .bytes: .bytes
        case .reference(let type), .id(let type): .reference(type)
        default: .string
        }
    }
}
