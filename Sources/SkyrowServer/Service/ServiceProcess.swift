import Glibc
import Logging
import ServiceLifecycle
import SkyrowActions
import SkyrowHTTP
import SkyrowPostgres
import SkyrowStore
import UnixSignals

/// The service as one process: its parts in the order in which each needs the one before.
struct ServiceProcess: Sendable {
    private let loader: SettingsLoader
    private let settings: Settings
    private let level: SharedLogLevel
    /// How the tool was called, for the lines that show how to call it again.
    private let program: String

    /// Throws ``ToolError`` about the first setting that is wrong.
    init(_ loader: SettingsLoader, program: String) throws(ToolError) {
        self.loader = loader
        self.program = program
        settings = try loader.load()
        try settings.refusePublicDevelopment()
        level = SharedLogLevel(settings.logging.level)
    }

    /// Serves until SIGTERM or SIGINT, then finishes what it accepted.
    ///
    /// Throws ``ToolError`` when it cannot start, or a part of it failed.
    func run() async throws(ToolError) {
        // A client or a terminal that went away is no reason to end.
        signal(SIGPIPE, SIG_IGN)
        MemoryTrimming.configure()
        BatchScheduling.adopt()
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let log = LogOutput(descriptor: STDERR_FILENO)
        defer { log.flush() }
        let logger = makeLogger(to: log)
        let certificate = try serverCertificate(logger: logger)
        let directory = try DataDirectory(creating: settings.database.dataDirectory)
        let embedded = try await embeddedPostgres(in: directory, logger: logger)
        do {
            try await serve(
                embedded,
                certificate: certificate,
                directory: directory,
                hangups: hangups,
                logger: logger,
                log: log
            )
        } catch {
            // The group ends its services when one of them fails, but not when it was never run.
            await embedded?.stop()
            throw error
        }
    }

