/// A JSON text for a `jsonb` column, stored as its UTF-8 bytes.
package struct PostgresJSONB: Hashable, Sendable {
    /// The only version of the binary format: one byte, then the text (jsonb_send).
    static let version: UInt8 = 1

    /// The JSON text in UTF-8.
    package var utf8: [UInt8]

    package init(utf8: [UInt8]) {
        self.utf8 = utf8
    }

    package init(_ text: String) {
        self.init(utf8: Array(text.utf8))
    }
}

extension PostgresJSONB: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .jsonb }
    package static var postgresArrayType: PostgresOID { .jsonbArray }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(Self.version)
        encoder.append(bytes: utf8)
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer?,
        type: PostgresOID
    ) throws(PostgresError) -> PostgresJSONB {
        let bytes = try Self.bytes(bytes, type: type, oneOf: .jsonb, .json)
        guard type == .jsonb else { return PostgresJSONB(utf8: Array(bytes)) }
        guard bytes.first == version else { throw undecodable(type: type, isNull: false) }
        return PostgresJSONB(utf8: Array(bytes.dropFirst()))
    }
}
