package import SkyrowModel

/// Resolves a query for the schema and the access of its caller, and detects every error.
///
/// Every error of a query comes from here or from the reader of its JSON form: `108` for an invalid operator, operand or value,
/// `111` for equality with an object or array, `120` for a key path that cannot be resolved, `124` for a field that the caller
/// does not see. `info.path` names the invalid element, the first one in reading order.
///
/// ```swift
/// var resolver = Resolver(schema: catalog, root: table, access: access)
/// let resolved = try resolver.resolve(query)
/// ```
package struct Resolver<Schema: QuerySchema> {
    let schema: Schema
    let root: Schema.RecordType
    let access: RecordAccess
    /// The records that the query joins, in the order of their first mention.
    package internal(set) var joins: [ResolvedJoin] = []
    /// The names that lead to them, and their types.
    var joined: [(names: ArraySlice<String>, type: Schema.RecordType)] = []
    /// The types of the joined records, in the order of ``joins``.
    package var joinedTypes: [Schema.RecordType] { joined.map { $0.type } }
    var use = PredicateUse()
    /// The types of subqueries and lists of records inside the predicate, with the types of the records that these join.
    package internal(set) var subqueries: [(root: Schema.RecordType, joined: [Schema.RecordType])] = []
    /// The lists of records that inclusions lead through.
    package internal(set) var lists: [InclusionList<Schema>] = []
    /// The number of joins in the rest of the whole query.
    var joinsElsewhere = 0
    /// The nesting depth of this query among subqueries.
    var subqueryDepth = 0
    /// The scope of the records at which key paths start.
    var scope = ResolvedColumn.Scope.query
    /// The nesting depth of `or`, `not` and `none`.
    var alternatives = 0
    /// Whether `near` determines the order, since nothing else does.
    var ordersByDistance = false
    /// The distance of the `near` condition that determines the order.
    var nearest: ResolvedColumn?
    /// Whether sort keys may use the order of a language.
    var takesLanguages = false
    /// The start of key paths.
    var start = PathStart.record

    /// Whether the predicate is evaluated for a given record, whose values it would let a caller guess.
    package var isAboutOneRecord = false

    /// The use of the fields that key paths lead to; by default the one that requires the most rights.
    var asking = FieldAsking.order

    /// How far the last path was resolved in which no array or relation was found.
    var walked: Walk?

    /// A path, with the index and the column of the name at which the search stopped.
    struct Walk {
        var path: KeyPath
        var place: Int
        var column: ResolvedColumn
    }

    /// The text and the words of the last `match` condition.
    var matched: (column: ResolvedColumn, words: WordQuery)?

    /// The start of a predicate's key paths.
    enum PathStart {
        /// The record that the condition is on.
        case record
        /// A record of a list of references.
        case listedRecord
        /// An element of an array of values.
        case value(ResolvedColumn)
    }

    /// - Parameters:
    ///   - schema: the types as the caller sees them.
    ///   - root: the type of the queried records.
    package init(schema: Schema, root: Schema.RecordType, access: RecordAccess) {
        self.schema = schema
        self.root = root
        self.access = access
    }

    /// Resolves with another use of the fields that key paths lead to.
    mutating func asking<Result>(
        _ asking: FieldAsking,
        _ body: (inout Resolver) throws(SkyrowError) -> Result
    ) throws(SkyrowError) -> Result {
        let outer = self.asking
        // A resolved prefix is valid only for the use that it was checked for.
        if asking != outer { walked = nil }
        self.asking = asking
        defer {
            if asking != outer { walked = nil }
            self.asking = outer
        }
        return try body(&self)
    }

    package mutating func resolve(_ query: RecordQuery) throws(SkyrowError) -> ResolvedQuery {
        ordersByDistance = query.sort.isEmpty
        takesLanguages = true
        // Joins are numbered in the order of these calls.
        let predicate = try query.predicate.map { part throws(SkyrowError) in try self.predicate(part) }
        let sort = try self.order(of: query)
        try checkPage(of: query)
        let comparedJoins = joins.count
        let inclusions = try self.inclusions(query.include, in: query.includeForm)
        let fields =
            query.desiredFields == nil
            ? try fields(of: root, without: query.omittedFields)
            : try self.fields(of: root, query.desiredFields, query.selectionParameter)
        return ResolvedQuery(
            type: root.name,
            predicate: predicate,
            sort: sort,
            inclusions: inclusions,
            lists: lists.map { $0.resolved },
            joins: joins,
            comparedJoins: comparedJoins,
            fields: fields,
            visibility: visibility,
            limit: query.limit,
            offset: query.offset,
            isBackwards: query.position.isBackwards,
            countsMatches: query.countsMatches
        )
    }

    /// Returns a type that the query leads to; nil if it does not exist.
    ///
    /// Throws `102 PermissionDenied` if the scopes of the request's key exclude its records.
    func type(_ name: RecordTypeName) throws(SkyrowError) -> Schema.RecordType? {
        try access.requireReading(name)
        return schema[name]
    }

    /// The same for a type at an index of an element.
    func type(_ name: RecordTypeName, at place: Int) throws(SkyrowError) -> Schema.RecordType? {
        do throws(SkyrowError) { return try type(name) } catch { throw error.at(place) }
    }

    /// Resolves a predicate; `info.path` of an error begins with `predicate`.
    package mutating func predicate(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        do throws(SkyrowError) { return try condition(predicate) } catch { throw error.at("predicate") }
    }

    /// Resolves a sort order, which ends with the id, in the direction of the previous key.
    package mutating func sort(_ keys: [SortKey]) throws(SkyrowError) -> [ResolvedSort] {
        try asking(.order) { resolver throws(SkyrowError) in try resolver.sortKeys(keys) }
    }

    private mutating func sortKeys(_ keys: [SortKey]) throws(SkyrowError) -> [ResolvedSort] {
        var result: [ResolvedSort] = []
        result.reserveCapacity(keys.count + 1)
        for (place, key) in keys.enumerated() {
            let column: ResolvedColumn
            do throws(SkyrowError) { column = try sortColumn(key) } catch {
                throw error.at(0).at(place).at("sort")
            }
            // A repeated column has no effect.
            if result.contains(where: { $0.column == column }) { continue }
            result.append(ResolvedSort(column, key.direction, key.nulls))
            // Keys after a unique one have no effect.
            if column.join == nil, case .id = column.kind { return result }
        }
        result.append(ResolvedSort(idColumn, result.last?.direction ?? .ascending))
        return result
    }

    private mutating func sortColumn(_ key: SortKey) throws(SkyrowError) -> ResolvedColumn {
        let path = key.keyPath
        var column: ResolvedColumn
        if let function = key.function {
            column = try self.column(path)
            do throws(SkyrowError) { column = try number(function, of: column, path) } catch { throw error.at(2) }
        } else {
            column = try self.column(path)
        }
        switch column.kind {
        case _ where column.kind.isSortable:
            return column
        case .json where column.valueClass == .jsonPath:
            throw .recordQueryInvalid(
                "To sort by a value inside JSON, give its type with \"$as\" in the key path.",
                path
            )
        case .location:
            throw .recordQueryInvalid(
                "Locations have no order; sort by the distance from a place, [\"func\", \"distance\", key path, location].",
                path
            )
        case .array:
            throw .recordQueryInvalid("Arrays have no order; sort by their size, [\"func\", \"size\", key path].", path)
        default:
            throw .recordQueryInvalid("Records cannot be sorted by a field of this type.", path)
        }
    }

    mutating func includedNumber(_ inclusion: Inclusion) throws(SkyrowError) -> ResolvedColumn {
        try asking(.order) { resolver throws(SkyrowError) in try resolver.number(of: inclusion) }
    }

    private mutating func number(of inclusion: Inclusion) throws(SkyrowError) -> ResolvedColumn {
        let path = inclusion.keyPath
        var column: ResolvedColumn
        do throws(SkyrowError) {
            column = try self.column(path)
            if let function = inclusion.function { column = try number(function, of: column, path) }
        } catch {
            throw error.at(2)
        }
        guard column.kind == .number else {
            throw SkyrowError(
                .notSupported,
                "The only functions of \"include\" are \"distance\" and \"rank\".",
                info: ["arguments": .list([.string("include"), .string(path.description)])]
            ).at(1)
        }
        return column
    }

    /// Applies a function in a sort order or an inclusion, where a rank is possible too.
    private mutating func number(
        _ function: FieldFunction,
        of column: ResolvedColumn,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        if case .collate(let language) = function { return try inOrder(of: language, column, path) }
        guard case .rank = function else { return try self.function(function, of: path) }
        guard use.words == 1, let matched, matched.column.unlimited == column.unlimited else {
            throw .recordQueryInvalid("\"rank\" requires exactly one \"match\" in the query, on the same field.", path)
        }
        var rank = column
        rank.kind = .number
        rank.reading = .rank(matched.words)
        return rank
    }

    /// Sorts a text in the order of a language, whose existence in the database is checked elsewhere.
    private func inOrder(
        of language: String,
        _ column: ResolvedColumn,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        guard takesLanguages else {
            throw .predicateInvalid(
                "\"collate\" can only be used in the \"sort\" of a query or of an included list.",
                path
            )
        }
        guard column.kind == .string else { throw .predicateInvalid("\"collate\" applies only to strings.", path) }
        var ordered = column
        ordered.sortLanguage = language
        return ordered
    }

    /// Returns the positions of the fields to send; ignores metadata, which is always sent. `_verified` is not metadata.
    func fields(of type: Schema.RecordType, _ names: [String]?, _ parameter: String) throws(SkyrowError) -> [Int]? {
        guard let names else { return nil }
        // The parent is always sent, like metadata.
        var positions = Set(type.queryField(.parent).map { [$0.position] } ?? [])
        for (place, name) in names.enumerated() {
            let field = try? FieldName(name)
            if name.hasPrefix("_"), field.map({ type.queryField($0) == nil && !type.isHidden($0) }) ?? true { continue }
            if let field, let found = type.queryField(field) {
                positions.insert(found.position)
                continue
            }
            let error: SkyrowError =
                if let field, type.isHidden(field) {
                    .recordQueryDenied(name)
                } else {
                    SkyrowError(
                        .recordQueryInvalid,
                        SkyrowError.unknownFieldMessage,
                        info: ["arguments": .list([.string(parameter), .string(name)])]
                    )
                }
            throw error.at(place).at(parameter)
        }
        return positions.sorted()
    }

    /// Returns all fields that the caller sees without some; nil if none is omitted.
    func fields(of type: Schema.RecordType, without names: [String]) throws(SkyrowError) -> [Int]? {
        guard let omitted = try fields(of: type, names, "omit"), !omitted.isEmpty else { return nil }
        let parent = type.queryField(.parent)?.position
        return type.fieldPositions.filter { $0 == parent || !omitted.contains($0) }
    }
}
