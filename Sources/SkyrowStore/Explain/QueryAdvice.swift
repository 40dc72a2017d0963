package import SkyrowModel
package import SkyrowQuery

/// Advice on making a query cheaper: derived from its plan and the resolved query, without a database.
package struct QueryAdvice: Hashable, Sendable {
    /// Upper bound on the rows of a table that may be read as a whole.
    package static let largeTable = 10_000.0
    /// The part of the records above which a full scan is the best plan for a condition.
    private static let selectivePart = 0.2

    /// The pieces of advice, without duplicates.
    package private(set) var advice: [QueryExplanation.Advice] = []

    /// - Parameters:
    ///   - sizes: the row counts of the plan's tables, by name; for a missing one, the plan's estimate counts.
    package init(_ query: ResolvedQuery, on table: RecordTable, plan: PlanNode, sizes: [String: Double]) {
        let facts = QueryFacts(query, on: table, plan: plan, sizes: sizes)
        var advice: [QueryExplanation.Advice] = []
        if facts.isLarge {
            advice += facts.adviceOnScans(selectivePart: Self.selectivePart)
            advice += facts.adviceOnSort
        }
        add(advice + facts.adviceOnTexts + facts.adviceOnInvalidIndexes)
    }

    /// Adds the advice on an included list. Its records are found by their ids, so only their order matters.
    package mutating func add(_ list: ResolvedRecordList, of query: ResolvedQuery, on table: RecordTable) {
        var records = query
        records.type = list.target
        records.predicate = nil
        records.sort = list.sort
        records.joins = list.joins
        let facts = QueryFacts(records, on: table, plan: PlanNode(""), sizes: [:])
        add(facts.adviceOnTexts + facts.adviceOnInvalidIndexes)
    }

    private mutating func add(_ more: [QueryExplanation.Advice]) {
        for piece in more {
            // One index may serve several pieces of advice.
            let isKnown = advice.contains { $0 == piece || piece.index != nil && $0.index == piece.index }
            if !isKnown { advice.append(piece) }
        }
    }
}

/// The conditions of a query on the fields of its type, and how its plan evaluates them.
private struct QueryFacts {
    let query: ResolvedQuery
    let table: RecordTable
    let plan: PlanNode
    let sizes: [String: Double]
    /// The nodes that read the table of the query.
    let scans: [PlanNode]
    /// The fields that are compared for equality, in the order of the query.
    private(set) var equal: [IndexField] = []
    private(set) var ranges: [IndexField] = []
    /// The fields that are searched for substrings.
    private(set) var parts: [IndexField] = []
    private(set) var elements: [IndexField] = []
    private(set) var words: [IndexField] = []
    /// The fields whose distances are used, and those that are searched by boxes and polygons.
    private(set) var distances: [IndexField] = []
    private(set) var shapes: [IndexField] = []
    /// The text fields whose order matters and is not that of bytes.
    private(set) var texts: Set<String> = []

    init(_ query: ResolvedQuery, on table: RecordTable, plan: PlanNode, sizes: [String: Double]) {
        self.query = query
        self.table = table
        self.plan = plan
        self.sizes = sizes
        scans = plan.all.filter { $0.alias == "r" && $0.relation == table.name.rawValue }
        if let predicate = query.predicate { note(predicate) }
        for key in query.sort { noteOrder(key.column) }
        if let key = query.sort.first, case .distance = key.column.reading, key.direction == .ascending {
            var location = key.column
            location.reading = .stored
            distances += storedField(location)
        }
    }

    /// The number of records of the type.
    private var size: Double { size(of: table.name.rawValue, atLeast: scans.map(\.rows).max() ?? 0) }

    private func size(of relation: String, atLeast rows: Double) -> Double { max(sizes[relation] ?? -1, rows) }

    var isLarge: Bool { size > QueryAdvice.largeTable }

    // MARK: Conditions

