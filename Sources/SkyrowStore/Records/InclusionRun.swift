internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Reads the lists of records that a page includes, level by level.
///
/// Each list is one statement, and those of a level run concurrently; the records of one level lead to the next.
struct InclusionRun {
    let lists: IncludedLists
    let fields: FieldAccess
    /// Sends the statement of the list at an index.
    let read: @Sendable (_ place: Int, _ statement: SQL) async throws -> PostgresResult

    /// The rows of a list, grouped by the rows that lead to them.
    struct Found: Sendable {
        var result: PostgresResult
        var rows: [[Int]]
        /// The number of records of each group, if ``rows`` does not have all of them.
        var counts: [Int]?
        /// The rows that are sent; nil for all.
        var sent: Set<Int>?

        var size: Int { sent?.count ?? result.rowCount }
    }

    /// - Parameter count: how many rows of the page are records to send.
    ///
    /// Throws `108 InvalidArgument` if one response would include too many records.
    func callAsFunction(for page: PostgresResult, count: Int) async throws -> [IncludedList] {
        var found: [Int: Found] = [:]
        var size = 0
        for level in lists.levels {
            let questions = try level.compactMap { place in
                try question(place, found, page: page, count: count).map { (place: place, question: $0) }
            }
            try await withThrowingTaskGroup(of: (Int, Found).self) { group in
                for (place, question) in questions {
                    group.addTask {
                        let result = try await read(place, question.sql)
                        return (place, try question.found(in: result, lists.statements[place]))
                    }
                }
                for try await (place, list) in group {
                    size += list.size
                    guard size <= Inclusion.maximumRecords else { throw SkyrowError.tooManyIncluded }
                    found[place] = list
                }
            }
        }
        let included = try lists.inclusions.map { try self.included($0, found, count: count) }
        // Several names may include the same list.
        let sent = included.lazy.flatMap(\.places).reduce(0) { $0 + $1.count }
        guard sent <= Inclusion.maximumRecords else { throw SkyrowError.tooManyIncluded }
        return included
    }

    /// The query for one list: the ids in the arrays of the rows that lead to it.
    struct Question: Sendable {
        let sql: SQL
        private let arrays: [[String]]
        /// Whether the result has each record once, and `found(in:_:)` applies the limit.
        private let hasEachOnce: Bool

        /// The query with one record for each owner, for explaining a list before its owners are known.
        init(owners: Int, of statement: ListStatement) {
            self.init((0..<owners).map { [String($0)] }, of: statement)
        }

        init(_ arrays: [[String]], of statement: ListStatement) {
            self.arrays = arrays
            let most = Inclusion.maximumRecords + 1
            let limit = statement.list.limit
            let ids = Set(arrays.joined().map { TextKey($0) })
            let needed = arrays.reduce(0) { $0 + min($1.count, limit) }
            let fits = arrays.allSatisfy { $0.count <= limit } || ids.count <= min(2 * needed, Inclusion.maximumRecords)
            hasEachOnce = statement.members == nil && fits
            if hasEachOnce {
                sql = statement.sql(ids: ids.map(\.text), most: most)
            } else {
                let owners = arrays.enumerated().flatMap { Array(repeating: Int32($0), count: $1.count) }
                let ids = Array(arrays.joined())
                sql =
                    statement.members.map { statement.sql(members: $0, owners: owners, ids: ids, most: most) }
                    ?? statement.sql(owners: owners, ids: ids, most: most)
            }
        }

