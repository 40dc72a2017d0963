package import SkyrowModel

/// A fully resolved aggregate query.
package struct ResolvedAggregate: Hashable, Sendable {
    /// A member of each group in the result.
    package struct Member: Hashable, Sendable {
        /// What the member is computed from.
        package enum Source: Hashable, Sendable {
            case key(ResolvedColumn, TimeBucket?)
            /// Without a column: the number of records.
            case function(Aggregate.Function, ResolvedColumn?)
        }

        package var name: FieldName
        package var source: Source
        package var kind: ValueKind
        /// Whether it is an integer that may exceed 64 bits.
        package var isUnbounded: Bool

        package var isKey: Bool {
            switch source {
            case .key: true
            case .function: false
            }
        }
    }

    /// The matching records to group, in no order.
    package var records: ResolvedQuery
    /// The keys, then the aggregates, in the order of the query.
    package var members: [Member]
    /// A condition whose columns have the index of a member, sorted by name, as their position.
    package var having: ResolvedPredicate?
    /// Ends with the keys, so that no two groups compare as equal.
    package var sort: [ResolvedSort]
    package var limit: Int
}

/// The members of a group as the fields of a record, to resolve `having` and `sort`.
package struct GroupType: QueryRecordType {
    package let name: RecordTypeName
    /// Sorted by name.
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
    package func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> AccessCondition {
        .always
    }
    package func collation(of column: ReservedColumn) -> TextCollation { .bytes }
}

/// A schema for resolving groups, which have no other records.
struct GroupSchema: QuerySchema {
    subscript(type: RecordTypeName) -> GroupType? { nil }
}
