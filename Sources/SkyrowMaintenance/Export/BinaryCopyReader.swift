internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// Reads rows in the binary form of `COPY` (PostgreSQL's manual, COPY, "Binary Format").
struct BinaryCopyReader {
    private let columns: [ExportColumn]
    private var hasHeader = false
    /// The number of rows read.
    private(set) var rowCount = 0

    init(columns: [ExportColumn]) {
        self.columns = columns
    }

    /// Emits the rows of a chunk of complete rows. Throws ``PostgresError`` if they do not have these columns.
    mutating func read(_ chunk: [UInt8], into sink: inout some RecordSink) throws(PostgresError) {
        let failure = chunk.withUnsafeBytes { bytes -> PostgresError? in
            do throws(PostgresError) {
                try read(bytes, into: &sink)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer, into sink: inout some RecordSink) throws(PostgresError)
    {
        var cursor = Cursor(bytes: bytes)
        if !hasHeader {
            hasHeader = true
            // The header is the signature, the flags, and the length of an extension.
            _ = try cursor.take(15)
            _ = try cursor.take(Int(try cursor.integer(Int32.self)))
        }
        while !cursor.isAtEnd {
            let count = try cursor.integer(Int16.self)
            if count == -1 { return }
            guard Int(count) == columns.count else { throw PostgresError.unreadableCopy }
            sink.beginRecord()
            for column in columns {
                let length = try cursor.integer(Int32.self)
                if length < 0 {
                    sink.member(column.key, .null)
                } else {
                    try emit(try cursor.take(Int(length)), column, to: &sink)
                }
            }
            sink.endRecord()
            rowCount += 1
        }
    }

    @inline(__always)
    private func emit(
        _ bytes: UnsafeRawBufferPointer,
        _ column: ExportColumn,
        to sink: inout some RecordSink
    ) throws(PostgresError) {
        let isRead = column.typeName.withUnsafeBytes { name in
            if case .array(let element) = column.kind {
                element.withValue(bytes, name: name, id: { $0 }) { sink.member(column.key, $0) }
                return true
            }
            if column.kind == .access {
                column.kind.withAccess(bytes) { sink.member(column.key, $0) }
                return true
            }
            guard let value = column.kind.value(bytes, name: name) else { return false }
            sink.member(column.key, value)
            return true
        }
        guard isRead else { throw PostgresError.unreadableCopy }
    }

    private struct Cursor {
        let bytes: UnsafeRawBufferPointer
        var place = 0

        var isAtEnd: Bool { place == bytes.count }

        mutating func take(_ count: Int) throws(PostgresError) -> UnsafeRawBufferPointer {
            guard count >= 0, bytes.count - place >= count else { throw PostgresError.unreadableCopy }
            defer { place += count }
            return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
        }

        mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type) throws(PostgresError) -> Integer {
            Integer(bigEndian: try take(Integer.bitWidth / 8).loadUnaligned(as: Integer.self))
        }
    }
}

extension PostgresError {
    fileprivate static let unreadableCopy = PostgresError(
        code: .undecodable,
        message: "The rows of a COPY do not match the requested columns"
    )
}
