extension Int32: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .int4 }
    package static var postgresArrayType: PostgresOID { .int4Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Int32 {
        try narrowed(bytes, type: type)
    }
}
