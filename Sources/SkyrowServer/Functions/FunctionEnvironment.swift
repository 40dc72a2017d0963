import Glibc
import Logging
import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowRemote

/// The environment of the function servers that the service starts: py-skygear's variables, and the same as `SKYROW_…`.
struct FunctionEnvironment: Hashable, Sendable {
    /// The variables that are taken from the service; nothing else is inherited.
    static let inherited = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"]

    /// Those that it adds which are no settings of the service.
    static let ownVariables: Set<String> = [
        "SKYROW_APP_NAME", "SKYROW_ASSET_STORE", "SKYROW_ASSET_STORE_SECRET", "SKYROW_ASSET_STORE_URL_PREFIX",
        "SKYROW_ENDPOINT", "SKYROW_FUNCTION_SECRET", "SKYROW_HTTP", "SKYROW_HTTP_ADDR", "SKYROW_PUBSUB_URL",
    ]

    /// The address of the service, such as `http://127.0.0.1:3000`.
    var endpoint: String
    var apiKey: String
    var masterKey: String
    /// The schema of the records.
    var schema: String
    /// nil for none.
    var databaseURL: String?
    /// What precedes the names of files in their addresses.
    var filePrefix: String
    /// The secret that signs the addresses of files; nil if it is derived in the database.
    var fileSecret: String?
    var logLevel: Logger.Level

    /// Returns the variables of a server.
    ///
    /// - Parameters:
    ///   - address: The host and port that it listens on.
    ///   - secret: With which calls of it are signed.
    ///   - service: The environment of the service.
    ///   - own: The variables of `functions.json`, which come last.
    func variables(
        address: String,
        secret: [UInt8],
        service: [String: String],
        own: [String: String]
    ) -> [String: String] {
        var variables = service.filter { Self.inherited.contains($0.key) }
        if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
        for (name, value) in skygear(address) {
            variables[name] = value
            let plain = name.hasPrefix("SKYGEAR_") ? String(name.dropFirst("SKYGEAR_".count)) : name
            variables["SKYROW_\(plain)"] = value
        }
        variables["SKYROW_FUNCTION_SECRET"] = "whsec_\(encodeBase64(secret))"
        return variables.merging(own) { $1 }
    }

    private func skygear(_ address: String) -> [String: String] {
        var variables = [
            "SKYGEAR_ENDPOINT": endpoint, "API_KEY": apiKey, "MASTER_KEY": masterKey,
            // py-skygear opens the schema app_<APP_NAME>.
            "APP_NAME": schema.hasPrefix("app_") ? String(schema.dropFirst("app_".count)) : schema, "HTTP": "true",
            "HTTP_ADDR": address, "ASSET_STORE": "fs", "ASSET_STORE_URL_PREFIX": filePrefix,
            "PUBSUB_URL": "ws\(endpoint.dropFirst("http".count))/pubsub", "LOG_LEVEL": pythonLevel,
        ]
        variables["DATABASE_URL"] = databaseURL
        variables["ASSET_STORE_SECRET"] = fileSecret
        return variables
    }

    private var pythonLevel: String {
        switch logLevel {
        case .trace, .debug: "DEBUG"
        case .info, .notice: "INFO"
        case .warning: "WARNING"
        case .error: "ERROR"
        case .critical: "CRITICAL"
        }
    }

    // MARK: The database

    /// Returns a libpq connection string as an address that SQLAlchemy 1.4 reads: it begins with `postgresql://`.
    ///
    /// ```swift
    /// FunctionEnvironment.databaseURL(ofConnection: "host=/run/postgresql dbname=app")
    /// // "postgresql:///?dbname=app&host=%2Frun%2Fpostgresql"
    /// ```
    ///
    /// nil for a text that is no connection string.
    static func databaseURL(ofConnection text: String) -> String? {
        if text.hasPrefix("postgresql://") { return text }
        if text.hasPrefix("postgres://") { return "postgresql://\(text.dropFirst("postgres://".count))" }
        guard let options = try? PostgresConfiguration.options(ofConnection: text) else { return nil }
        // Another process has other descriptors.
        let named = options.map { name, value in
            (name: name, value: value.replacing("/proc/self/fd/", with: "/proc/\(getpid())/fd/"))
        }
        return WebForm.appending(named.sorted { $0.name < $1.name }, to: "postgresql:///")
    }
}

extension FunctionEnvironment {
    /// - Parameters:
    ///   - connection: The libpq connection string of the service.
    ///   - port: The port that the service listens on.
    init(_ settings: Settings, keys: ServiceKeys, connection: String, port: Int) {
        let databaseURL =
            switch settings.functions.database {
            case .service: Self.databaseURL(ofConnection: connection)
            case .nothing: String?.none
            case .url(let url): Self.databaseURL(ofConnection: url)
            }
        self.init(
            endpoint: settings.listeningURL(port: port),
            apiKey: keys.apiKeys[0],
            masterKey: keys.masterKeys[0],
            schema: settings.database.schema,
            databaseURL: databaseURL,
            filePrefix: settings.fileURLPrefix(port: port),
            fileSecret: settings.files.secret,
            logLevel: settings.logging.level
        )
    }
}
