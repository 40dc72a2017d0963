extension PostgresOID: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .oid }
    package static var postgresArrayType: PostgresOID { .oidArray }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(rawValue)
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer?,
        type: PostgresOID
    ) throws(PostgresError) -> PostgresOID {
        PostgresOID(rawValue: try integer(Self.bytes(bytes, type: type, oneOf: .oid, .regclass), type: type))
    }
}
