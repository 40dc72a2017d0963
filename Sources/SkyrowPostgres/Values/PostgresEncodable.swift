/// A Swift value that can be bound to a placeholder of a statement.
package protocol PostgresEncodable: Sendable {
    /// The type that the server gets; ``PostgresOID/unspecified`` leaves it to the server.
    static var postgresType: PostgresOID { get }

    /// Whether the value is NULL, in which case it is not encoded.
    var isPostgresNull: Bool { get }

    /// Appends the value's binary form.
    ///
    /// - Throws: ``PostgresError`` with the code `invalidValue` for a value that PostgreSQL cannot hold.
    func encode(into encoder: inout PostgresEncoder) throws(PostgresError)
}

extension PostgresEncodable {
    package var isPostgresNull: Bool { false }
}

/// A value of which PostgreSQL has arrays.
package protocol PostgresArrayElement: PostgresEncodable {
    static var postgresArrayType: PostgresOID { get }
}