        func found(in result: PostgresResult, _ statement: ListStatement) throws -> Found {
            if hasEachOnce {
                var places: [TextKey: Int] = [:]
                for row in 0..<result.rowCount {
                    places[TextKey(try result.decode(row: row, column: statement.idColumn, as: String.self))] = row
                }
                let found = arrays.map { $0.compactMap { places[TextKey($0)] } }
                // The rows are in the order of the list, unless that is the array's.
                let lists = statement.list.sort.isEmpty ? found : found.map { $0.sorted() }
                let limit = statement.list.limit
                guard lists.contains(where: { $0.count > limit }) else { return Found(result: result, rows: lists) }
                let rows = lists.map { Array($0.prefix(limit)) }
                return Found(result: result, rows: rows, counts: lists.map(\.count), sent: Set(rows.joined()))
            }
            var rows: [[Int]] = Array(repeating: [], count: arrays.count)
            var counts = Array(repeating: 0, count: arrays.count)
            for row in 0..<result.rowCount {
                let owner = Int(try result.decode(row: row, column: statement.ownerColumn, as: Int32.self))
                rows[owner].append(row)
                guard let column = statement.countColumn else { continue }
                counts[owner] = Int(try result.decode(row: row, column: column, as: Int64.self))
            }
            return Found(result: result, rows: rows, counts: counts)
        }
    }

    /// Returns nil if no row has an id.
    private func question(_ place: Int, _ found: [Int: Found], page: PostgresResult, count: Int) throws -> Question? {
        let statement = lists.statements[place]
        let source: PostgresResult
        let column: Int?
        let owners: Int
        func isSent(_ row: Int) -> Bool { statement.list.parent.flatMap { found[$0]?.sent }?.contains(row) ?? true }
        if let parent = statement.list.parent {
            guard let list = found[parent] else { return nil }
            (source, column, owners) = (list.result, lists.statements[parent].arrays[place], list.result.rowCount)
        } else {
            (source, column, owners) = (page, lists.arrays[place], count)
        }
        guard let column else { return nil }
        var arrays: [[String]] = []
        var size = 0
        for row in 0..<owners {
            guard isSent(row) else {
                arrays.append([])
                continue
            }
            // A multidimensional array created by psql has no elements that clients see.
            let array = try? source.decode(row: row, column: column, as: [String?]?.self)
            arrays.append(((array ?? nil) ?? []).compactMap { $0 })
            size += arrays[row].count
            guard size <= ListStatement.maximumIDs else { throw SkyrowError.tooManyIncluded }
        }
        return size == 0 ? nil : Question(arrays, of: statement)
    }

    /// Returns the records of an inclusion for each record of the page.
    private func included(_ inclusion: IncludedLists.Inclusion, _ found: [Int: Found], count: Int) throws
        -> IncludedList
    {
        guard let list = found[inclusion.list] else {
            return IncludedList(
                name: inclusion.name,
                rows: nil,
                places: [],
                counts: inclusion.countsRecords ? Array(repeating: 0, count: count) : nil
            )
        }
        var places = (0..<count).map { rows(at: $0, inclusion.list, found) }
        if inclusion.isThroughOthers {
            let column = inclusion.plan.idColumn
            for row in places.indices {
                var seen: Set<TextKey> = []
                places[row] = try places[row].filter { place in
                    guard let id = try list.result.decode(row: place, column: column, as: String?.self) else {
                        return false
                    }
                    return seen.insert(TextKey(id)).inserted
                }
            }
        }
        // Only lists of the page's records themselves are counted.
        let counts = inclusion.countsRecords ? list.counts ?? places.map(\.count) : nil
        return IncludedList(
            name: inclusion.name,
            rows: StoredRows(list.result, plan: inclusion.plan, for: fields),
            places: places,
            counts: counts
        )
    }

    /// Returns the rows of a list that a row of the page leads to, through other lists.
    private func rows(at row: Int, _ place: Int, _ found: [Int: Found]) -> [Int] {
        guard let list = found[place] else { return [] }
        guard let parent = lists.statements[place].list.parent else { return list.rows[row] }
        return rows(at: row, parent, found).flatMap { list.rows[$0] }
    }
}

extension SkyrowError {
    fileprivate static let tooManyIncluded = SkyrowError.invalidArgument(
        """
        More than \(Inclusion.maximumRecords) records would be included; lower "limit" of the query or of \
        an inclusion.
        """,
        "include"
    ).at("include")
}
