internal import Glibc

/// A growing buffer of values in PostgreSQL's binary format, which is big-endian.
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
    /// - Throws: ``PostgresError`` with the code `invalidValue` when the text contains a NUL byte, which PostgreSQL's text types
    ///   cannot store.
    package mutating func append(text: String) throws(PostgresError) {
        var text = text
        let holdsNUL = text.withUTF8 { utf8 in
            bytes.append(contentsOf: utf8)
            return utf8.baseAddress.map { memchr($0, 0, utf8.count) != nil } ?? false
        }
        guard !holdsNUL else {
            throw PostgresError(code: .invalidValue, message: "PostgreSQL cannot store text with a NUL byte (U+0000)")
        }
    }

    /// Appends the header of an array in the format of array_send; returns the offset of its NULL flag.
    mutating func appendArrayHeader(of element: PostgresOID, count: Int32) -> Int {
        // The dimensions, the flag and the type; then the size and lower bound of each dimension.
        append(Int32(count == 0 ? 0 : 1))
        let flag = bytes.count
        append(Int32(0))
        append(element.rawValue)
        guard count > 0 else { return flag }
        append(count)
        append(Int32(1))
        return flag
    }

    /// Appends a field of a row in the binary format of `COPY`: its length and its value; -1 for NULL.
    ///
    /// Text with a NUL byte is appended unchanged, so that the server refuses the row.
    package mutating func append<Value: PostgresEncodable>(field value: Value?) {
        guard let value, !value.isPostgresNull else { return append(Int32(-1)) }
        let length = reserveLength()
        try? value.encode(into: &self)
        fillLength(at: length)
    }

    mutating func append(_ other: PostgresEncoder) {
        bytes.append(contentsOf: other.bytes)
    }

    /// Reserves space for a length; returns its offset.
    mutating func reserveLength() -> Int {
        let position = bytes.count
        append(Int32(0))
        return position
    }

    /// Fills in a length reserved by ``reserveLength()``: the number of bytes appended since.
    mutating func fillLength(at position: Int) {
        let length = Int32(truncatingIfNeeded: bytes.count - position - 4)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: length.bigEndian, toByteOffset: position, as: Int32.self)
        }
    }

    /// Makes the array element whose length is at `position` NULL.
    mutating func fillNull(at position: Int, flag: Int) {
        for index in 0..<4 { bytes[position + index] = 0xFF }
        bytes[flag + 3] = 1
    }
}
