internal import SkyrowModel
internal import SkyrowPostgres

/// The statement of a query, with the table and the catalog for which it was made, as far as the caller sees them.
struct PreparedQuery<Statement> {
    let statement: Statement
    let table: RecordTable
    let catalog: SchemaCatalog
}

extension RecordStore {
    /// Checks a query and calls `body` with its statement, to run or to explain it; with nil if the type has no table.
    ///
    /// Calls `body` again with a new statement if PostgreSQL does not know a name in the first one. Throws the error of an
    /// invalid query, which is the same for both, and those of `body`.
    ///
    /// - Parameter call: the call of a function that returns the records; nil for those of the table.
    func preparing<Success: Sendable>(
        _ query: RecordQuery,
        for access: RecordAccess,
        from call: SQL? = nil,
        _ body: (PreparedQuery<QueryStatement>?) async throws -> Success
    ) async throws(SkyrowError) -> Success {
        guard query.limit >= 0, query.offset >= 0 else {
            throw .invalidArgument("\"limit\" and \"offset\" must not be negative.", "limit", "offset")
        }
        try access.requireReading(query.type)
        return try await reporting {
            try await self.checkLanguages(of: query)
            return try await withCatalog { _ in
                guard let table = try await self.readableTable(of: query.type)?.visible(to: access.fields) else {
                    if let (parameter, _) = query.position.cursor { throw SkyrowError.cursorInvalid(parameter) }
                    return try await body(nil)
                }
                let catalog = self.cache.current.visible(to: access.fields).with(roles: self.roleRecords)
                let statement = try QueryStatement(
                    query,
                    table: table,
                    catalog: catalog,
                    access: access,
                    cursors: try await self.cursorKeys(),
                    size: self.size(of: query.type),
                    from: call
                )
                return try await body(PreparedQuery(statement: statement, table: table, catalog: catalog))
            }
        }
    }

    /// Does the same with an aggregate query.
    func preparing<Success: Sendable>(
        _ query: AggregateQuery,
        for access: RecordAccess,
        _ body: (PreparedQuery<AggregateStatement>?) async throws -> Success
    ) async throws(SkyrowError) -> Success {
        guard 0...AggregateQuery.maximumLimit ~= query.limit else {
            throw .invalidArgument("The limit must be 0 to \(AggregateQuery.maximumLimit).", "limit").at("limit")
        }
        try access.requireReading(query.type)
        return try await reporting {
            try await self.checkTimeZones(of: query)
            return try await withCatalog { _ in
                guard let table = try await self.table(of: query.type)?.visible(to: access.fields) else {
                    return try await body(nil)
                }
                if let refusal = table.rules.refusalOfAggregates(with: access) { throw refusal }
                let catalog = self.cache.current.visible(to: access.fields)
                let statement = try AggregateStatement(
                    query,
                    table: table,
                    catalog: catalog,
                    access: access,
                    size: self.size(of: query.type)
                )
                return try await body(PreparedQuery(statement: statement, table: table, catalog: catalog))
            }
        }
    }
}
