extension Int64: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .int8 }
    package static var postgresArrayType: PostgresOID { .int8Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Int64 {
        try narrowed(bytes, type: type)
    }
}

extension PostgresDecodable where Self: FixedWidthInteger {
    /// Reads an integer column of any width, if the value fits.
    static func narrowed(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Self {
        guard let bytes else { throw undecodable(type: type, isNull: true) }
        let value: Self? =
            switch type {
            case .int8: Self(exactly: try integer(bytes, type: type, as: Int64.self))
            case .int4: Self(exactly: try integer(bytes, type: type, as: Int32.self))
            case .int2: Self(exactly: try integer(bytes, type: type, as: Int16.self))
            case .oid: Self(exactly: try integer(bytes, type: type, as: UInt32.self))
            case .xid8: Self(exactly: try integer(bytes, type: type, as: UInt64.self))
            default: throw undecodable(type: type, isNull: false)
            }
        guard let value else {
            throw PostgresError(code: .undecodable, message: "An integer does not fit into \(Self.self)")
        }
        return value
    }
}
