/// The name of a catalog object as a value, for queries of the catalog (`WHERE relname = $1`).
package struct PostgresName: Hashable, Sendable {
    package var text: String

    package init(_ text: String) {
        self.text = text
    }
}

extension PostgresName: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .name }
    package static var postgresArrayType: PostgresOID { .nameArray }

    /// - Throws: ``PostgresError`` with the code `invalidValue` for a name longer than 63 bytes, which no object has.
    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        guard text.utf8.count <= SQLIdentifier.maximumLength else {
            throw PostgresError(code: .invalidValue, message: "A name has at most 63 bytes")
        }
        try encoder.append(text: text)
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer?,
        type: PostgresOID
    ) throws(PostgresError) -> PostgresName {
        PostgresName(try String.decode(bytes, type: type))
    }
}

extension SQLIdentifier {
    /// The OID of the schema with this name, as in `relnamespace`.
    package var namespace: SQL { "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(name)))" }
}
