internal import CLibpq

/// The rows a statement returned, in PostgreSQL's binary form.
///
/// ```swift
/// let result = try await client.read("SELECT _id, stars FROM movie WHERE year = \(year)")
/// for row in 0..<result.rowCount {
///     let id = try result.decode(row: row, column: 0, as: String.self)
/// }
/// ```
///
/// Rows and columns are counted from 0; an index beyond the end reads as NULL.
///
/// `@unchecked Sendable`: libpq's result never changes once it is complete (libpq documents that reading it from
/// several threads is safe), this class only reads it, and it is cleared once, when the last reference is gone; rows
/// that were collected are complete before the result is made.
package final class PostgresResult: @unchecked Sendable {
    private let handle: OpaquePointer
    /// The rows, when they were collected one by one; `handle` has none then, but has the columns.
    private let collected: CollectedRows?
    /// What `handle` belongs to, when other results have it too.
    private let layout: PostgresRowLayout?

    /// Takes over a complete result.
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

    /// Stands for a result that is not read.
    static let empty = PostgresResult(handle: PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK))

    package var rowCount: Int { collected?.count ?? Int(PQntuples(handle)) }

    /// Whether columns of a row were left out because of its statement's ``PostgresRowLimit``; they read as NULL.
    package func isShort(row: Int) -> Bool {
        collected.map { row >= $0.firstShortRow } ?? false
    }

    package var columnCount: Int { Int(PQnfields(handle)) }

    package var isEmpty: Bool { rowCount == 0 }

    /// What the server calls the command, such as `INSERT 0 1`.
    package var commandTag: String { String(cString: PQcmdStatus(handle)) }

    /// The rows a command inserted, updated, deleted, copied or returned; 0 for commands that count none.
    package var affectedRows: Int {
        var count = 0
        var digit = PQcmdTuples(handle)
        while let byte = digit?.pointee, byte != 0 {
            count = count &* 10 &+ Int(byte - 48)
            digit = digit?.successor()
        }
        return count
    }

    /// Lends the bytes of a value without a copy; nil is NULL. The bytes are valid during the call only.
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
    /// - Throws: ``PostgresError`` with the code `undecodable` when the column is of another type, or NULL and
    ///   `type` is not optional.
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

    /// Reads a column of every row.
    package func decodeColumn<Value: PostgresDecodable>(
        _ column: Int,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rowCount)
        for row in 0..<rowCount {
            values.append(try decode(row: row, column: column))
        }
        return values
    }

    package func columnType(_ column: Int) -> PostgresOID {
        PostgresOID(rawValue: PQftype(handle, Int32(truncatingIfNeeded: column)))
    }

    /// The name of a column; nil beyond the last.
    package func columnName(_ column: Int) -> String? {
        PQfname(handle, Int32(truncatingIfNeeded: column)).map { String(cString: $0) }
    }

    /// The first column of that name, folded to lower case unless quoted.
    package func columnIndex(named name: String) -> Int? {
        (0..<columnCount).first { columnName($0) == name }
    }

    /// The bytes of a value, which are valid only while the caller keeps the result alive; nil is NULL.
    ///
    /// For loops over many values, where the closures of ``withColumn(_:_:_:)`` would cost as much as the values.
    package func unsafeBytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        if let collected { return collected.bytes(row, column) }
        let row = Int32(truncatingIfNeeded: row)
        let column = Int32(truncatingIfNeeded: column)
        let length = PQgetlength(handle, row, column)
        // libpq says 0 for NULL too.
        if length == 0, PQgetisnull(handle, row, column) != 0 { return nil }
        return UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(length))
    }
}
