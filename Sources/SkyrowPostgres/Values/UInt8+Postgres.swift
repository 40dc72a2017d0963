/// PostgreSQL has no unsigned byte, so one is sent as `smallint`; an array of them is `bytea` (see `Array+Postgres`).
extension UInt8: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .int2 }
    package static var postgresArrayType: PostgresOID { .int2Array }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(Int16(self))
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> UInt8 {
        try narrowed(bytes, type: type)
    }
}
