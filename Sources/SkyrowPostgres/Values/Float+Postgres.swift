extension Float: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .float4 }
    package static var postgresArrayType: PostgresOID { .float4Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bitPattern)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Float {
        Float(bitPattern: try integer(Self.bytes(bytes, type: type, oneOf: .float4), type: type))
    }
}
