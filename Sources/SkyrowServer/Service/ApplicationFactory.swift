import CoreMetrics
import Logging
import SkyrowActions
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowSystem
import Synchronization

/// Makes the applications of a service, each with its own settings.
struct ApplicationFactory: Sendable {
    let loader: SettingsLoader
    /// The keys of the default application.
    let keys: ServiceKeys
    let client: PostgresClient
    /// The schema of the default application.
    let schema: SQLIdentifier
    /// The port that the service listens on.
    let port: Int
    let logger: Logger
    let metrics: any MetricsFactory
    /// The function servers of the default application; nil for none.
    let functions: FunctionServers?
    /// The state shared by all applications, made with the first one.
    private let shared = SharedOnce()

    /// The applications, initially all closed.
    var applications: Applications {
        Applications(registry: registry, logger: logger) { [self] registered in
            do {
                return try await opened(registered)
            } catch let error as PostgresError where registered != nil && SkyrowError(error).code == .overloaded {
                // The first request of an application gets the same error as any other while the database is unavailable.
                throw SkyrowError(error)
            }
        }
    }

    private var registry: ApplicationRegistry {
        ApplicationRegistry(client: client, defaultSchema: schema, logger: logger)
    }

    /// Applies new limits to the open applications whose settings can be read.
    func reload(_ applications: Applications) {
        for (name, opened) in applications.allOpen {
            guard let settings = try? loader.load(of: name, stored: opened.settings) else { continue }
            opened.actions.rateLimiter.limits = RateLimits(settings)
        }
    }

    /// Migrates the application's tables and makes its actions.
    private func opened(_ registered: RegisteredApplication?) async throws -> Applications.Opened {
        let name = registered?.name ?? .default
        let schema = registered?.schema ?? schema
        var stored: [String: String] = [:]
        if name != .default {
            let migration = MigrationRun(client: client, schema: schema, logger: logger)
            // Tables dropped by hand are not recreated silently without their records.
            let isThere: Bool
            do {
                isThere = try await !migration.pendingSteps().contains(.install)
            } catch MigrationError.schemaIsTaken {
                // One of the two schemas is missing.
                isThere = false
            }
            guard isThere else {
                throw ToolError.failure(
                    "The schema \(schema.name) does not contain the tables of the application \(name)."
                )
            }
            try await migration()
            stored = try await registry.settings(of: schema)
        }
        let settings = try loader.load(of: name, stored: stored)
        try settings.refusePublicDevelopment()
        let store = RecordStore(
            client: client,
            schema: schema,
            mode: settings.records.isDevelopment ? .development : .production,
            loginKeys: settings.accounts.loginKeys,
            loginKeyReaders: settings.accounts.loginKeyReaders,
            sharedAccessLists: settings.records.sharedAccessLists,
            accessListReaders: settings.records.accessListReaders,
            defaultAccess: settings.records.defaultAccess,
            maximumAccessEntries: settings.records.maximumAccessEntries,
            sealingKeys: try settings.keys.sealingKeys(),
            rulesPatience: TestPatience.isSet ? .seconds(3600) : RecordStore.rulesPatience,
            logger: logger
        )
        try await store.prepare()
        var configuration = ServiceConfiguration(name == .default ? keys : nil, settings)
        configuration.passwords.breached = try settings.accounts.breachedPasswords()
        configuration.mail = try settings.mail.configuration(of: name.rawValue)
        configuration.providers = try settings.providers.configuration(ProviderSurroundings(settings))
        configuration.customTokenKeys = settings.providers.customTokenKeys
        if settings.files.storage == .s3 {
            let requests = S3Metrics(of: name, factory: metrics)
            configuration.files = try await settings.fileConfiguration(of: name, port: port, observe: requests.count)
        } else {
            configuration.files = try await settings.fileConfiguration(of: name, port: port)
        }
        if name == .default { configuration.functions = functions?.configuration }
        configuration.functionTimeout = settings.functions.timeout
        let actions = ActionService(
            store: store,
            configuration: configuration,
            application: name,
            shared: shared.value,
            logger: logger,
            metrics: metrics
        )
        try await actions.prepareFunctions()
        shared.setIfNil(SharedCapacity(of: actions))
        return Applications.Opened(actions: actions, settings: stored)
    }
}

/// The shared state. The default application is opened first and sets it for the others.
private final class SharedOnce: Sendable {
    private let capacity = Mutex<SharedCapacity?>(nil)

    var value: SharedCapacity? { capacity.withLock { $0 } }

    func setIfNil(_ value: SharedCapacity) {
        capacity.withLock { if $0 == nil { $0 = value } }
    }
}
