import SkyrowJSON
import SkyrowPostgres
package import SkyrowSystem

/// Settings of the database that a command works on.
package final class DatabaseSettings: SettingGroup {
    package static let title = "Database"

    package init() {}

    package let dataDirectory = Setting(
        "data-directory",
        "data",
        shown: "data",
        .directory,
        mustBe: "the path of a directory",
        "The directory for the keys and the embedded PostgreSQL."
    ) { text in
        text.isEmpty || text.utf8.contains(0) ? nil : text
    }

    package let url = address(
        "database-url",
        "The address of a PostgreSQL to use instead of the embedded one, with libpq options such as `sslmode` if needed."
    )

    package let listenURL = address(
        "listen-database-url",
        "The address of PostgreSQL itself for notifications, if `database-url` is that of a pooler in transaction mode."
    )

    package let replicationURL = address(
        "replication-url",
        """
        The address of PostgreSQL itself for streaming changes to live queries, with a role that has REPLICATION; by default \
        `database-url`.
        """
    )

    package let embeddedPort = Setting<Int?>(
        "embedded-port",
        nil,
        shown: "",
        .text("port"),
        mustBe: "a port from 1024 to 65535",
        """
        The port on 127.0.0.1 where the embedded PostgreSQL accepts tools, with a password: `skyrow psql --print-url` shows the \
        address. Without it only a socket in the data directory is available.
        """
    ) { text in
        guard let port = Int(text), (1024...65535).contains(port) else { return nil }
        return .some(port)
    }

    package let schema = Setting(
        "schema",
        "app",
        shown: "app",
        .text("name"),
        mustBe: """
            a name of letters, digits and underscores that begins with a letter but not with 'pg_', and does not end with \
            '_internal' or '_visible'
            """,
        "The PostgreSQL schema of the application."
    ) { text in
        let bytes = text.utf8
        let isName = bytes.count <= 63 && bytes.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
        guard isName, let first = bytes.first, isLetter(first) else { return nil }
        guard !text.hasPrefix("pg_"), text != "information_schema", let name = try? SQLIdentifier(text) else {
            return nil
        }
        return name.isBesideAnother ? nil : text
    }

    package let preparedStatements = Setting<Bool?>.flag(
        "prepared-statements",
        """
        Whether each connection prepares statements once. By default a connection detects whether they persist; use `true` for a \
        pooler in session mode.
        """
    )

    private static func address(_ name: String, _ sentence: String) -> Setting<String?> {
        Setting(
            name,
            nil,
            shown: "",
            .text("url"),
            mustBe: "a PostgreSQL address such as postgresql://user@host/database",
            sentence
        ) { text in
            let isAddress = text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") || text.contains("=")
            return isAddress ? .some(text) : nil
        }.secret(hasFlag: true)
    }

    /// Throws if a flag contains a password, as all users of a machine can read the command lines of its processes.
    package static func check(_ settings: SettingValues<DatabaseSettings>) throws(ToolError) {
        try check(settings.url, origin: settings.origin(of: \.url), name: "database-url")
        try check(settings.listenURL, origin: settings.origin(of: \.listenURL), name: "listen-database-url")
        try check(settings.replicationURL, origin: settings.origin(of: \.replicationURL), name: "replication-url")
    }

    static func check(_ url: String?, origin: SettingOrigin?, name: String) throws(ToolError) {
        guard case .flag? = origin, let url, PostgresConfiguration.holdsPassword(connection: url) else { return }
        let variable = "SKYROW_" + name.uppercased().replacing("-", with: "_")
        throw .usage(
            """
            --\(name) contains a password, which every user of this machine could read in the list of processes: put the \
            address into \(variable) or a file (--\(name)-file), or the password into PGPASSWORD or ~/.pgpass.
            """
        )
    }
}

func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}
