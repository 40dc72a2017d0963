package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Fetches records by their ids: one statement and one round trip for each type.
    ///
    /// The result has an outcome for each id, in the order of the ids. A record that the caller may not read looks like a
    /// missing one: `110 ResourceNotFound`. Throws database errors.
    package func fetch(_ ids: [RecordID], with access: RecordAccess) async throws(SkyrowError) -> [RecordOutcome] {
        if access.hasScopes { for id in ids { try access.requireReading(id.type) } }
        return try await reporting {
            try await withCatalog { _ in
                guard let first = ids.first else { return [] }
                if ids.allSatisfy({ $0.type == first.type }) {
                    let rows = try await self.rows(of: first.type, ids: ids.map(\.id), access)
                    return ids.map { rows.outcome(for: $0) }
                }
                let rowsByType = try await withThrowingTaskGroup(of: (RecordTypeName, RowsByID).self) { group in
                    for (type, ids) in Dictionary(grouping: ids, by: \.type) {
                        group.addTask {
                            (type, try await self.rows(of: type, ids: ids.map(\.id), access))
                        }
                    }
                    return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                return ids.map { (rowsByType[$0.type] ?? .none).outcome(for: $0) }
            }
        }
    }

    private func rows(of type: RecordTypeName, ids: [String], _ access: RecordAccess) async throws -> RowsByID {
        let found = type == .role ? roleRecords : try await knownTable(of: type)
        guard let table = found?.visible(to: access.fields) else { return .none }
        if ids.count == 1, access.database != .union {
            let statement = FetchStatement.one(id: ids[0], table: table, access: access)
            let row = try await client.readOne(
                statement.sql,
                coalescing: statement.coalescing,
                limit: .reading,
                contention: table.contention
            )
            return row.map { .one(StoredRows($0.result, plan: statement.plan, for: access.fields)[$0.index]) } ?? .none
        }
        let (sql, selection) = FetchStatement.make(ids: ids, table: table, access: access)
        let result = try await client.read(sql, limit: .reading, contention: table.contention)
        return RowsByID(rows: StoredRows(result, plan: selection.plan, for: access.fields), isOne: ids.count == 1)
    }
}

/// The rows of a result, by the id on the wire.
private enum RowsByID: Sendable {
    case none
    /// The result for a single id.
    case one(StoredRow)
    case many([TextKey: StoredRow])

    init(rows: StoredRows, isOne: Bool) {
        guard !rows.result.isEmpty else {
            self = .none
            return
        }
        self = isOne ? .one(rows[0]) : .many(rows.byWireID())
    }

    func outcome(for id: RecordID) -> RecordOutcome {
        let row: StoredRow?
        switch self {
        case .none: row = nil
        case .one(let only): row = only
        case .many(let rows): row = rows[TextKey(id.id)]
        }
        return row.map { .record($0) } ?? .failure(.recordNotFound, id: id.description)
    }
}

extension SkyrowError {
    package static let recordNotFound = SkyrowError(.resourceNotFound, "The record does not exist.")
}
