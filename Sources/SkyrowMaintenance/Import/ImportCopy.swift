internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

extension RecordStore {
    /// Passes on the rows in parts, each sent as one COPY, limited by rows and bytes.
    static func inParts<Rows: AsyncSequence>(
        _ rows: Rows,
        of count: Int = 5000,
        bytes limit: Int = 8 << 20,
        _ body: ([ImportRow]) async throws -> Void
    ) async throws where Rows.Element == ImportRow {
        var part: [ImportRow] = []
        part.reserveCapacity(count)
        var size = 0
        for try await row in rows {
            part.append(row)
            size += row.size
            guard part.count == count || size >= limit else { continue }
            try await body(part)
            part.removeAll(keepingCapacity: true)
            size = 0
        }
        if !part.isEmpty { try await body(part) }
    }

    /// Copies rows and returns the number copied. If PostgreSQL refuses them, it copies ever smaller parts to find the
    /// faulty rows.
    func copy(
        _ lines: ArraySlice<ImportTarget.Line>,
        into target: ImportTarget,
        _ faults: inout [ImportFault],
        _ send: ([ImportTarget.Transfer]) async throws -> Int
    ) async throws -> Int {
        guard !lines.isEmpty else { return 0 }
        do {
            return try await send(target.transfers(of: lines))
        } catch let error as PostgresError where error.isAboutValues {
            guard lines.count > 1 else {
                let reason = SkyrowError(importClash: error) ?? report(error, table: target.table)
                faults.append(ImportFault(line: lines.first?.number, error: reason))
                return 0
            }
            let middle = lines.startIndex + lines.count / 2
            let first = try await copy(lines[..<middle], into: target, &faults, send)
            return first + (try await copy(lines[middle...], into: target, &faults, send))
        }
    }
}

extension SkyrowError {
    /// Makes the error for a violated unique constraint; nil for other errors. The reader is an operator, so it has
    /// PostgreSQL's detail, which names the value: "Key (_id)=(1) already exists."
    fileprivate init?(importClash error: PostgresError) {
        guard error.sqlState == .uniqueViolation, let detail = error.detail else { return nil }
        self.init(.duplicated, "\(detail) An import adds records, and never changes existing ones.")
    }
}
