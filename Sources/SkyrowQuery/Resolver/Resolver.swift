package import SkyrowModel

/// Resolves a query against the schema and the access of its caller, and finds everything that is wrong with it.
///
/// Every error of a query comes from here or from the reader of its JSON form: `108` for an operator, operand or value
/// without a meaning, `111` for equality with an object or array, `120` for a key path that cannot be followed, `124`
/// for a field that the caller does not see. `info.path` names the faulty element, the first one in reading order.
///
/// ```swift
/// var resolver = Resolver(schema: catalog, root: table, access: access)
/// let resolved = try resolver.resolve(query)
/// ```
package struct Resolver<Schema: QuerySchema> {
    let schema: Schema
    let root: Schema.RecordType
    let access: RecordAccess
    /// The records that the query joins, in the order in which it first names them.
    package internal(set) var joins: [ResolvedJoin] = []
    /// The names that lead to them, and their types.
    var joined: [(names: ArraySlice<String>, type: Schema.RecordType)] = []
    /// The types of the joined records, in the order of ``joins``.
    package var joinedTypes: [Schema.RecordType] { joined.map { $0.type } }
    var use = PredicateUse()
    /// The types that the queries and lists of records inside of the predicate are about, and those of the records that
    /// they join.
    package internal(set) var subqueries: [(root: Schema.RecordType, joined: [Schema.RecordType])] = []
    /// The lists of records that inclusions lead through.
    package internal(set) var lists: [InclusionList<Schema>] = []
    /// How many records the queries around and beside this one join.
    var joinsElsewhere = 0
    /// How many queries this one is inside of.
    var subqueryDepth = 0
    /// The records that key paths begin at, seen from conditions inside of this one.
    var scope = ResolvedColumn.Scope.query
    /// How many of `or`, `not` and `none` the resolver is inside of.
    var alternatives = 0
    /// Whether `near` gives the records their order, since nothing else does.
    var ordersByDistance = false
    /// The distance of the condition `near` that gives the order.
    var nearest: ResolvedColumn?
    /// Whether an order may be that of a language.
    var takesLanguages = false
    /// What the key paths begin at.
    var start = PathStart.record

    /// Whether the question is about a record that is named, whose values are found out by guessing.
    package var isAboutOneRecord = false

    /// What is done with the fields that key paths lead to: by itself what takes the most rights.
    var asking = FieldAsking.order

    /// How far the path was followed that was looked at last for an array or relation on it, and that has none.
    var walked: Walk?

    /// A path, and the column at one of its names behind which no record is.
    struct Walk {
        var path: KeyPath
        var place: Int
        var column: ResolvedColumn
    }

    /// The text that words are asked of, and those, by the last condition of that kind.
    var matched: (column: ResolvedColumn, words: WordQuery)?

    /// What the key paths of a predicate begin at.
    enum PathStart {
        /// The record that is asked about.
        case record
        /// A record that a list of references has led to.
        case listedRecord
        /// An element of an array of values.
        case value(ResolvedColumn)
    }

    /// - Parameters:
    ///   - schema: the types as the caller sees them.
    ///   - root: the type of the records that are asked about.
    package init(schema: Schema, root: Schema.RecordType, access: RecordAccess) {
        self.schema = schema
        self.root = root
        self.access = access
    }

    /// Resolves something that does another thing with the fields that key paths lead to.
    mutating func asking<Result>(
        _ asking: FieldAsking,
        _ body: (inout Resolver) throws(SkyrowError) -> Result
    ) throws(SkyrowError) -> Result {
        let outer = self.asking
        // What was looked at for the one says nothing about the other.
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
        // The order in which joins are made is the order of these.
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

    /// A type that the query leads to; nil where there is none of that name.
    ///
    /// Throws `102 PermissionDenied` where the key of the request is not for its records.
    func type(_ name: RecordTypeName) throws(SkyrowError) -> Schema.RecordType? {
        try access.requireReading(name)
        return schema[name]
    }

    /// The same for a type that the element at a place leads to.
    func type(_ name: RecordTypeName, at place: Int) throws(SkyrowError) -> Schema.RecordType? {
        do throws(SkyrowError) { return try type(name) } catch { throw error.at(place) }
    }

    /// Resolves a predicate; `info.path` of an error begins with `predicate`.
    package mutating func predicate(_ predicate: RecordPredicate) throws(SkyrowError) -> ResolvedPredicate {
        do throws(SkyrowError) { return try condition(predicate) } catch { throw error.at("predicate") }
    }

    /// Resolves an order, which ends with the id, in the direction of the key before it.
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
            // A column decides nothing the second time.
            if result.contains(where: { $0.column == column }) { continue }
            result.append(ResolvedSort(column, key.direction, key.nulls))
            // Nothing after a unique key changes the order.
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
        case .string, .integer, .number, .decimal, .boolean, .datetime, .bytes, .reference, .id, .user, .database:
            return column
        case .json where column.valueClass == .jsonPath:
            throw .recordQueryInvalid(
                "A value inside JSON is sorted as a type, which \"$as\" of the key path says.",
                path
            )
        case .location:
            throw .recordQueryInvalid(
                "Locations have no order; sort by the distance from a place, [\"func\", \"distance\", key path, location].",
                path
            )
        case .array:
            throw .recordQueryInvalid("Arrays have no order; sort by their size, [\"func\", \"size\", key path].", path)
        case .json, .access, .geometry, .relation, .opaque:
            throw .recordQueryInvalid("Records cannot be sorted by a field of this type.", path)
        }
    }

    /// The number that is sent along.
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
                "Of the functions, \"include\" takes \"distance\" and \"rank\".",
                info: ["arguments": .list([.string("include"), .string(path.description)])]
            ).at(1)
        }
        return column
    }

    /// A function of a column in an order or an inclusion, where there is a rank too.
    private mutating func number(
        _ function: FieldFunction,
        of column: ResolvedColumn,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        if case .collate(let language) = function { return try inOrder(of: language, column, path) }
        guard case .rank = function else { return try self.function(function, of: path) }
        guard use.words == 1, let matched, matched.column.unlimited == column.unlimited else {
            throw .recordQueryInvalid("A rank is that of the query's only \"match\", and of its field.", path)
        }
        var rank = column
        rank.kind = .number
        rank.reading = .rank(matched.words)
        return rank
    }

    /// A text in the order of a language; whether the database has it is asked before.
    private func inOrder(
        of language: String,
        _ column: ResolvedColumn,
        _ path: KeyPath
    ) throws(SkyrowError) -> ResolvedColumn {
        guard takesLanguages else {
            throw .predicateInvalid(
                "Records are in the order of a language in the \"sort\" of a query or of a list alone.",
                path
            )
        }
        guard column.kind == .string else {
            throw .predicateInvalid("Only a string has the order of a language.", path)
        }
        var ordered = column
        ordered.sortLanguage = language
        return ordered
    }

    /// The fields to send; names of metadata are passed over, since those are always sent. `_verified` is no metadata.
    func fields(
        of type: Schema.RecordType,
        _ names: [String]?,
        _ parameter: String
    ) throws(SkyrowError) -> [Int]? {
        guard let names else { return nil }
        // As metadata, the parent is always sent.
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

    /// All fields that the caller sees but for some; nil where none is left out.
    func fields(of type: Schema.RecordType, without names: [String]) throws(SkyrowError) -> [Int]? {
        guard let omitted = try fields(of: type, names, "omit"), !omitted.isEmpty else { return nil }
        let parent = type.queryField(.parent)?.position
        return type.fieldPositions.filter { $0 == parent || !omitted.contains($0) }
    }
}
