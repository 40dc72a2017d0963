internal import SkyrowModel
internal import SkyrowPostgres

/// The columns that an import writes, and how its rows are encoded for them.
struct ImportTarget {
    /// A row that fits, still to be sent.
    struct Line {
        let number: Int
        let id: String
        /// A value for each column; nil is NULL.
        let values: [RecordValue?]
    }

    let table: RecordTable
    let columns: [RecordColumn]
    /// `COPY "app"."movie" ("_id", "title") FROM STDIN (FORMAT binary)`
    let statement: SQL

    /// Throws `114 IncompatibleSchema` when a field does not exist or can be read only.
    init(table: RecordTable, fields: [FieldName]) throws(SkyrowError) {
        self.table = table
        columns = try fields.map { field throws(SkyrowError) in
            guard let column = table[field], column.isWritable else {
                throw SkyrowError(.incompatibleSchema, "The type \(table.name) has no field \(field) to import to.")
            }
            return column
        }
        let names = columns.map { ", \($0.identifier)" as SQL }.joined(separator: "")
        statement = "COPY \(table.qualifiedName) (\"_id\"\(names)) FROM STDIN (FORMAT binary)"
    }

    /// The rows as their columns take them; those that do not fit become faults.
    func encoded(_ rows: [ImportRow], _ faults: inout [ImportFault]) -> ArraySlice<Line> {
        var lines: [Line] = []
        lines.reserveCapacity(rows.count)
        for row in rows {
            do throws(SkyrowError) {
                lines.append(try line(row))
            } catch {
                faults.append(ImportFault(line: row.line, error: error))
            }
        }
        return lines[...]
    }

    private func line(_ row: ImportRow) throws(SkyrowError) -> Line {
        let id = try RecordID(type: table.name, id: row.id ?? makeRecordID())
        guard row.values.count == columns.count else {
            throw .invalidArgument("The record has \(row.values.count) values for \(columns.count) fields.")
        }
        var values: [RecordValue?] = []
        values.reserveCapacity(columns.count)
        for (column, value) in zip(columns, row.values) {
            let accepted: RecordValue? = if let value { try column.accepted(value) } else { nil }
            if let accepted { try BinaryCopy.check(accepted, for: column) }
            values.append(accepted)
        }
        return Line(number: row.line, id: id.id, values: values)
    }

    /// The rows as one text of binary COPY.
    func chunk(_ lines: ArraySlice<Line>) -> [UInt8] {
        var copy = BinaryCopy()
        for line in lines {
            copy.beginRow(columns: columns.count + 1)
            copy.append(id: line.id)
            for (column, value) in zip(columns, line.values) { copy.append(value ?? .null, for: column) }
        }
        return copy.finished()
    }
}

/// A COPY that is sent in one piece.
struct OneChunk: AsyncSequence, Sendable {
    let bytes: [UInt8]

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async -> [UInt8]? {
            defer { bytes = nil }
            return bytes
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(bytes: bytes)
    }
}
