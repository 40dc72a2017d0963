package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// What a question costs with the number of records of its type: made of its meaning, the indexes and the number of records,
/// before anything is asked (Documentation/Decisions/0044-cost-classes.md).
///
/// `record:query` takes its turn by it and `explain` says it, so that both are one answer.
package struct QueryCost: Sendable {
    /// Whether a question of this cost may be asked now; throws where it may not, and may wait.
    package typealias Admission = @Sendable (QueryCost) async throws(SkyrowError) -> Void

    package let type: RecordTypeName
    package let costClass: QueryExplanation.CostClass
    /// How many records the type has, as PostgreSQL counted them last; zero where they are few.
    package let size: Double
    /// What a question of the class `scan` asks, and of which table; nil for any other.
    private let scan: (query: ResolvedQuery, table: RecordTable)?

    /// A question with more joined types is of the class `join`.
    private static let joins = 4

    /// - Parameters:
    ///   - text: what the question is printed by, with the table and its indexes.
    ///   - size: how many records the type has.
    ///   - isAggregate: whether groups are asked for, which are of all records that match.
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

    /// A question for records by their ids.
    init(ofIDsIn type: RecordTypeName) {
        self.type = type
        costClass = .point
        size = 0
        scan = nil
    }

    /// The index by which a question of the class `scan` would be of another; nil where none is known.
    ///
    /// It is looked for when it is asked for, since most scans are made without a word about it.
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

    /// Whether an index leads to the records of a page, or to all that are counted.
    fileprivate func isServed(_ query: ResolvedQuery, in database: DatabaseScope) -> Bool {
        // A user's own records are found by their database.
        if case .user = database { return true }
        if case .place(_, .anywhere)? = query.predicate {
            // Wherever they are: the index of distances has the order, and only what has a location.
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
        case .pattern(let column, let pattern):
            return hasTrigrams(column, for: "abc")
                && pattern.unicodeScalars.split { $0 == "%" || $0 == "_" || $0 == "\\" }.contains { $0.count >= 3 }
        case .suffix(let column, let text), .substring(let column, let text): return hasTrigrams(column, for: text)
        case .regex(let column, let pattern): return pattern.required != nil && hasTrigrams(column, for: "abc")
        case .match(let column, let words):
            guard let text = self.column(column), text.textLanguage == words.language else { return false }
            return hasIndex(of: column, form: .words) { $0.method == "gin" && $0.keys[0].hasWords(of: text) }
        case .array(let column, .holdsAll, let list), .array(let column, .holdsAny, let list):
            return list.count > 0 && hasIndex(of: column) { $0.method == "gin" }
        case .holdsText(let column, _), .json(let column, .isOneOf), .json(let column, .containsAll),
            .json(let column, .containsAny):
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

    /// Whether a B-tree finds the values of a column, or those of it in one database.
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

    /// Whether a B-tree finds values inside JSON, or those of one database.
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

    /// Whether a complete index has a column at a place, and whatever else is asked of it.
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
            // What is compared is not NULL.
            return isFit(index) && index.hasEveryValue(of: name)
        }
    }
}
