import Glibc
import NIOCore
import SkyrowActions
import SkyrowHTTP
import SkyrowModel
package import SkyrowPostgres

// The configuration of each service part, from the settings.

extension Settings {
    /// Returns the address at which clients on this machine reach the service, such as `http://127.0.0.1:3000`.
    ///
    /// - Parameter port: The actual port, even if the setting is 0.
    func listeningURL(port: Int) -> String {
        let host =
            switch self.listening.host {
            case "0.0.0.0", "::": "localhost"
            case let host: host.contains(":") ? "[\(host)]" : host
            }
        return "\(self.tls.files == nil ? "http" : "https")://\(host):\(port)"
    }
}

extension HTTPLimits {
    /// - Parameter files: The process's limit of open files.
    package init(_ settings: Settings, files: Int) {
        let listening = settings.listening
        let times = settings.times
        self.init(
            body: listening.maximumBody,
            bodiesInMemory: listening.maximumBodyMemory,
            clientShare: listening.clientShare,
            bodyRate: listening.minimumBodyRate,
            unreadResponses: listening.maximumUnreadMemory,
            responseBytes: listening.maximumAnswer,
            responseMemory: listening.maximumAnswerMemory,
            headerField: min(HTTPLimits().headerField, listening.maximumHeader),
            headerList: listening.maximumHeader,
            connections: FileLimit.connections(wanted: listening.maximumConnections, files: files),
            handshake: TimeAmount(times.header),
            firstHead: TimeAmount(times.header),
            idle: TimeAmount(times.idle),
            bodyTime: TimeAmount(times.body),
            response: TimeAmount(times.response),
            writeStall: TimeAmount(times.write),
            shutdown: TimeAmount(times.shutdown),
            live: LiveLimits(settings)
        )
    }
}

extension ClientIdentification {
    package init(_ settings: Settings) {
        self.init(
            proxies: TrustedProxies(settings.proxies.trusted, header: settings.proxies.header),
            ipv6PrefixLength: settings.listening.ipv6Prefix,
            masterNetworks: settings.proxies.masterNetworks
        )
    }
}

extension PostgresConfiguration {
    package init(connection: String, _ settings: Settings) {
        self.init(connection: connection)
        let pools = settings.pools
        let times = settings.times
        // Applications share the connections, so unqualified names must not resolve to one application's schema.
        searchPath = []
        // PostgreSQL compiles statements with a high estimated cost, and the compilation takes longer than any of these
        // statements: reading the catalogue took 140 ms instead of 15.
        sessionSettings["jit"] = "off"
        preparedStatements = settings.database.preparedStatements.map { $0 ? .always : .never } ?? .whereKept
        if settings.database.url != nil {
            listenConnection = settings.database.listenURL
            replicationConnection = settings.database.replicationURL
        } else {
            // Client statements run as a role without REPLICATION.
            replicationConnection = "\(connection) user=\(ClusterRole.replication.rawValue)"
        }
        readConnections = pools.readConnections
        maximumReadConnections = pools.maximumReadConnections
        maximumWriteConnections = pools.maximumWriteConnections
        maximumTransactionConnections = pools.maximumTransactionConnections
        maximumQueueLength = pools.maximumQueue
        connectTimeout = times.connect
        acquireTimeout = times.acquire
        statementTimeout = times.statement
        readTimeout = times.readStatement
        drainTimeout = min(drainTimeout, times.shutdown)
        idleTransactionTimeout = times.idleTransaction
        if TestPatience.isSet { tableLockTimeout = .milliseconds(500) }
    }
}

extension ServiceConfiguration {
    /// - Parameter keys: The keys of the default application; nil for applications with keys in the database.
    package init(_ keys: ServiceKeys?, _ settings: Settings) {
        let accounts = settings.accounts
        self.init(
            keys: keys?.given,
            tokenLifetime: accounts.sessionAbsolute,
            sessionIdle: accounts.sessionIdle,
            sessionLimit: accounts.sessionLimit,
            sessionRotation: accounts.sessionRotate,
            sessionCacheSize: accounts.sessionCache,
            factorIssuer: accounts.factorIssuer,
            stepUp: accounts.stepUp,
            auditRetention: accounts.auditRetention,
            passwords: PasswordConfiguration(
                threads: accounts.passwordThreads ?? PasswordThreads.ofThisMachine(),
                queueLimit: accounts.passwordQueue,
                queueShare: accounts.passwordQueueShare,
                guesses: GuessLimits(
                    client: accounts.guessLimitClient,
                    account: accounts.guessLimitAccount,
                    total: accounts.guessLimitTotal
                )
            ),
            accounts: AccountPolicy(settings),
            accountLife: AccountLifePolicy(
                admitsAnonymous: accounts.anonymous,
                admitsSelfSignUp: accounts.selfSignUp,
                anonymousExpiry: accounts.anonymousExpiry,
                deletedUsers: accounts.userDeletion
            ),
            verification: settings.mail.verification,
            admitsLinkLogIn: settings.mail.linkLogIn,
            rateLimits: RateLimits(settings),
            reads: ReadLimits(
                running: settings.pools.maximumReads,
                joins: settings.pools.joinConcurrency,
                scans: settings.pools.scanConcurrency ?? max(System.coreCount, 2),
                waiting: settings.pools.maximumQueue,
                share: ClientShare(percent: settings.listening.clientShare),
                patience: settings.times.acquire
            ),
            scans: settings.pools.scans,
            groupRule: accounts.groupRule,
            relationAudience: accounts.relationAudience,
            feedRetention: settings.records.feedRetention,
            live: LiveConfiguration(settings),
            fileCacheSize: FileLimit.cachedFiles(files: FileLimit.raise())
        )
    }
}

extension LiveConfiguration {
    package init(_ settings: Settings) {
        let records = settings.records
        // The connection's event loop may hold as many bytes again.
        self.init(
            source: records.changeSource,
            pollInterval: records.livePollInterval,
            outletBuffer: 2 * settings.liveConnections.buffer
        )
        limits.scans = records.liveScanLimit
        limits.members = records.liveMembers
        limits.transactionRows = records.liveTransactionLimit
        limits.memory = records.liveQueryMemory
        limits.share = ClientShare(percent: settings.listening.clientShare)
    }
}

extension AccountPolicy {
    package init(_ settings: Settings) {
        let accounts = settings.accounts
        self.init(
            passwords: PasswordPolicy(
                minimumLength: accounts.passwordMinimum,
                classes: accounts.passwordClasses,
                excludedWords: accounts.passwordExcluded,
                excludedFields: accounts.passwordExcludedFields,
                minimumStrength: accounts.passwordStrength,
                historySize: accounts.passwordHistory,
                maximumAge: accounts.passwordMaximumAge
            ),
            loginScripts: accounts.loginScripts,
            admitsPasswords: accounts.passwordLogIn
        )
    }
}

extension RateLimits {
    package init(_ settings: Settings) {
        let limits = settings.rateLimits
        self.init(client: limits.client, user: limits.user, login: limits.login)
    }
}

extension SettingValues<LoggingSettings> {
    /// Whether log lines are text rather than JSON.
    var isText: Bool {
        switch self.format {
        case .automatic: isatty(STDERR_FILENO) == 1
        case .json: false
        case .text: true
        }
    }
}
