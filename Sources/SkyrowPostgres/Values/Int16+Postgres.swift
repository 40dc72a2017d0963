extension Int16: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .int2 }
    package static var postgresArrayType: PostgresOID { .int2Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Int16 {
        try narrowed(bytes, type: type)
    }
}
