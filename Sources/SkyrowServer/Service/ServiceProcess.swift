import CoreMetrics
import Glibc
package import Logging
import ServiceLifecycle
import SkyrowActions
import SkyrowConcurrency
import SkyrowHTTP
package import SkyrowPostgres
import SkyrowStore
package import SkyrowSystem
import UnixSignals

/// The service process: its services in dependency order.
package struct ServiceProcess: Sendable {
    private let loader: SettingsLoader
    package let settings: Settings
    private let level: SharedLogLevel
    /// The command line name of the tool, for suggested commands.
    private let program: String

    /// Throws ``ToolError`` for the first invalid setting.
    package init(_ loader: SettingsLoader, program: String) throws(ToolError) {
        self.loader = loader
        self.program = program
        settings = try loader.load()
        try settings.refusePublicDevelopment()
        level = SharedLogLevel(settings.logging.level)
    }

    /// The resources acquired before the database is available, made by ``run(announce:)``.
    private struct Ground: Sendable {
        let directory: DataDirectory
        /// nil for a database given by its address.
        let embedded: EmbeddedPostgres?
        let socket: BoundSocket
        let metricsSocket: BoundSocket?
        let certificate: ServerCertificate?
        let hangups: UnixSignalsSequence
        let functionServers: [FunctionServerPlan]
        let logger: Logger
        let log: LogOutput
    }

    /// Serves until SIGTERM or SIGINT, then finishes the accepted requests.
    ///
    /// Throws ``ToolError``, `ListenError` or `PostgresError` if the start fails, and the error of any service that fails.
    ///
    /// - Parameter announce: Called when the service accepts connections.
    package func run(announce: @escaping @Sendable (Announcement) -> Void) async throws {
        // A disconnected client or terminal must not end the process.
        signal(SIGPIPE, SIG_IGN)
        MemoryTrimming.configure()
        BatchScheduling.adopt()
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let log = LogOutput(descriptor: STDERR_FILENO)
        defer { log.flush() }
        let logger = makeLogger(to: log)
        let certificate = try serverCertificate(logger: logger)
        let directory = try DataDirectory(creating: settings.database.dataDirectory)
        let functionServers = try settings.functionServers(in: directory)
        let lock = try dataDirectoryLock(of: directory)
        // The port is bound first, so that no cluster is made for a service that cannot start.
        let socket = try BoundSocket(host: settings.listening.host, port: settings.listening.port)
        let metricsSocket = try MetricsServer.socket(settings)
        let embedded: EmbeddedPostgres? =
            if let lock {
                try await EmbeddedPostgres(
                    in: directory,
                    lock: lock,
                    toolPort: settings.database.embeddedPort,
                    logger: logger
                )
            } else {
                nil
            }
        do {
            let ground = Ground(
                directory: directory,
                embedded: embedded,
                socket: socket,
                metricsSocket: metricsSocket,
                certificate: certificate,
                hangups: hangups,
                functionServers: functionServers,
                logger: logger,
                log: log
            )
            try await serve(on: ground, announce: announce)
        } catch {
            // The service group stops its services if one fails, but not if the group never ran.
            await embedded?.stop()
            throw error
        }
    }

    private func serve(on ground: Ground, announce: @escaping @Sendable (Announcement) -> Void) async throws {
        let keys = try ServiceKeys.resolve(
            apiKeys: settings.keys.apiKey,
            masterKeys: settings.keys.masterKey,
            file: ground.directory.keys
        )
        let observability = try Observability(settings, keys: keys, logger: ground.logger)
        defer { observability.flush() }
        let connection = ground.embedded?.address.connection() ?? settings.database.url ?? ""
        let (client, schema) = try makeClient(connection: connection, settings, logger: ground.logger) {
            $0.reporting = observability.reporting
        }
        let port = ground.socket.port ?? settings.listening.port
        let functions = functionServers(on: ground, keys, connection, port: port, metrics: observability.registry)
        let factory = ApplicationFactory(
            loader: loader,
            keys: keys,
            client: client,
            schema: schema,
            port: port,
            logger: ground.logger,
            metrics: observability.registry,
            functions: functions
        )
        let applications = factory.applications
        let limits = connectionLimits(logger: ground.logger)
        let counts = HTTPServerCounts(limits: limits)
        let page = observability.page(client: client, applications: applications, http: counts, log: ground.log)
        let drain = Drain(time: settings.times.drain) {
            for (_, opened) in applications.allOpen { opened.actions.endWaits() }
        }
        let responder = makeResponder(
            applications,
            on: ground,
            observability,
            page: page,
            drain: drain,
            limits: limits,
            connections: counts.live
        )
        let isServing = Deferred<Bool>()
        let server = makeServer(responder, on: ground, limits: limits, counts: counts) { port in
            isServing.settle(true)
            if ground.embedded != nil { await letToolsIn(client, schema, on: ground) }
            // If this cannot be determined, new keys count as a first start.
            let migration = MigrationRun(client: client, schema: schema, logger: ground.logger)
            let isFilled = keys.areNew ? (try? await migration.isFilled()) ?? false : false
            let showsKeys = isatty(STDOUT_FILENO) == 1
            // If the keys are not shown, the announced commands read them from this file.
            if keys.areNew, !showsKeys { ServiceKeys.announced(file: ground.directory.keys) }
            announce(
                Announcement(
                    settings: settings,
                    keys: keys,
                    port: port,
                    directory: ground.directory,
                    program: program,
                    isFirstStart: keys.areNew && !isFilled,
                    showsKeys: showsKeys
                )
            )
            if keys.areNew, showsKeys { ServiceKeys.announced(file: ground.directory.keys) }
            StartupMemory.release()
        }
        // The services are in dependency order. Shutdown runs in reverse: the drain first, then the server, the database last.
        let prepared = ApplicationsService(applications)
        var services: [any Service] = []
        if let embedded = ground.embedded { services.append(embedded) }
        services.append(DatabaseService(client: client))
        let clients = ClientIdentification(settings)
        let metrics = observability.server(
            page: page,
            socket: ground.metricsSocket,
            applications: applications,
            clients: clients
        )
        if let metrics { services.append(metrics) }
        services.append(prepared)
        if let functions {
            services.append(FunctionService(servers: functions, applications: applications, isServing: isServing))
        }
        services.append(PreparedService(server, after: prepared))
        if let certificate = ground.certificate { services.append(certificate) }
        services += [drain, MemoryTrimming()]
        try await run(services, until: reload(of: applications, factory, on: ground), logger: ground.logger)
    }

    /// Makes the function servers; nil without any.
    private func functionServers(
        on ground: Ground,
        _ keys: ServiceKeys,
        _ connection: String,
        port: Int,
        metrics: any MetricsFactory
    ) -> FunctionServers? {
        guard !ground.functionServers.isEmpty else { return nil }
        let surroundings = FunctionServers.Surroundings(
            environment: FunctionEnvironment(settings, keys: keys, connection: connection, port: port),
            variables: loader.environment,
            masterKey: keys.masterKeys[0],
            metrics: metrics,
            logger: ground.logger
        )
        return FunctionServers(ground.functionServers, surroundings, settings)
    }

    /// Lets PostgreSQL tools find the tables without a schema name, and log in if a port is set.
    private func letToolsIn(_ client: PostgresClient, _ schema: SQLIdentifier, on ground: Ground) async {
        do {
            try await ToolAccess.setSearchPath(to: schema, client: client)
            guard settings.database.embeddedPort != nil else { return }
            try await ToolAccess.setPassword(try ToolAddress.password(in: ground.directory), client: client)
        } catch {
            ground.logger.warning("The database is not available to tools", metadata: ["reason": "\(error)"])
        }
    }

    private func makeResponder(
        _ applications: Applications,
        on ground: Ground,
        _ observability: Observability,
        page: MetricsPage?,
        drain: Drain,
        limits: HTTPLimits,
        connections: LiveConnections
    ) -> ServiceResponder {
        ServiceResponder(
            applications: applications,
            cors: settings.listening.corsOrigins,
            clients: ClientIdentification(settings),
            strictTransport: settings.tls.strictTransport,
            drain: drain,
            limits: limits,
            connections: connections,
            logger: ground.logger,
            requestLog: settings.logging.isText ? nil : ground.log,
            metrics: observability.registry,
            metricsPage: observability.isOnServicePort ? page : nil,
            tracing: observability.tracing
        )
    }

    /// - Parameter listening: Called with the port when the server accepts connections.
    private func makeServer(
        _ responder: ServiceResponder,
        on ground: Ground,
        limits: HTTPLimits,
        counts: HTTPServerCounts,
        listening: @escaping @Sendable (Int) async -> Void
    ) -> HTTPServer {
        HTTPServer(
            host: settings.listening.host,
            port: settings.listening.port,
            socket: ground.socket,
            limits: limits,
            certificate: ground.certificate,
            responder: responder,
            clients: ClientIdentification(settings),
            counts: counts,
            logger: ground.logger,
            onRunning: listening
        )
    }

    private func reload(
        of applications: Applications,
        _ factory: ApplicationFactory,
        on ground: Ground
    ) -> SettingsReload {
        SettingsReload(
            signals: ground.hangups,
            loader: loader,
            settings: settings,
            certificate: ground.certificate,
            logger: ground.logger
        ) { [level] in
            level.level = $0.logging.level
            factory.reload(applications)
            factory.functions?.reload("SIGHUP")
        }
    }

    private func run(_ services: [any Service], until reload: SettingsReload, logger: Logger) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup) } + [
                    .init(service: reload, successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        try await group.run()
    }

    /// Takes the lock; nil for a database given by its address.
    private func dataDirectoryLock(of directory: DataDirectory) throws(ToolError) -> DataDirectoryLock? {
        if settings.database.url != nil { return nil }
        switch try DataDirectoryLock.take(in: directory) {
        case .taken(let lock): return lock
        case .held(let process):
            let holder = process.map { " (process \($0))" } ?? ""
            throw .failure(
                "The data directory \(directory.path) is in use by another skyrow\(holder): stop that one, or specify another "
                    + "--data-directory."
            )
        }
    }

    private func connectionLimits(logger: Logger) -> HTTPLimits {
        let limits = HTTPLimits(settings, files: FileLimit.raise())
        let wanted = settings.listening.maximumConnections
        if limits.connections < wanted {
            logger.warning(
                "The limit of open files allows fewer connections than maximum-connections: raise the limit",
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
            throw .failure("TLS cannot be configured: \(error)")
        }
    }

    /// Makes a logger with a level that SIGHUP can change.
    private func makeLogger(to output: LogOutput) -> Logger {
        // Log lines written during a request include its id.
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

/// Makes a client of the applications' database, whose `run()` the caller must call, and returns the default schema.
package func makeClient(
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
    var configuration = PostgresConfiguration(connection: connection, settings)
    configuration.applicationName = PostgresConfiguration.serviceName(of: schema)
    // The embedded database's default search path is for interactive tools, so the service sets its own.
    if settings.database.url == nil { configuration.sessionSettings["search_path"] = #""$user", public"# }
    adjust(&configuration)
    return (PostgresClient(configuration: configuration, logger: logger), schema)
}
