import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// The columns that an import writes, and how its rows are encoded for them.
struct ImportTarget {
    /// A row that fits, still to be sent.
    struct Line {
        let number: Int
        /// A value for each column; nil is NULL.
        let values: [RecordValue?]
    }

    let table: RecordTable
    /// The reserved columns that the rows bring; otherwise they bring an id at most.
    private let reserved: [ReservedColumn]
    private let fields: [RecordColumn]
    private let columns: [(type: any ColumnType, oid: PostgresOID)]
    /// `COPY "app"."movie" ("_id", "title") FROM STDIN (FORMAT binary)`
    let statement: SQL

    /// Throws `114 IncompatibleSchema` when a field does not exist or can be read only.
    init(table: RecordTable, columns: ImportColumns) throws(SkyrowError) {
        self.table = table
        reserved = columns.reserved
        fields = try columns.fields.map { field throws(SkyrowError) in
            guard let column = table[field], column.isWritable else {
                throw SkyrowError(.incompatibleSchema, "The type \(table.name) has no field \(field) to import to.")
            }
            return column
        }
        let first = columns.reserved.isEmpty ? [.id] : columns.reserved
        self.columns = first.map { ($0.type.column, $0.oid) } + fields.map { ($0.type.column, $0.oid) }
        let names = (first.map(\.identifier) + fields.map(\.identifier)).map { "\($0)" as SQL }
        statement = "COPY \(table.qualifiedName) (\(names.joined(separator: ", "))) FROM STDIN (FORMAT binary)"
    }

    /// The columns that are written whose default is the next number of a sequence.
    var sequences: [RecordColumn] { fields.filter { $0.type == .sequence } }

    /// What lets the sequences count on from the highest numbers.
    var sequenceAdvances: [SQL] {
        sequences.map { advancing($0, to: "(SELECT max(\($0.identifier)) FROM \(table.qualifiedName))") }
    }

    /// Lets a sequence count on from a number, unless it is further on.
    ///
    /// One that a failed import has moved leaves a gap in its numbers, as every rollback does.
    func advancing(_ column: RecordColumn, to number: SQL) -> SQL {
        """
        SELECT setval(place, number)
        FROM pg_get_serial_sequence(\(table.sequenceOwner), \(column.identifier.name)) AS name,
            LATERAL (SELECT name::regclass, \(number)::bigint) AS wanted (place, number)
        WHERE number > coalesce(pg_sequence_last_value(place), 0)
        """
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
        guard row.values.count == fields.count, row.reserved.count == reserved.count else {
            throw .invalidArgument("The record has \(row.values.count) values for \(fields.count) fields.")
        }
        var values: [RecordValue?] = row.reserved
        values.reserveCapacity(columns.count)
        if reserved.isEmpty {
            values.append(.string(try RecordID(type: table.name, id: row.id ?? UUIDText().description).id))
        }
        for (column, value) in zip(fields, row.values) {
            let accepted: RecordValue? = if let value { try accepted(value, by: column) } else { nil }
            if let accepted { try BinaryCopy.check(accepted, for: column) }
            values.append(accepted)
        }
        return Line(number: row.line, values: values)
    }

    private func accepted(_ value: RecordValue, by column: RecordColumn) throws(SkyrowError) -> RecordValue? {
        if !reserved.isEmpty {
            switch (column.type, value) {
            // A row's reference may be the id of a private record, which no `RecordID` can be; its array is as long as psql
            // made it, and may hold NULL.
            case (.reference, .string), (.array, .array): return value
            default: break
            }
        }
        return try column.accepted(value)
    }

    /// The rows as one text of binary COPY.
    func chunk(_ lines: ArraySlice<Line>) -> [UInt8] {
        var copy = BinaryCopy()
        for line in lines {
            copy.beginRow(columns: columns.count)
            for (column, value) in zip(columns, line.values) { copy.append(value, as: column.type, column.oid) }
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
