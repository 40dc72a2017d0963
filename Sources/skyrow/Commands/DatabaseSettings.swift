/// Which database a command works on.
struct DatabaseSettings: Hashable, Sendable {
    /// As it was given, perhaps relative.
    var dataDirectory: String
    /// nil for the embedded PostgreSQL.
    var databaseURL: String?
    var schema: String

    static let dataDirectoryName = SettingValues.Name(flag: "data-directory", environment: "SKYROW_DATA_DIRECTORY")
    static let databaseURLName = SettingValues.Name(flag: "database-url", environment: "SKYROW_DATABASE_URL")
    static let schemaName = SettingValues.Name(flag: "schema", environment: "SKYROW_SCHEMA")

    /// Throws ``ToolError`` about the first setting that is wrong.
    init(_ values: SettingValues) throws(ToolError) {
        dataDirectory = try values.value(Self.dataDirectoryName, default: "data", mustBe: "the path of a directory") {
            text in
            text.isEmpty || text.utf8.contains(0) ? nil : text
        }
        databaseURL = nil
        if let (text, origin) = values.text(Self.databaseURLName) {
            // The text is not repeated, since it may hold a password.
            guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") || text.contains("=") else {
                throw .usage("\(origin) must be a PostgreSQL address such as postgresql://user@host/database.")
            }
            databaseURL = text
        }
        schema = try values.value(
            Self.schemaName,
            default: "app",
            mustBe: "a name of letters, digits and underscores that begins with a letter and not with 'pg_'"
        ) { text in
            let bytes = text.utf8
            let isName =
                bytes.count <= 63 && bytes.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
            guard isName, let first = bytes.first, isLetter(first) else { return nil }
            return text.hasPrefix("pg_") || text == "information_schema" ? nil : text
        }
    }
}

private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
