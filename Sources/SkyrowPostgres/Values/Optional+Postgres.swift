/// `nil` is NULL.
extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresOID { Wrapped.postgresType }

    package var isPostgresNull: Bool { self?.isPostgresNull ?? true }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        if let self { try self.encode(into: &encoder) }
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement {
    package static var postgresArrayType: PostgresOID { Wrapped.postgresArrayType }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Self {
        bytes == nil ? nil : try Wrapped.decode(bytes, type: type)
    }
}
