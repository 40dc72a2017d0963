/// A Swift value that can be bound to a placeholder of a statement.
package protocol PostgresEncodable: Sendable {
    /// The type that is declared to the server; ``PostgresOID/unspecified`` lets the server infer it.
    static var postgresType: PostgresOID { get }

    /// Whether the value is NULL, in which case it is not encoded.
    var isPostgresNull: Bool { get }

    /// Appends the value in binary format.
    ///
    /// - Throws: ``PostgresError`` with the code `invalidValue` for a value that PostgreSQL cannot store.
    func encode(into encoder: inout PostgresEncoder) throws(PostgresError)
}

extension PostgresEncodable {
    package var isPostgresNull: Bool { false }
}

/// A value whose type has an array type in PostgreSQL.
package protocol PostgresArrayElement: PostgresEncodable {
    static var postgresArrayType: PostgresOID { get }
}
