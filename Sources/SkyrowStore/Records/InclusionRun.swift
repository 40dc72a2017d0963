internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Reads the lists of records that a page includes, level by level.
///
/// Every list is one statement, and those of a level wait together; what a level finds leads to the next one.
struct InclusionRun {
    let lists: IncludedLists
    let client: PostgresClient
    let fields: FieldAccess

    /// The rows of a list, by the rows that lead to them.
    private struct Found: Sendable {
        var result: PostgresResult
        var rows: [[Int]]
    }

    /// - Parameter count: how many rows of the page are records that are sent.
    ///
    /// Throws `108 InvalidArgument` where there are more records than one response sends along.
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
                        let result = try await client.read(question.sql, limit: .reading)
                        let column = lists.statements[place].ownerColumn
                        return (place, Found(result: result, rows: try question.rows(of: result, ownerColumn: column)))
                    }
                }
                for try await (place, list) in group {
                    size += list.result.rowCount
                    guard size <= Inclusion.maximumRecords else { throw SkyrowError.tooManyIncluded }
                    found[place] = list
                }
            }
        }
        let included = try lists.inclusions.map { try self.included($0, found, count: count) }
        // A list may be sent under several names.
        let sent = included.lazy.flatMap(\.places).reduce(0) { $0 + $1.count }
        guard sent <= Inclusion.maximumRecords else { throw SkyrowError.tooManyIncluded }
        return included
    }

    /// What is asked for one list: the ids in the arrays of the rows that lead to it.
    private struct Question: Sendable {
        var sql: SQL
        var owners: Int

        func rows(of result: PostgresResult, ownerColumn: Int) throws -> [[Int]] {
            var rows: [[Int]] = Array(repeating: [], count: owners)
            for row in 0..<result.rowCount {
                rows[Int(try result.decode(row: row, column: ownerColumn, as: Int32.self))].append(row)
            }
            return rows
        }
    }

    /// nil where no row has an id.
    private func question(
        _ place: Int,
        _ found: [Int: Found],
        page: PostgresResult,
        count: Int
    ) throws -> Question? {
        let statement = lists.statements[place]
        let source: PostgresResult
        let column: Int?
        let owners: Int
        if let parent = statement.list.parent {
            guard let list = found[parent] else { return nil }
            (source, column, owners) = (list.result, lists.statements[parent].arrays[place], list.result.rowCount)
        } else {
            (source, column, owners) = (page, lists.arrays[place], count)
        }
        guard let column else { return nil }
        var numbers: [Int32] = []
        var ids: [String] = []
        for row in 0..<owners {
            // A matrix of psql's making has no elements that a client sees.
            let array = try? source.decode(row: row, column: column, as: [String?]?.self)
            for case let id? in (array ?? nil) ?? [] {
                numbers.append(Int32(row))
                ids.append(id)
            }
            guard ids.count <= ListStatement.maximumIDs else { throw SkyrowError.tooManyIncluded }
        }
        guard !ids.isEmpty else { return nil }
        let most = Inclusion.maximumRecords + 1
        return Question(sql: statement.sql(owners: numbers, ids: ids, most: most), owners: owners)
    }

    /// The records of an inclusion for each record of the page.
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
        var counts: [Int]?
        if inclusion.countsRecords {
            let column = lists.statements[inclusion.list].countColumn
            counts = try places.map { rows in
                try rows.first.map { Int(try list.result.decode(row: $0, column: column, as: Int64.self)) } ?? 0
            }
        }
        return IncludedList(
            name: inclusion.name,
            rows: StoredRows(list.result, plan: inclusion.plan, for: fields),
            places: places,
            counts: counts
        )
    }

    /// The rows of a list that a row of the page leads to, through those of other lists.
    private func rows(at row: Int, _ place: Int, _ found: [Int: Found]) -> [Int] {
        guard let list = found[place] else { return [] }
        guard let parent = lists.statements[place].list.parent else { return list.rows[row] }
        return rows(at: row, parent, found).flatMap { list.rows[$0] }
    }
}

extension SkyrowError {
    fileprivate static let tooManyIncluded = SkyrowError.invalidArgument(
        """
        More than \(Inclusion.maximumRecords) records would be sent along with these; lower "limit", that of the query or that \
        of an inclusion.
        """,
        "include"
    ).at("include")
}