    private func serve(
        _ embedded: EmbeddedPostgres?,
        certificate: ServerCertificate?,
        directory: DataDirectory,
        hangups: UnixSignalsSequence,
        logger: Logger,
        log: LogOutput
    ) async throws(ToolError) {
        let keys = try ServiceKeys.resolve(
            apiKey: settings.keys.apiKey,
            masterKey: settings.keys.masterKey,
            file: directory.keys
        )
        let observability = try Observability(settings, keys: keys, logger: logger)
        defer { observability.flush() }
        let connection = embedded?.address.connection() ?? settings.database.url ?? ""
        let (client, schema) = try makeClient(connection: connection, settings, logger: logger) {
            $0.reporting = observability.reporting
        }
        let store = RecordStore(
            client: client,
            schema: schema,
            mode: settings.records.isDevelopment ? .development : .production,
            loginKeys: settings.accounts.loginKeys,
            loginKeyReaders: settings.accounts.loginKeyReaders,
            sharedAccessLists: settings.records.sharedAccessLists,
            maximumAccessEntries: settings.records.maximumAccessEntries,
            logger: logger
        )
        let actions = ActionService(
            store: store,
            configuration: ServiceConfiguration(keys, settings),
            logger: logger,
            metrics: observability.registry
        )
        let prepared = StoreService(store: store)
        let limits = connectionLimits(logger: logger)
        let counts = HTTPServerCounts(limits: limits)
        let page = observability.page(client: client, store: store, actions: actions, http: counts, log: log)
        let drain = Drain(time: settings.times.drain)
        let clients = ClientIdentification(settings)
        let server = HTTPServer(
            address: .host(settings.listening.host, port: settings.listening.port),
            limits: limits,
            certificate: certificate,
            responder: ServiceResponder(
                service: actions,
                cors: settings.listening.corsOrigins,
                clients: clients,
                strictTransport: settings.tls.strictTransport,
                drain: drain,
                limits: limits,
                logger: logger,
                requestLog: settings.logging.isText ? nil : log,
                metrics: observability.registry,
                metricsPage: observability.isOnServicePort ? page : nil,
                tracing: observability.tracing
            ),
            clients: clients,
            counts: counts,
            logger: logger
        ) { port in
            announce(keys, port: port ?? settings.listening.port, directory: directory)
            StartupMemory.release()
        }
        // Shutdown goes the other way: first the service says that it will end, then the server stops, the database last.
        var services: [any Service] = [
            client, prepared, PreparedService(actions, after: prepared), PreparedService(server, after: prepared),
        ]
        if let metrics = observability.server(page: page, service: actions) { services.insert(metrics, at: 1) }
        if let certificate { services.append(certificate) }
        services += [drain, MemoryTrimming()]
        if let embedded { services.insert(embedded, at: 0) }
        let reload = SettingsReload(
            signals: hangups,
            loader: loader,
            settings: settings,
            certificate: certificate,
            logger: logger
        ) {
            level.level = $0.logging.level
            actions.rateLimiter.limits = RateLimits($0)
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup) } + [
                    .init(service: reload, successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        do {
            try await group.run()
        } catch {
            throw ToolError(serviceFailure: error, settings: settings)
        }
    }

    private func embeddedPostgres(in directory: DataDirectory, logger: Logger) async throws(ToolError)
        -> EmbeddedPostgres?
    {
        if settings.database.url != nil { return nil }
        switch try DataDirectoryLock.take(in: directory) {
        case .taken(let lock):
            return try await EmbeddedPostgres(in: directory, lock: lock, logger: logger)
        case .held(let process):
            let holder = process.map { " (process \($0))" } ?? ""
            throw .failure(
                "The data directory \(directory.path) is in use by another skyrow\(holder): end that one, or give another "
                    + "--data-directory."
            )
        }
    }

    private func connectionLimits(logger: Logger) -> HTTPLimits {
        let limits = HTTPLimits(settings, files: FileLimit.raise())
        let wanted = settings.listening.maximumConnections
        if limits.connections < wanted {
            logger.warning(
                "Fewer clients can be connected than maximum-connections says: raise the limit of open files",
                metadata: ["connections": "\(limits.connections)", "maximum-connections": "\(wanted)"]
            )
        }
        return limits
    }

    private func serverCertificate(logger: Logger) throws(ToolError) -> ServerCertificate? {
        guard let files = settings.tls.files else { return nil }
        do {
            return try ServerCertificate(files, logger: logger)
        } catch {
            throw .failure("TLS cannot be served: \(error)")
        }
    }

    private func announce(_ keys: ServiceKeys, port: Int, directory: DataDirectory) {
        let announcement = Announcement(
            settings: settings,
            keys: keys,
            port: port,
            directory: directory,
            program: program
        )
        print(announcement.text)
        fflush(nil)
        if keys.areNew { ServiceKeys.announced(file: directory.keys) }
    }

    /// A logger whose level SIGHUP can change.
    private func makeLogger(to output: LogOutput) -> Logger {
        // What a part of the service logs while it works on a request carries the request's id.
        let provider = RequestTrace.metadataProvider
        let isText = settings.logging.isText
        return Logger(label: "skyrow") { label -> any LogHandler in
            isText
                ? SharedLevelLogHandler(
                    StreamLogHandler.standardError(label: label, metadataProvider: provider),
                    level: level
                )
                : SharedLevelLogHandler(JSONLogHandler(output: output, metadataProvider: provider), level: level)
        }
    }
}

/// A client of the application's database, which `run()` must be called on.
func makeClient(
    connection: String,
    _ settings: Settings,
    logger: Logger,
    adjust: (inout PostgresConfiguration) -> Void = { _ in }
) throws(ToolError) -> (PostgresClient, schema: SQLIdentifier) {
    let schema: SQLIdentifier
    do {
        schema = try SQLIdentifier(settings.database.schema)
    } catch {
        throw .usage("\(error)")
    }
    var configuration = PostgresConfiguration(connection: connection, schema: schema, settings)
    configuration.applicationName = PostgresConfiguration.serviceName(of: schema)
    adjust(&configuration)
    return (PostgresClient(configuration: configuration, logger: logger), schema)
}
