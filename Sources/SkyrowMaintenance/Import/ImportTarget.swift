import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore

/// The columns that an import writes, and the encoding of its rows.
struct ImportTarget {
    /// An accepted row, ready to send.
    struct Line {
        let number: Int
        /// A value per column; nil is NULL.
        let values: [RecordValue?]
        /// The stored member ids of each relation.
        let members: [[String]]
    }

    /// A COPY statement and its data.
    typealias Transfer = (statement: SQL, chunk: OneChunk)

    let table: RecordTable
    /// The reserved columns in the rows; if empty, rows have at most an id.
    private let reserved: [ReservedColumn]
    private let fields: [RecordColumn]
    private let columns: [(type: any ColumnType, oid: PostgresOID)]
    /// The member tables of the relations in the rows.
    private let relations: [SQL]
    /// `COPY "app"."movie" ("_id", "title") FROM STDIN (FORMAT binary)`
    let statement: SQL

    /// Throws `114 IncompatibleSchema` if a field does not exist or is read-only.
    init(table: RecordTable, columns: ImportColumns) throws(SkyrowError) {
        self.table = table
        reserved = columns.reserved
        fields = try columns.fields.map { field throws(SkyrowError) in
            guard let column = table[field], column.isWritable else {
                throw SkyrowError(.incompatibleSchema, "The type \(table.name) has no field \(field).")
            }
            return column
        }
        let first = columns.reserved.isEmpty ? [.id] : columns.reserved
        let written = fields.filter { $0.members == nil }
        self.columns = first.map { ($0.type.column, $0.oid) } + written.map { ($0.type.column, $0.oid) }
        relations = fields.compactMap(\.members).map { "\(table.schema).\($0)" }
        let names = (first.map(\.identifier) + written.map(\.identifier)).map { "\($0)" as SQL }
        statement = "COPY \(table.qualifiedName) (\(names.joined(separator: ", "))) FROM STDIN (FORMAT binary)"
    }

    /// The written columns that default to a sequence's next number.
    var sequences: [RecordColumn] { fields.filter { $0.type == .sequence } }

    /// The statements that advance the sequences to the highest numbers.
    var sequenceAdvances: [SQL] {
        sequences.map { advancing($0, to: "(SELECT max(\($0.identifier)) FROM \(table.qualifiedName))") }
    }

    /// Returns the statement that advances a sequence to a number, unless it is already higher.
    ///
    /// A sequence advanced by a failed import has a gap, as after every rollback.
    func advancing(_ column: RecordColumn, to number: SQL) -> SQL {
        """
        SELECT setval(place, number)
        FROM pg_get_serial_sequence(\(table.sequenceOwner), \(column.identifier.name)) AS name,
            LATERAL (SELECT name::regclass, \(number)::bigint) AS wanted (place, number)
        WHERE number > coalesce(pg_sequence_last_value(place), 0)
        """
    }

    /// Returns the rows encoded for their columns; those that do not fit become faults.
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
        var members: [[String]] = []
        for (column, value) in zip(fields, row.values) {
            if case .relation(let target) = column.type {
                members.append(try self.members(of: column, target, value))
                continue
            }
            let accepted: RecordValue? = if let value { try accepted(value, by: column) } else { nil }
            if let accepted { try BinaryCopy.check(accepted, for: column) }
            values.append(accepted)
        }
        // Clients cannot make larger records. Rows of a table may come from psql, and go back to a table.
        guard !reserved.isEmpty || row.size <= WireLimits.recordBytes else {
            throw SkyrowError(.payloadTooLarge, "A record is at most \(WireLimits.recordBytes) bytes.")
        }
        return Line(number: row.line, values: values, members: members)
    }

    /// Returns the stored ids of the members that a row has as an array of references.
    private func members(
        of column: RecordColumn,
        _ target: RecordTypeName,
        _ value: RecordValue?
    ) throws(SkyrowError) -> [String] {
        guard let value, value != .null, value != .relation(target) else { return [] }
        var known: Set<TextKey> = []
        var ids: [String] = []
        // Throws the same error as for any other invalid value.
        guard case .array(let elements) = value else { return try column.accepted(value).map { _ in [] } ?? [] }
        for element in elements {
            let id: String
            switch element {
            case .string(let text): id = text
            case .reference(let record) where record.type == target: id = record.id
            default: return try column.accepted(value).map { _ in [] } ?? []
            }
            if known.insert(TextKey(id)).inserted { ids.append(id) }
        }
        return ids
    }

    private func accepted(_ value: RecordValue, by column: RecordColumn) throws(SkyrowError) -> RecordValue? {
        if !reserved.isEmpty {
            switch (column.type, value) {
            // A row's reference may be the id of a private record, which `RecordID` cannot express. An array made in
            // psql has any length, and may contain NULL.
            case (.reference, .string), (.array, .array): return value
            default: break
            }
        }
        return try column.accepted(value)
    }

    /// Returns the data of some rows: the records first, then the members of each relation.
    func transfers(of lines: ArraySlice<Line>) -> [Transfer] {
        var transfers: [Transfer] = [(statement, OneChunk(bytes: chunk(lines)))]
        let id = FieldType.string.column
        for (place, table) in relations.enumerated() {
            var copy = BinaryCopy()
            var isEmpty = true
            for line in lines {
                for member in line.members[place] {
                    isEmpty = false
                    copy.beginRow(columns: 2)
                    copy.append(line.values[0], as: id, .text)
                    copy.append(.string(member), as: id, .text)
                }
            }
            guard !isEmpty else { continue }
            transfers.append(
                ("COPY \(table) (\"_from\", \"_to\") FROM STDIN (FORMAT binary)", OneChunk(bytes: copy.finished()))
            )
        }
        return transfers
    }

    /// Returns the rows as one binary COPY.
    private func chunk(_ lines: ArraySlice<Line>) -> [UInt8] {
        var copy = BinaryCopy()
        for line in lines {
            copy.beginRow(columns: columns.count)
            for (column, value) in zip(columns, line.values) { copy.append(value, as: column.type, column.oid) }
        }
        return copy.finished()
    }
}

/// The data of a COPY, sent at once.
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
