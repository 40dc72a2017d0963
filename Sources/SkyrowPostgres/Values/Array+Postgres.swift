/// An array of bytes is `bytea`; any other array is a one-dimensional PostgreSQL array.
extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: PostgresOID { Element.self == UInt8.self ? .bytea : Element.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        // The type is checked first because an empty array of any kind can be cast to one of bytes.
        if Element.self == UInt8.self, let bytes = self as? [UInt8] {
            encoder.append(bytes: bytes)
            return
        }
        guard let count = Int32(exactly: count) else { throw .tooManyElements }
        let flag = encoder.appendArrayHeader(of: Element.postgresType, count: count)
        for element in self {
            let start = encoder.reserveLength()
            guard !element.isPostgresNull else {
                encoder.fillNull(at: start, flag: flag)
                continue
            }
            try element.encode(into: &encoder)
            encoder.fillLength(at: start)
        }
    }
}

extension PostgresError {
    static let tooManyElements = PostgresError(code: .invalidValue, message: "An array has too many elements")
}

/// PostgreSQL has arrays of `bytea`, so an array of bytes may be an element.
extension Array: PostgresArrayElement where Element == UInt8 {
    package static var postgresArrayType: PostgresOID { .byteaArray }
}

extension Array: PostgresDecodable where Element: PostgresDecodable {
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> [Element] {
        guard let bytes else { throw undecodable(type: type, isNull: true) }
        if type == .bytea, Element.self == UInt8.self, let bytes = [UInt8](bytes) as? [Element] { return bytes }
        var reader = ArrayReader(bytes: bytes, type: type)
        let dimensions: Int32 = try reader.next()
        _ = try reader.next() as Int32
        let elementType = PostgresOID(rawValue: try reader.next())
        guard dimensions != 0 else { return [] }
        guard dimensions == 1 else { throw undecodable(type: type, isNull: false) }
        let count: Int32 = try reader.next()
        _ = try reader.next() as Int32
        // Each element takes at least four bytes, so a wrong count cannot reserve more memory than the column has.
        guard count >= 0, Int(count) <= bytes.count / 4 else { throw undecodable(type: type, isNull: false) }
        var elements: [Element] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count { elements.append(try Element.decode(reader.nextElement(), type: elementType)) }
        return elements
    }
}

/// A reader of the binary format of an array.
private struct ArrayReader {
    var bytes: UnsafeRawBufferPointer
    let type: PostgresOID

    mutating func next<Integer: FixedWidthInteger>() throws(PostgresError) -> Integer {
        guard bytes.count >= MemoryLayout<Integer>.size else { throw tooShort }
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(MemoryLayout<Integer>.size)) }
        return Integer(bigEndian: bytes.loadUnaligned(as: Integer.self))
    }

    mutating func nextElement() throws(PostgresError) -> UnsafeRawBufferPointer? {
        let length: Int32 = try next()
        guard length >= 0 else { return nil }
        guard bytes.count >= Int(length) else { throw tooShort }
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Int(length))) }
        return UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(length)))
    }

    var tooShort: PostgresError {
        PostgresError(code: .undecodable, message: "The type with OID \(type.rawValue) is not an array, or truncated")
    }
}
