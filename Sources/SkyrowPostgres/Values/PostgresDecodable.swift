/// A Swift value that can be read from a column of a binary result.
package protocol PostgresDecodable: Sendable {
    /// Reads the value; `bytes` is nil for NULL and valid only during the call.
    ///
    /// - Throws: ``PostgresError`` with the code `undecodable` when the column has
    ///   another type, or is NULL and this type is not optional.
    static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Self
}

extension PostgresDecodable {
    /// Returns the bytes of a column that must not be NULL and must have one of the types.
    static func bytes(
        _ bytes: UnsafeRawBufferPointer?,
        type: PostgresOID,
        oneOf types: PostgresOID...
    ) throws(PostgresError) -> UnsafeRawBufferPointer {
        guard types.contains(type) else { throw undecodable(type: type, isNull: bytes == nil) }
        guard let bytes else { throw undecodable(type: type, isNull: true) }
        return bytes
    }

    package static func undecodable(type: PostgresOID, isNull: Bool) -> PostgresError {
        let found = isNull ? "NULL" : "a value"
        return PostgresError(
            code: .undecodable,
            message: "Found \(found) of the type with OID \(type.rawValue) where \(Self.self) was expected"
        )
    }

    /// Reads a big-endian integer that must fill the whole column.
    static func integer<Integer: FixedWidthInteger>(
        _ bytes: UnsafeRawBufferPointer,
        type: PostgresOID,
        as _: Integer.Type = Integer.self
    ) throws(PostgresError) -> Integer {
        guard bytes.count == MemoryLayout<Integer>.size else { throw undecodable(type: type, isNull: false) }
        return Integer(bigEndian: bytes.loadUnaligned(as: Integer.self))
    }
}
