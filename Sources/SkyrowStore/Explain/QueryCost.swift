package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The cost class of a query: derived from the resolved query, the indexes and the number of records, before the database is
/// queried (Documentation/Decisions/indexes-and-cost.md).
///
/// `record:query` is queued by it and `explain` reports it, so that both agree.
package struct QueryCost: Sendable {
    /// Admits a query of this cost; throws to refuse it, and may wait.
    package typealias Admission = @Sendable (QueryCost) async throws(SkyrowError) -> Void

    package let type: RecordTypeName
    package let costClass: QueryExplanation.CostClass
    /// The number of records of the type according to PostgreSQL's statistics; 0 for a small table.
    package let size: Double
    /// The query and table of a query of class `scan`; nil for other classes.
    private let scan: (query: ResolvedQuery, table: RecordTable)?

    /// A query with more joined types is of class `join`.
    private static let joins = 4

    /// - Parameters:
    ///   - text: the SQL text builder of the query, with the table and its indexes.
    ///   - size: the number of records of the type.
    ///   - isAggregate: whether the query aggregates, which reads all matching records.
    init(_ query: ResolvedQuery, _ text: QueryText, in database: DatabaseScope, size: Double, isAggregate: Bool = false)
    {
        type = query.type
        self.size = size
        let isById = query.predicate.map { text.isByID($0) } ?? false
        let isScan =
            size > QueryAdvice.largeTable && !isById && (isAggregate || !text.isServed(query, in: database))
        if isScan {
            costClass = .scan
            scan = (query, text.root)
        } else {
            let leadsToSeveral = query.predicate?.needsOtherRecords == true || !query.lists.isEmpty
            costClass = leadsToSeveral || query.joins.count > Self.joins ? .join : isById ? .point : .indexed
            scan = nil
        }
    }

    /// The cost of a query for records by their ids.
    init(ofIDsIn type: RecordTypeName) {
        self.type = type
        costClass = .point
        size = 0
        scan = nil
    }

    /// The index that would give a query of class `scan` another class; nil if none is found.
    ///
    /// Computed on demand, since most scans run without asking for it.
    package var index: IndexDefinition? {
        guard let (query, table) = scan else { return nil }
        let plan = PlanNode("Sort", [PlanNode("Seq Scan", on: type.rawValue, as: "r")])
        return QueryAdvice(query, on: table, plan: plan, sizes: [type.rawValue: size]).advice.lazy.compactMap(\.index)
            .first
    }
}

extension QueryText {
    /// Whether a predicate names the ids of all records for which it holds.
    fileprivate func isByID(_ predicate: ResolvedPredicate) -> Bool {
        switch predicate {
        case .and(let parts): return parts.contains { isByID($0) }
        case .hasID(let column, _):
            return column.join == nil && column.place == .metadata(.id) && column.idForms != .any
        default: return false
        }
    }

    /// Whether an index leads to the records of a page, or to all counted ones.
    fileprivate func isServed(_ query: ResolvedQuery, in database: DatabaseScope) -> Bool {
        // The index on `_database` finds a user's private records.
        if case .user = database { return true }
        if case .place(_, .anywhere)? = query.predicate {
            // Any location matches: the index of distances has the order, and only the records with a location.
            return !query.countsMatches && query.sort.first.map { isNearest($0) } ?? false
        }
        if let predicate = query.predicate { return isServed(predicate, in: database) }
        guard !query.countsMatches, let first = query.sort.first else { return false }
        let column = first.column
        let isByID = column.join == nil && column.place == .metadata(.id) && column.collation.ordersByBytes
        return isByID || isIndexed(first, in: database) || isNearest(first)
    }

