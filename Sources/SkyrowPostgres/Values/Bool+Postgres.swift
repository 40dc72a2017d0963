extension Bool: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .bool }
    package static var postgresArrayType: PostgresOID { .boolArray }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(UInt8(self ? 1 : 0))
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Bool {
        try integer(Self.bytes(bytes, type: type, oneOf: .bool), type: type, as: UInt8.self) != 0
    }
}