    /// Collects the conditions that must all hold; no index serves a single branch of an `or`.
    private mutating func note(_ predicate: ResolvedPredicate) {
        switch predicate {
        case .and(let parts):
            for part in parts { note(part) }
        case .comparison(let column, .equal, _), .isOneOf(let column, _):
            equal += orderedField(column)
        case .comparison(let column, let relation, _) where relation.isOrder:
            ranges += orderedField(column)
            noteOrder(column)
        case .hasID(let column, _):
            equal += orderedField(column)
        case .text(let column, .pattern, let pattern):
            // Three consecutive letters are enough for an index of trigrams.
            if pattern.split(whereSeparator: { "%_\\".contains($0) }).contains(where: { $0.count >= 3 }) {
                parts += storedField(column)
            }
        case .match(let column, _):
            words += storedField(column)
        case .regex(let column, let pattern):
            if pattern.required != nil { parts += storedField(column) }
        case .text(let column, .suffix, let text), .text(let column, .substring, let text):
            if text.count >= 3 { parts += storedField(column) }
        case .holdsText(let column, _):
            elements += storedField(column)
        case .json(let column, .holdsAll, let values), .json(let column, .holdsAny, let values):
            if !values.isEmpty, values.allSatisfy({ $0.isScalar }) { elements += storedField(column) }
        case .array(let column, .holdsAll, let list), .array(let column, .holdsAny, let list):
            if list.count > 0 { elements += storedField(column) }
        case .place(let column, .within):
            distances += storedField(column)
        case .place(let column, .boxes), .place(let column, .polygon), .covers(let column, _):
            shapes += storedField(column)
        default:
            break
        }
    }

    private mutating func noteOrder(_ column: ResolvedColumn) {
        guard !column.folds, let field = storedField(column).first else { return }
        switch column.collation {
        case .bytes, .databaseBytes: break
        case .database, .other: texts.insert(field.name)
        }
    }

    /// Returns the field whose stored value a column is; empty for a column of another type or a value inside it.
    private func storedField(_ column: ResolvedColumn) -> [IndexField] {
        guard column.join == nil, column.reading == .stored, column.sortLanguage == nil,
            case .field(let field, _) = column.place
        else { return [] }
        return [IndexField(field.rawValue, isFolded: column.folds)]
    }

    /// Returns the field of an index of kind `order` for a column; empty if no such index can have it.
    private func orderedField(_ column: ResolvedColumn) -> [IndexField] {
        if case .metadata(let reserved) = column.place, column.join == nil {
            return reserved.takesIndex ? [IndexField(reserved.rawValue)] : []
        }
        if let value = valueInside(column) { return [value] }
        return storedField(column).filter { field in
            (try? FieldName(field.name)).flatMap { table[$0] }?.type.column.indexes.contains(.order) == true
        }
    }

    /// Returns the value inside JSON that an index can have; nil for any other column.
    private func valueInside(_ column: ResolvedColumn) -> IndexField? {
        guard let value = QueryText(root: table, joined: []).jsonValue(column), case .field(let field, _) = column.place
        else { return nil }
        var inside = IndexField(field.rawValue)
        inside.steps = value.steps
        inside.jsonType = value.type
        return inside
    }

    // MARK: Advice

    func adviceOnScans(selectivePart: Double) -> [QueryExplanation.Advice] {
        // A parallel scan is divided among processes, each with its part of the estimate.
        guard let found = scans.filter(\.readsInSequence).map(\.rows).max() else { return [] }
        let isSelective = found < size * selectivePart
        var advice: [QueryExplanation.Advice] = []
        let keys = unique(scanKeys)
        if isSelective, !keys.isEmpty {
            advice += self.advice(
                .sequentialScan,
                "All records of \(table.name) are scanned for the few that match.",
                order(Array(keys.prefix(IndexDefinition.maximumFields)))
            )
        }
        // PostgreSQL cannot estimate how many texts contain a part.
        for field in parts { advice += adviceOnContents(field, .trigram, "a part") }
        for field in words { advice += adviceOnContents(field, .text, "words") }
        if isSelective { for field in elements { advice += adviceOnContents(field, .contains, "an element") } }
        // Nor can it estimate how many locations are near to one.
        for field in distances { advice += adviceOnPlaces(field, .near) }
        for field in shapes { advice += adviceOnPlaces(field, .box) }
        return advice
    }

    private func adviceOnContents(_ field: IndexField, _ kind: IndexKind, _ sought: String) -> [QueryExplanation.Advice]
    {
        advice(
            .containsScan,
            "All records of \(table.name) are scanned for \(sought) of \(field.name).",
            IndexDefinition(of: table.name, [field], kind: kind)
        )
    }

    private func adviceOnPlaces(_ field: IndexField, _ kind: IndexKind) -> [QueryExplanation.Advice] {
        advice(
            .placeScan,
            "All records of \(table.name) are scanned for the places of \(field.name).",
            IndexDefinition(of: table.name, [field], kind: kind)
        )
    }

