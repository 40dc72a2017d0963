internal import CLibpq

/// The rows that a statement returned, in PostgreSQL's binary format.
///
/// ```swift
/// let result = try await client.read("SELECT _id, stars FROM movie WHERE year = \(year)")
/// for row in 0..<result.rowCount {
///     let id = try result.decode(row: row, column: 0, as: String.self)
/// }
/// ```
///
/// Rows and columns are numbered from 0; an index out of range reads as NULL.
///
/// `@unchecked Sendable`: a complete libpq result never changes, libpq documents that several threads may read it, and this class
/// only reads it. It is cleared once, with the last reference. Collected rows are complete before the result is created.
package final class PostgresResult: @unchecked Sendable {
    private let handle: OpaquePointer
    /// The rows, when they were collected one by one; `handle` then has the columns but no rows.
    private let collected: CollectedRows?
    /// The owner of `handle`, when several results share it.
    private let layout: PostgresRowLayout?

    /// Takes ownership of a complete result.
    init(handle: OpaquePointer, collected: CollectedRows? = nil) {
        self.handle = handle
        self.collected = collected
        layout = nil
    }

    init(layout: PostgresRowLayout, rows: CollectedRows) {
        handle = layout.handle
        collected = rows
        self.layout = layout
    }

    deinit {
        if layout == nil { PQclear(handle) }
    }

    /// A placeholder for a result that is never read.
    static let empty = PostgresResult(handle: PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))

    package var rowCount: Int { collected?.count ?? Int(PQntuples(handle)) }

    /// Whether columns of a row were left out because of the ``PostgresRowLimit`` of its statement; they read as NULL.
    package func isShort(row: Int) -> Bool {
        collected.map { row >= $0.firstShortRow } ?? false
    }

    package var columnCount: Int { Int(PQnfields(handle)) }

    package var isEmpty: Bool { rowCount == 0 }

    /// The command tag of the server, such as `INSERT 0 1`.
    package var commandTag: String { String(cString: PQcmdStatus(handle)) }

    /// The number of rows that the command inserted, updated, deleted, copied or returned; 0 for other commands.
    package var affectedRows: Int {
        var count = 0
        var digit = PQcmdTuples(handle)
        while let byte = digit?.pointee, byte != 0 {
            count = count &* 10 &+ Int(byte - 48)
            digit = digit?.successor()
        }
        return count
    }

    /// Lends the bytes of a value without a copy; nil means NULL. The bytes are valid only during the call.
    @inline(__always)
    package func withColumn<Success, Failure: Error>(
        _ row: Int,
        _ column: Int,
        _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        defer { withExtendedLifetime(self) {} }
        return try body(unsafeBytes(row, column))
    }

    package func isNull(row: Int, column: Int) -> Bool {
        if let collected { return collected.bytes(row, column) == nil }
        return PQgetisnull(handle, Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column)) != 0
    }

    /// Reads one value.
    ///
    /// - Throws: ``PostgresError`` with the code `undecodable` when the column has
    ///   another type, or is NULL and `type` is not optional.
    package func decode<Value: PostgresDecodable>(
        row: Int,
        column: Int,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        let columnType = columnType(column)
        return try withColumn(row, column) { bytes throws(PostgresError) in
            try Value.decode(bytes, type: columnType)
        }
    }

    /// Reads one column of all rows.
    package func decodeColumn<Value: PostgresDecodable>(
        _ column: Int,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rowCount)
        for row in 0..<rowCount { values.append(try decode(row: row, column: column)) }
        return values
    }

    package func columnType(_ column: Int) -> PostgresOID {
        PostgresOID(rawValue: PQftype(handle, Int32(truncatingIfNeeded: column)))
    }

    /// The name of a column; nil for an index out of range.
    package func columnName(_ column: Int) -> String? {
        PQfname(handle, Int32(truncatingIfNeeded: column)).map { String(cString: $0) }
    }

    /// The bytes of a value, valid only while the caller keeps the result alive; nil means NULL.
    ///
    /// For loops over many values, where the closures of ``withColumn(_:_:_:)`` would cost as much as the decoding.
    package func unsafeBytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        if let collected { return collected.bytes(row, column) }
        let row = Int32(truncatingIfNeeded: row)
        let column = Int32(truncatingIfNeeded: column)
        let length = PQgetlength(handle, row, column)
        // libpq returns length 0 for NULL too.
        if length == 0, PQgetisnull(handle, row, column) != 0 { return nil }
        return UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(length))
    }
}
