extension String: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .text }
    package static var postgresArrayType: PostgresOID { .textArray }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try encoder.append(text: self)
    }

    /// Reads the built-in text types, and user-defined types, since enumerations and citext have text as their binary format.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> String {
        guard var bytes else { throw undecodable(type: type, isNull: true) }
        switch type {
        case .text, .varchar, .bpchar, .name, .json, .xml, .char, .unknown: break
        case .jsonb: bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(1))
        default: guard !type.isBuiltIn else { throw undecodable(type: type, isNull: false) }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PostgresError(code: .undecodable, message: "A text column is not valid UTF-8")
        }
        return text
    }
}
