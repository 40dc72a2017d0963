package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Imports public records without an owner, through COPY.
    ///
    /// ```swift
    /// let summary = try await store.importRecords(rows, of: movie, fields: [title, year]) { print($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - fields: the fields that the values of each row belong to; the type and they exist by now.
    ///   - keepsGoing: whether a record that cannot be imported is left out and reported, and the rest imported, some
    ///     thousand records a commit. Otherwise everything is imported or nothing.
    ///   - progress: is told after each part how many records are in.
    ///
    /// A record may refer to another one of the import that comes later only when everything is imported or nothing.
    /// Throws ``ImportFault`` for the first record that cannot be imported, unless `keepsGoing`; `114
    /// IncompatibleSchema` for a type or field that does not exist; and what `rows` throws.
    package func importRecords<Rows: AsyncSequence>(
        _ rows: Rows,
        of type: RecordTypeName,
        fields: [FieldName],
        keepsGoing: Bool = false,
        progress: (Int) -> Void = { _ in }
    ) async throws -> ImportSummary where Rows.Element == ImportRow {
        guard let table = try await table(of: type) else {
            throw SkyrowError(.incompatibleSchema, "There is no record type \(type).")
        }
        let target = try ImportTarget(table: table, fields: fields)
        do {
            let summary: ImportSummary
            if keepsGoing {
                summary = try await importInParts(rows, target, progress)
            } else {
                summary = try await client.withTransaction(retries: 0) { transaction in
                    try await self.importWhole(rows, target, transaction, progress)
                }
            }
            // The planner knows the new rows at once and not when autovacuum comes by.
            _ = try await client.write("ANALYZE \(table.qualifiedName)")
            return summary
        } catch let error as PostgresError {
            throw report(error, table: table)
        }
    }

    private func importInParts<Rows: AsyncSequence>(
        _ rows: Rows,
        _ target: ImportTarget,
        _ progress: (Int) -> Void
    ) async throws -> ImportSummary where Rows.Element == ImportRow {
        var summary = ImportSummary()
        try await Self.inParts(rows) { part in
            var faults: [ImportFault] = []
            let lines = target.encoded(part, &faults)
            summary.imported += try await copy(lines, into: target, &faults) { statement, chunk in
                try await client.copyIn(statement, chunks: chunk)
            }
            summary.faults += faults.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
            progress(summary.imported)
        }
        return summary
    }

    private func importWhole<Rows: AsyncSequence>(
        _ rows: Rows,
        _ target: ImportTarget,
        _ transaction: PostgresTransaction,
        _ progress: (Int) -> Void
    ) async throws -> ImportSummary where Rows.Element == ImportRow {
        var summary = ImportSummary()
        _ = try await transaction.query("SET CONSTRAINTS ALL DEFERRED")
        try await Self.inParts(rows) { part in
            var faults: [ImportFault] = []
            let lines = target.encoded(part, &faults)
            if let fault = faults.first { throw fault }
            summary.imported += try await copy(lines, into: target, &faults) { statement, chunk in
                try await transaction.withSavepoint { try await $0.copyIn(statement, chunks: chunk) }
            }
            if let fault = faults.min(by: { ($0.line ?? 0) < ($1.line ?? 0) }) { throw fault }
            progress(summary.imported)
        }
        do {
            _ = try await transaction.query("SET CONSTRAINTS ALL IMMEDIATE")
        } catch let error as PostgresError where error.isAboutValues {
            throw ImportFault(line: nil, error: report(error, table: target.table))
        }
        return summary
    }

    /// Hands on so many rows at a time, which are sent as one COPY.
    private static func inParts<Rows: AsyncSequence>(
        _ rows: Rows,
        of size: Int = 5000,
        _ body: ([ImportRow]) async throws -> Void
    ) async throws where Rows.Element == ImportRow {
        var part: [ImportRow] = []
        part.reserveCapacity(size)
        for try await row in rows {
            part.append(row)
            guard part.count == size else { continue }
            try await body(part)
            part.removeAll(keepingCapacity: true)
        }
        if !part.isEmpty { try await body(part) }
    }

    /// Copies rows; where PostgreSQL refuses them, parts of them, down to the rows at fault. Returns how many are in.
    private func copy(
        _ lines: ArraySlice<ImportTarget.Line>,
        into target: ImportTarget,
        _ faults: inout [ImportFault],
        _ send: (SQL, OneChunk) async throws -> Int
    ) async throws -> Int {
        guard !lines.isEmpty else { return 0 }
        do {
            return try await send(target.statement, OneChunk(bytes: target.chunk(lines)))
        } catch let error as PostgresError where error.isAboutValues {
            guard lines.count > 1 else {
                faults.append(ImportFault(line: lines.first?.number, error: report(error, table: target.table)))
                return 0
            }
            let middle = lines.startIndex + lines.count / 2
            let first = try await copy(lines[..<middle], into: target, &faults, send)
            return first + (try await copy(lines[middle...], into: target, &faults, send))
        }
    }
}
