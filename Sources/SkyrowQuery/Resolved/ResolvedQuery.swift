package import SkyrowModel

/// A fully resolved query, ready for an interpreter.
package struct ResolvedQuery: Hashable, Sendable {
    package var type: RecordTypeName
    /// nil for all readable records.
    package var predicate: ResolvedPredicate?
    /// Ends with the id, so that no two records compare as equal.
    package var sort: [ResolvedSort]
    package var inclusions: [ResolvedInclusion]
    /// The lists of records that inclusions lead through, each after those that lead to it.
    package var lists: [ResolvedRecordList] = []
    /// The records behind references, in the order of their first mention in the query.
    package var joins: [ResolvedJoin]
    /// The number of joins, from the first on, that the predicate and the order use.
    package var comparedJoins = 0
    /// The positions of the fields to send; nil for all that the caller sees.
    package var fields: [Int]?
    package var visibility: ResolvedVisibility
    package var limit: Int
    package var offset: Int
    /// Whether the page is read from its end, against the order.
    package var isBackwards = false
    package var countsMatches: Bool

    /// Whether the result for a record depends on other records.
    package var needsOtherRecords: Bool { !joins.isEmpty || (predicate?.needsOtherRecords ?? false) }
}

/// One sort key.
package struct ResolvedSort: Hashable, Sendable {
    package var column: ResolvedColumn
    package var direction: SortKey.Direction
    /// Whether records without a value come first instead of last.
    package var missingComesFirst: Bool
    /// Whether the predicate holds only for records with a value.
    package var isPresent = false

    /// - Parameter nulls: the position of missing values; if nil, last ascending and first descending, as in PostgreSQL.
    package init(_ column: ResolvedColumn, _ direction: SortKey.Direction = .ascending, _ nulls: SortKey.Nulls? = nil) {
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

    /// Whether every result record has a value, as in metadata columns that are NOT NULL.
    package var isNeverMissing: Bool {
        if isPresent { return true }
        guard column.join == nil, case .metadata(let reserved) = column.place else { return false }
        return reserved.isNotNull
    }
}

/// A referenced record, several, or a number to include under a name.
package struct ResolvedInclusion: Hashable, Sendable {
    package var name: String
    /// The index of the join that has the record, among those of the query or of the list; nil for the records of a list
    /// themselves, and if there is nothing to include, which results in null.
    package var join: Int?
    /// The number to send instead of a record.
    package var number: ResolvedColumn?
    /// The index of the list that it belongs to; nil for a single record.
    package var list: Int?
    /// The positions of the fields to send; nil for all that the caller sees.
    package var fields: [Int]?
    /// Whether to send the number of records.
    package var countsRecords = false
}

/// The readable targets of an array of references, for several records at once.
package struct ResolvedRecordList: Hashable, Sendable {
    /// The index of the list whose records have the array; nil for the records of the query.
    package var parent: Int?
    /// The array: a column of those records or of one joined to them.
    package var column: ResolvedColumn
    package var target: RecordTypeName
    /// The collation of the ids of that type.
    package var idCollation: TextCollation
    package var joins: [ResolvedJoin]
    /// Empty for the order of the array.
    package var sort: [ResolvedSort]
    /// Upper bound on the records for each array.
    package var limit: Int
}

/// The readable target of a reference of the queried record.
///
/// If the target is missing or not readable, all of its columns are missing.
package struct ResolvedJoin: Hashable, Sendable {
    package var reference: ResolvedColumn
    package var target: RecordTypeName
    /// The collation of the ids of that type.
    package var idCollation: TextCollation
}

/// The access scopes of the records that a query may read.
package struct ResolvedVisibility: Hashable, Sendable {
    /// The scope of the queried records.
    package var records: AccessScope
    /// The scopes of other records of types without rules; one of these has to admit a record.
    private let standard: [AccessScope]
    /// The scopes of other records of types with rules.
    private var ruled: [RecordTypeName: [AccessScope]] = [:]

    /// - Parameters:
    ///   - type: the type of the queried records.
    ///   - rules: the rules of all types that the query leads to, including `type`, if they have any.
    package init(_ access: RecordAccess, of type: RecordTypeName, rules: [RecordTypeName: ClassRules]) {
        records = access.of(rules[type]).read
        standard = access.standard.referenced
        if !rules.isEmpty { ruled = rules.mapValues { access.of($0).referenced } }
    }

    /// The scopes of the records of a type that the query leads to; one of these has to admit a record.
    package func referenced(_ type: RecordTypeName) -> [AccessScope] {
        ruled.isEmpty ? standard : ruled[type] ?? standard
    }
}

extension Resolver {
    /// The scopes of the records to read; complete once everything is resolved.
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
