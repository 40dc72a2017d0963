/// A growing buffer of values in PostgreSQL's binary form, which is big-endian.
package struct PostgresEncoder: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package var count: Int { bytes.count }

    package mutating func reserveCapacity(_ count: Int) {
        bytes.reserveCapacity(count)
    }

    package mutating func append<Integer: FixedWidthInteger>(_ integer: Integer) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func append(bytes newBytes: [UInt8]) {
        bytes.append(contentsOf: newBytes)
    }

    package mutating func append(bytes newBytes: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: newBytes)
    }

    /// Appends text as UTF-8.
    ///
    /// - Throws: ``PostgresError`` with the code `invalidValue` when it holds a NUL byte, which PostgreSQL's text
    ///   types cannot store.
    package mutating func append(text: String) throws(PostgresError) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard !bytes[start...].contains(0) else {
            throw PostgresError(code: .invalidValue, message: "PostgreSQL cannot store text with a NUL byte (U+0000)")
        }
    }

    /// Appends a field of a row in the binary form of `COPY`: its length, then its value; -1 for NULL.
    ///
    /// Text with a NUL byte is appended as it is, so that the server refuses the row and not the whole copy.
    package mutating func append<Value: PostgresEncodable>(field value: Value?) {
        guard let value, !value.isPostgresNull else { return append(Int32(-1)) }
        let length = reserveLength()
        try? value.encode(into: &self)
        fillLength(at: length)
    }

    mutating func append(_ other: PostgresEncoder) {
        bytes.append(contentsOf: other.bytes)
    }

    /// Leaves room for a length that is known only later; returns where.
    mutating func reserveLength() -> Int {
        let position = bytes.count
        append(Int32(0))
        return position
    }

    /// Fills in, at a place from ``reserveLength()``, how many bytes were appended since.
    mutating func fillLength(at position: Int) {
        let length = UInt32(truncatingIfNeeded: bytes.count - position - 4)
        for index in 0..<4 {
            bytes[position + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(index)))
        }
    }
}
