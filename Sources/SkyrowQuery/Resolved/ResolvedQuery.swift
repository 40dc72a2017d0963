package import SkyrowModel

/// A query without an open question, for an interpreter to answer.
package struct ResolvedQuery: Hashable, Sendable {
    package var type: RecordTypeName
    /// nil for all records that the caller may read.
    package var predicate: ResolvedPredicate?
    /// Ends with the id, so that no two records have the same place.
    package var sort: [ResolvedSort]
    package var inclusions: [ResolvedInclusion]
    /// The lists of records that inclusions lead through, each behind those that lead to it.
    package var lists: [ResolvedRecordList] = []
    /// The records behind references, in the order in which the query first names them.
    package var joins: [ResolvedJoin]
    /// How many of the joins, from the first on, the predicate and the order lead through.
    package var comparedJoins = 0
    /// The places of the fields to send; nil for all that the caller sees.
    package var fields: [Int]?
    package var visibility: ResolvedVisibility
    package var limit: Int
    package var offset: Int
    /// Whether the page is read from its end, against the order.
    package var isBackwards = false
    package var countsMatches: Bool

    /// Whether the answer for a record depends on other records than itself.
    package var needsOtherRecords: Bool { !joins.isEmpty || (predicate?.needsOtherRecords ?? false) }
}

/// One key of the order of records.
package struct ResolvedSort: Hashable, Sendable {
    package var column: ResolvedColumn
    package var direction: SortKey.Direction
    /// Whether records without a value come before all others, and not behind them.
    package var missingComesFirst: Bool
    /// Whether the predicate holds only where there is a value.
    package var isPresent = false

    /// - Parameter nulls: where records without a value come; as in PostgreSQL last ascending and first descending when nil.
    package init(
        _ column: ResolvedColumn,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) {
        self.column = column
        self.direction = direction
        missingComesFirst = nulls.map { $0 == .first } ?? (direction == .descending)
    }

    /// The key of the reversed order.
    package var reversed: ResolvedSort {
        var key = self
        key.direction = direction == .ascending ? .descending : .ascending
        key.missingComesFirst.toggle()
        return key
    }

    /// Whether every record that is found has a value, as in the metadata that the tables require.
    package var isNeverMissing: Bool {
        if isPresent { return true }
        guard column.join == nil, case .metadata(let reserved) = column.place else { return false }
        return reserved.isNotNull
    }
}

/// A referenced record to send along under a name of its own, some, or a number.
package struct ResolvedInclusion: Hashable, Sendable {
    package var name: String
    /// The number of the join that brings it, among those of the query or of the list; nil for the records of a list
    /// themselves, and where there is nothing to bring, which is answered with null.
    package var join: Int?
    /// The number that is sent in the place of a record.
    package var number: ResolvedColumn?
    /// The place of the list that it is a part of; nil for one record.
    package var list: Int?
    /// The places of the fields to send; nil for all that the caller sees.
    package var fields: [Int]?
    /// Whether to say how many records there are.
    package var countsRecords = false
}

/// The records that an array of references leads to, as far as the caller may read them, for some records at once.
package struct ResolvedRecordList: Hashable, Sendable {
    /// The place of the list whose records have the array; nil for those that the query is about.
    package var parent: Int?
    /// The array, a column of those records or of one that is joined to them.
    package var column: ResolvedColumn
    package var target: RecordTypeName
    /// The collation of the ids of that type.
    package var idCollation: TextCollation
    package var joins: [ResolvedJoin]
    /// Empty for the order of the array.
    package var sort: [ResolvedSort]
    /// How many there are at most, for each array.
    package var limit: Int
}

/// The record behind a reference of the record that is asked about, as far as the caller may read it.
///
/// A record that is missing or may not be read has no fields: all its columns are missing.
package struct ResolvedJoin: Hashable, Sendable {
    package var reference: ResolvedColumn
    package var target: RecordTypeName
    /// The collation of the ids of that type.
    package var idCollation: TextCollation
}

/// Which records a query may meet.
package struct ResolvedVisibility: Hashable, Sendable {
    /// Of those that it is about.
    package var records: AccessScope
    /// Of those of types without rules that are not what it is about; one of these scopes is enough.
    private let standard: [AccessScope]
    /// The same of the types with rules.
    private var ruled: [RecordTypeName: [AccessScope]] = [:]

    /// - Parameters:
    ///   - type: the type of the records that the query is about.
    ///   - rules: those of all types that it leads to, itself included, as far as they have some.
    package init(_ access: RecordAccess, of type: RecordTypeName, rules: [RecordTypeName: ClassRules]) {
        records = access.of(rules[type]).read
        standard = access.standard.referenced
        if !rules.isEmpty { ruled = rules.mapValues { access.of($0).referenced } }
    }

    /// The scopes of the records of a type that the query leads to; one of them is enough.
    package func referenced(_ type: RecordTypeName) -> [AccessScope] {
        ruled.isEmpty ? standard : ruled[type] ?? standard
    }
}

extension Resolver {
    /// Which records may be met, once everything is resolved.
    package var visibility: ResolvedVisibility {
        var rules: [RecordTypeName: ClassRules] = [:]
        collectRules(into: &rules)
        return ResolvedVisibility(access, of: root.name, rules: rules)
    }

    private func collectRules(into rules: inout [RecordTypeName: ClassRules]) {
        func add(_ type: Schema.RecordType) {
            if let known = type.classRules { rules[type.name] = known }
        }
        add(root)
        for (_, type) in joined { add(type) }
        for (root, joined) in subqueries {
            add(root)
            for type in joined { add(type) }
        }
        for list in lists { list.resolver.collectRules(into: &rules) }
    }
}
