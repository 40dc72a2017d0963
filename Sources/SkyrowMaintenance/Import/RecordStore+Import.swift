package import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

extension RecordStore {
    /// Imports records of one type through COPY; public records without an owner unless `columns` says otherwise.
    ///
    /// ```swift
    /// let columns = ImportColumns(type: movie, fields: [title, year])
    /// let summary = try await store.importRecords(rows, to: columns) { print($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - newFields: Fields to add to the type, which may itself be new.
    ///   - keepsGoing: Whether faulty records are skipped and reported, and the rest imported, some thousand records a
    ///     commit. Otherwise everything is imported, or nothing changes, including the schema.
    ///   - progress: Called after each part with the number of records imported so far.
    ///
    /// A record may refer to a later one of the import only without `keepsGoing`. Throws ``ImportFault`` for the first
    /// record that cannot be imported, unless `keepsGoing`; `114 IncompatibleSchema` for an unknown type or field; and
    /// the errors of `rows`.
    package func importRecords<Rows: AsyncSequence>(
        _ rows: Rows,
        to columns: ImportColumns,
        creating newFields: [FieldName: FieldType] = [:],
        keepsGoing: Bool = false,
        progress: (Int) -> Void = { _ in }
    ) async throws -> ImportSummary where Rows.Element == ImportRow {
        let type = RecordType(name: columns.type, fields: newFields)
        if keepsGoing {
            _ = try await createTypes([type])
            return try await importWhatFits(rows, columns, progress)
        }
        return try await withImport(creating: [type]) { records in
            var summary = ImportSummary()
            summary.imported = try await records.add(rows, to: columns, progress: progress)
            return summary
        }
    }

    private func importWhatFits<Rows: AsyncSequence>(
        _ rows: Rows,
        _ columns: ImportColumns,
        _ progress: (Int) -> Void
    ) async throws -> ImportSummary where Rows.Element == ImportRow {
        guard let table = try await table(of: columns.type) else { throw SkyrowError.noType(columns.type) }
        let target = try ImportTarget(table: table, columns: columns)
        var summary = ImportSummary()
        do {
            try await Self.inParts(rows) { part in
                var faults: [ImportFault] = []
                let lines = target.encoded(part, &faults)
                summary.imported += try await copy(lines, into: target, &faults) { transfers in
                    guard transfers.count == 1 else {
                        return try await client.withTransaction(retries: 0) { try await $0.copyIn(transfers) }
                    }
                    return try await client.copyIn(transfers[0].statement, chunks: transfers[0].chunk)
                }
                summary.faults += faults.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
                progress(summary.imported)
            }
            for statement in target.sequenceAdvances { _ = try await client.write(statement) }
            _ = try await client.write("ANALYZE \(table.qualifiedName)")
        } catch let error as PostgresError {
            throw report(error, table: table)
        }
        return summary
    }
}