    /// The key columns for the conditions: those compared for equality, then the order of the page or one range.
    private var scanKeys: [IndexField] {
        let range = Array(ranges.prefix(1))
        if equal.isEmpty { return pageOrder.first?.keyPath == range.first?.keyPath ? pageOrder : range }
        return equal + (pageOrder.isEmpty ? range : pageOrder)
    }

    var adviceOnSort: [QueryExplanation.Advice] {
        guard query.limit > 0, plan.all.contains(where: \.isSort) else { return [] }
        if query.sort.contains(where: { $0.column.join != nil }) {
            let message = "Records are sorted by a field of another type, which no index of \(table.name) can serve."
            return [QueryExplanation.Advice(.sortThroughReference, message)]
        }
        guard !pageOrder.isEmpty else { return [] }
        let keys = unique(equal + pageOrder)
        return advice(
            .sort,
            "Records of \(table.name) are sorted for a page of \(query.limit).",
            order(Array(keys.prefix(IndexDefinition.maximumFields)))
        )
    }

    /// The sort keys that an index of the type can have, before the id; empty if it can't have all of them.
    private var pageOrder: [IndexField] {
        let keys = query.sort.filter { key in
            if key.column.join == nil, case .metadata(.id) = key.column.place { false } else { true }
        }
        let fields = keys.flatMap { key in
            orderedField(key.column).map { field in
                var field = field
                field.direction = key.direction
                return field
            }
        }
        return fields.count == keys.count ? fields : []
    }

    var adviceOnTexts: [QueryExplanation.Advice] {
        texts.sorted().map { field in
            QueryExplanation.Advice(
                .textOrder,
                "The column of \(table.name).\(field) has the collation of a language, so that no index can serve its order: "
                    + "skyrow schema apply converts it."
            )
        }
    }

    var adviceOnInvalidIndexes: [QueryExplanation.Advice] {
        let asked = Set((equal + ranges + parts + elements + words + distances + shapes + pageOrder).map(\.name))
        return table.indexes.filter { !$0.isValid }.compactMap { index in
            guard index.keys.contains(where: { $0.source.map(asked.contains) ?? false }) else { return nil }
            return QueryExplanation.Advice(
                .invalidIndex,
                "The index \(index.name) is not complete: schema:index:list says whether it is being built."
            )
        }
    }

    // MARK: Indexes

    private func order(_ fields: [IndexField]) -> IndexDefinition { IndexDefinition(of: table.name, fields) }

    private func unique(_ fields: [IndexField]) -> [IndexField] {
        var seen: Set<String> = []
        return fields.filter { field in
            var ascending = field
            ascending.direction = .ascending
            return seen.insert(ascending.text).inserted
        }
    }

    /// Returns the advice to create an index, unless an equivalent one exists that PostgreSQL did not use.
    private func advice(
        _ reason: QueryExplanation.Advice.Reason,
        _ message: String,
        _ index: IndexDefinition
    ) -> [QueryExplanation.Advice] {
        let column = index.fields.first.flatMap { try? FieldName($0.name) }.flatMap { table[$0] }
        return table.indexes.contains { $0.serves(index, on: column) }
            ? [] : [QueryExplanation.Advice(reason, message, index: index)]
    }
}

extension TableIndex {
    /// Whether the index covers all rows and begins with the columns of a definition.
    ///
    /// - Parameters:
    ///   - definition: the advised index.
    ///   - column: the first of its fields; nil for metadata.
    fileprivate func serves(_ definition: IndexDefinition, on column: RecordColumn?) -> Bool {
        guard isValid, condition == nil, keys.count >= definition.fields.count else { return false }
        let pairs = zip(keys, definition.fields)
        let isSame = pairs.allSatisfy { key, field in
            definition.kind == .text ? key.column == field.name && key.form == .words : key.holds(field)
        }
        let isOfGeometry =
            keys[0].column == definition.fields.first?.name
            && keys[0].form == (column?.type == .geometry ? .column : .geometry)
        switch definition.kind {
        case .order:
            let isForward = pairs.allSatisfy { $0.isDescending == ($1.direction == .descending) }
            let isBackward = pairs.allSatisfy { $0.isDescending != ($1.direction == .descending) }
            return method == "btree" && isSame && (isForward || isBackward)
        case .contains: return method == "gin" && isSame
        case .text: return method == "gin" && isSame && column.map { keys[0].hasWords(of: $0) } ?? false
        case .trigram: return isSame && keys[0].operators.hasSuffix("_trgm_ops")
        case .near: return method == "gist" && isSame
        case .box: return method == "gist" && isOfGeometry
        }
    }
}