    /// Whether an index leads to the records for which a predicate holds.
    private func isServed(_ predicate: ResolvedPredicate, in database: DatabaseScope) -> Bool {
        switch predicate {
        case .and(let parts): return parts.contains { isServed($0, in: database) }
        case .or(let parts): return !parts.isEmpty && parts.allSatisfy { isServed($0, in: database) }
        case .comparison(let column, let relation, _):
            return relation != .unequal && hasOrder(of: column, for: relation, in: database)
        case .isOneOf(let column, _): return hasOrder(of: column, for: .equal, in: database)
        case .hasID(let column, _): return column.idForms != .any && hasOrder(of: column, for: .equal, in: database)
        case .isFound(let column, _):
            if case .array = column.kind { return hasIndex(of: column) { $0.method == "gin" } }
            return hasOrder(of: column, for: .equal, in: database)
        case .text(let column, .pattern, let pattern):
            return hasTrigrams(column, for: "abc")
                && pattern.unicodeScalars.split { $0 == "%" || $0 == "_" || $0 == "\\" }.contains { $0.count >= 3 }
        case .text(let column, .suffix, let text), .text(let column, .substring, let text):
            return hasTrigrams(column, for: text)
        case .regex(let column, let pattern): return pattern.required != nil && hasTrigrams(column, for: "abc")
        case .match(let column, let words):
            guard let text = self.column(column), text.textLanguage == words.language else { return false }
            return hasIndex(of: column, form: .words) { $0.method == "gin" && $0.keys[0].hasWords(of: text) }
        case .array(let column, .holdsAll, let list), .array(let column, .holdsAny, let list):
            return list.count > 0 && hasIndex(of: column) { $0.method == "gin" }
        case .holdsText(let column, _), .json(let column, .equal, _), .json(let column, .holdsAll, _),
            .json(let column, .holdsAny, _):
            return hasIndex(of: column) { $0.method == "gin" }
        case .place(_, .anywhere): return false
        case .place(let column, .within): return hasIndex(of: column) { $0.method == "gist" }
        case .place(let column, _), .covers(let column, _):
            return hasIndex(of: column, form: column.kind == .geometry ? .column : .geometry) { $0.method == "gist" }
        // The members of a record, and the records of a member, have an index each.
        case .isMember: return true
        case .hasEach(let elements): return elements.column.join == nil
        case .any(let elements):
            if case .relation = elements.column.kind, case .hasID = elements.predicate {
                return elements.column.join == nil
            }
            return sharedElement(elements) != nil
        case .isRelated, .array, .json, .not, .none, .unknown, .isMissing, .isPresent, .constant, .columns, .isNotFound,
            .all:
            return false
        }
    }

    /// Whether a B-tree finds the values of a column, or those within one database.
    private func hasOrder(of column: ResolvedColumn, for relation: Relation, in database: DatabaseScope) -> Bool {
        if let value = jsonValue(column) { return hasOrder(of: value, identifier(column), in: database) }
        let isBytes = relation.isOrder ? column.collation.ordersByBytes : column.collation.equatesByBytes
        guard !column.readsWireID, isBytes || !column.kind.isText else { return false }
        if database != .union,
            hasIndex(
                of: column,
                at: 1,
                form: column.folds ? .fold : .column,
                where: {
                    $0.method == "btree" && $0.keys[0].column == ReservedColumn.database.rawValue
                }
            )
        {
            return true
        }
        return hasIndex(of: column, form: column.folds ? .fold : .column) { $0.method == "btree" }
    }

    /// Whether a B-tree finds values inside JSON, or those within one database.
    private func hasOrder(
        of value: TableIndex.Key.JSONValue,
        _ column: SQLIdentifier,
        in database: DatabaseScope
    ) -> Bool {
        root.indexes.contains { index in
            guard index.isValid, index.method == "btree", index.hasEveryValue(of: column) else { return false }
            if index.keys.first?.json == value { return true }
            return database != .union && index.keys.count > 1 && index.keys[1].json == value
                && index.keys[0].column == ReservedColumn.database.rawValue
        }
    }

    /// Whether a complete index has a column at a key position, and meets a further condition.
    private func hasIndex(
        of column: ResolvedColumn,
        at place: Int = 0,
        form: TableIndex.Key.Form = .column,
        where isFit: (TableIndex) -> Bool
    ) -> Bool {
        guard column.join == nil, column.limit == nil, column.reading == .stored else { return false }
        let name = identifier(column)
        return root.indexes.contains { index in
            guard index.isValid, index.keys.count > place, index.keys[place].column == name.name,
                index.keys[place].form == form
            else { return false }
            // Compared values are not NULL.
            return isFit(index) && index.hasEveryValue(of: name)
        }
    }
}
