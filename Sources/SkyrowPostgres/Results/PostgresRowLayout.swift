internal import CLibpq
internal import SkyrowConcurrency

/// The names and types of columns, for rows that are not the result of a statement.
///
/// ```swift
/// let layout = PostgresRowLayout([("_id", .text), ("stars", .int8)])
/// let result = PostgresResult(rowCount: 1, of: layout) { row, column in bytes[column] }
/// ```
package final class PostgresRowLayout: Sendable {
    private let owned: OwnedPointer
    package let columnCount: Int

    package init(_ columns: [(name: String, type: PostgresOID)]) {
        columnCount = columns.count
        // PQmakeEmptyPGresult fails only when memory is exhausted.
        guard let handle = PQmakeEmptyPGresult(nil, PGRES_TUPLES_OK) else {
            preconditionFailure("There is no memory for a result.")
        }
        owned = OwnedPointer(handle, freedBy: PQclear)
        var texts = columns.map { Array($0.name.utf8CString) }
        let offsets = texts.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.count) }
        var joined = texts.flatMap { $0 }
        texts = []
        joined.withUnsafeMutableBufferPointer { names in
            var attributes = columns.enumerated().map { place, column in
                PGresAttDesc(
                    name: names.baseAddress?.advanced(by: offsets[place]),
                    tableid: 0,
                    columnid: 0,
                    format: 1,
                    typid: column.type.rawValue,
                    typlen: -1,
                    atttypmod: -1
                )
            }
            // libpq copies all of it.
            _ = attributes.withUnsafeMutableBufferPointer {
                PQsetResultAttrs(handle, Int32(truncatingIfNeeded: $0.count), $0.baseAddress)
            }
        }
    }

    var handle: OpaquePointer { owned.pointer }
}

extension PostgresResult {
    /// Creates a result with copied rows of a layout.
    ///
    /// - Parameter value: Lends the bytes of a column of a row in PostgreSQL's binary format; nil for NULL.
    package convenience init(
        rowCount: Int,
        of layout: PostgresRowLayout,
        _ value: (_ row: Int, _ column: Int) -> UnsafeRawBufferPointer?
    ) {
        self.init(layout: layout, rows: CollectedRows(rowCount: rowCount, columnCount: layout.columnCount, value))
    }
}
