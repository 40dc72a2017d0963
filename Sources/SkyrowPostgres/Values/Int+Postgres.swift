extension Int: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .int8 }
    package static var postgresArrayType: PostgresOID { .int8Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(Int64(self))
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Int {
        try narrowed(bytes, type: type)
    }
}
