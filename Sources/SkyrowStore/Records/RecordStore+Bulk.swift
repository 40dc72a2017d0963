package import SkyrowModel
package import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// Changes or deletes all matching records, or none, in one transaction.
    ///
    /// Records that the caller may read but not write are listed in the result and left unchanged. Throws `102` if the caller
    /// may not write at all, `108`, `111`, `120` or `124` for an invalid predicate and for changes that do not fit the type,
    /// `108` with `info.count` if more records match than the request allows, `115 AtomicOperationFailure` with the errors by
    /// record id if one of them cannot be changed, and database errors.
    ///
    /// - Parameter admit: called before the search for records.
    package func change(
        _ request: BulkRequest,
        with access: RecordAccess,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> BulkResult {
        try await withBulkRun(request, access, else: BulkResult(withoutTable: request)) { run in
            try await admit?(run.cost)
            guard !request.isDryRun else { return try await run.preview() }
            let matches = try await run.matches()
            return try await self.client.withTransaction { try await run.change(matches, on: .transaction($0)) }
        }
    }

    /// Finds the matching records, for a change in a transaction that begins afterwards.
    ///
    /// Throws as `change` does before it writes.
    ///
    /// - Parameter admit: called before the search for records.
    package func find(
        _ request: BulkRequest,
        with access: RecordAccess,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> FoundRecords {
        try await withBulkRun(request, access, else: FoundRecords(matches: [])) { run in
            try await admit?(run.cost)
            return FoundRecords(matches: try await run.matches())
        }
    }

    /// Changes the found records as part of a transaction, which the caller commits, or rolls back if this throws.
    package func change(
        _ found: FoundRecords,
        _ request: BulkRequest,
        with access: RecordAccess,
        transaction: PostgresTransaction
    ) async throws(SkyrowError) -> BulkResult {
        try await withBulkRun(request, access, else: BulkResult(withoutTable: request)) { run in
            try await run.change(found.matches, on: .transaction(transaction))
        }
    }

    private func withBulkRun<Result: Sendable>(
        _ request: BulkRequest,
        _ access: RecordAccess,
        else withoutTable: Result,
        _ body: (BulkRun) async throws -> Result
    ) async throws(SkyrowError) -> Result {
        try access.requireWriting()
        return try await reporting {
            _ = try await table(of: request.type)
            return try await withCatalog { catalog in
                try access.requireScopes(of: request, in: catalog)
                guard let table = catalog[request.type] else { return withoutTable }
                return try await body(try BulkRun(request, self, table, catalog, access))
            }
        }
    }
}

/// The records that a request by predicate or by ids has found.
package struct FoundRecords: Sendable {
    fileprivate let matches: [BulkRun.Match]

    /// The records that the caller may write, in the order of their ids.
    package var writable: [RecordID] { matches.filter(\.isWritable).map(\.id) }

    /// Returns the result of a request that has changed none of them yet.
    package func result(of request: BulkRequest) -> BulkResult {
        BulkResult(before: request, matches)
    }
}

extension BulkResult {
    /// The result for a type without a table, which has no records.
    fileprivate init(withoutTable request: BulkRequest) {
        self.init()
        if case .ids(let ids) = request.match { notFound = ids.missing(from: []) }
    }
}

extension [RecordID] {
    /// Returns the ids that a set lacks, in the order of PostgreSQL, as the other lists of a result are.
    func missing(from found: Set<RecordID>) -> [RecordID] {
        filter { !found.contains($0) }.sorted { TextKey($0.id) < TextKey($1.id) }
    }
}
