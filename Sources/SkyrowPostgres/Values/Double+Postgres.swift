extension Double: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .float8 }
    package static var postgresArrayType: PostgresOID { .float8Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bitPattern)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Double {
        let bytes = try Self.bytes(bytes, type: type, oneOf: .float8, .float4)
        return type == .float8
            ? Double(bitPattern: try integer(bytes, type: type))
            : Double(Float(bitPattern: try integer(bytes, type: type)))
    }
}
