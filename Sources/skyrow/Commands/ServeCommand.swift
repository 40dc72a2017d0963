import ArgumentParser

/// `skyrow serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the service.",
        discussion: """
            Without --database-url it starts a PostgreSQL of its own, whose files are in the data directory. Each setting \
            has an environment name too, and the flag wins. Keys come from SKYROW_API_KEY and SKYROW_MASTER_KEY; without \
            these they are made at the first start and kept in the data directory.
            """
    )

    @OptionGroup var database: DatabaseOptions

    @Option(help: ArgumentHelp("Where to listen (SKYROW_HOST; default: 127.0.0.1).", valueName: "address"))
    var host: String?

    @Option(help: ArgumentHelp("The port, 0 for any free one (SKYROW_PORT; default: 3000).", valueName: "number"))
    var port: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Let types and fields appear when they are first saved (SKYROW_DEVELOPMENT; default: no)."
    )
    var development: Bool?

    @Option(
        name: .customLong("login-keys"),
        help: ArgumentHelp(
            "The fields of user that accounts log in with (SKYROW_LOGIN_KEYS; default: username,email).",
            valueName: "names"
        )
    )
    var loginKeys: String?

    @Option(
        name: .customLong("cors-origins"),
        help: ArgumentHelp(
            "The origins whose web pages may call: '*', 'none' or a list (SKYROW_CORS_ORIGINS; default: *).",
            valueName: "origins"
        )
    )
    var corsOrigins: String?

    @Option(
        name: .customLong("maximum-body"),
        help: ArgumentHelp("The longest request in bytes (SKYROW_MAXIMUM_BODY; default: 8388608).", valueName: "bytes")
    )
    var maximumBody: String?

    @Option(
        name: .customLong("maximum-connections"),
        help: ArgumentHelp(
            "How many clients may be connected (SKYROW_MAXIMUM_CONNECTIONS; default: 10000).",
            valueName: "count"
        )
    )
    var maximumConnections: String?

    @Option(
        name: .customLong("trusted-proxies"),
        help: ArgumentHelp(
            "The proxies whose word about their clients is taken, as 10.0.0.0/8,::1 (SKYROW_TRUSTED_PROXIES; default: none).",
            valueName: "ranges"
        )
    )
    var trustedProxies: String?

    @Option(
        name: .customLong("forwarded-header"),
        help: ArgumentHelp(
            "The header they write: x-forwarded-for or forwarded (SKYROW_FORWARDED_HEADER; default: x-forwarded-for).",
            valueName: "name"
        )
    )
    var forwardedHeader: String?

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp("What to log, to standard error (SKYROW_LOG_LEVEL; default: info).", valueName: "level")
    )
    var logLevel: String?

    func run() async throws {
        try await reportingErrors {
            let values = SettingValues(flags: flags, environment: processEnvironment())
            try await ServiceProcess(settings: try ServeSettings(values), program: CommandLine.arguments[0]).run()
        }
    }

    private var flags: [String: String] {
        var flags = database.flags
        flags["host"] = host
        flags["port"] = port
        flags["development"] = development.map { $0 ? "true" : "false" }
        flags["login-keys"] = loginKeys
        flags["cors-origins"] = corsOrigins
        flags["maximum-body"] = maximumBody
        flags["maximum-connections"] = maximumConnections
        flags["trusted-proxies"] = trustedProxies
        flags["forwarded-header"] = forwardedHeader
        flags["log-level"] = logLevel
        return flags
    }
}
