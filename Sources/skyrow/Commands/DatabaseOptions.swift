import ArgumentParser

/// The flags that say which database a command works on; see ``DatabaseSettings``.
struct DatabaseOptions: ParsableArguments {
    @Option(
        name: .customLong("data-directory"),
        help: ArgumentHelp(
            "Where keys and the embedded PostgreSQL are kept (SKYROW_DATA_DIRECTORY; default: data).",
            valueName: "path"
        )
    )
    var dataDirectory: String?

    @Option(
        name: .customLong("database-url"),
        help: ArgumentHelp(
            "A PostgreSQL to use instead of the embedded one (SKYROW_DATABASE_URL).",
            valueName: "url"
        )
    )
    var databaseURL: String?

    @Option(
        help: ArgumentHelp("The PostgreSQL schema of the application (SKYROW_SCHEMA; default: app).", valueName: "name")
    )
    var schema: String?

    var flags: [String: String] {
        var flags: [String: String] = [:]
        flags["data-directory"] = dataDirectory
        flags["database-url"] = databaseURL
        flags["schema"] = schema
        return flags
    }
}
