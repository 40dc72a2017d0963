package import SkyrowModel

/// The configuration of a service; every value has a default.
package struct ServiceConfiguration: Sendable {
    package static let defaultSessionLimit = 50
    package static let defaultFileCacheSize = 256

    /// The API keys and master keys; nil if all keys are in the database.
    package var keys: GivenKeys?
    /// How long a session lasts, however it is used; nil means forever.
    package var tokenLifetime: Duration?
    /// How long a session may be unused; nil means forever.
    package var sessionIdle: Duration?
    /// Upper bound on the sessions of a user; a further one ends the one unused for longest.
    package var sessionLimit: Int
    /// How long a used session keeps its token before it gets another one; nil means forever.
    package var sessionRotation: Duration?
    /// Upper bound on cached sessions.
    package var sessionCacheSize: Int
    /// How long a cached session is used without a query of the database.
    ///
    /// At most one second, so that every process applies a logout by then.
    package var sessionFreshness: Duration
    /// The issuer in authenticator applications; nil for the name of the application.
    package var factorIssuer: String?
    /// Actions that require step-up in addition to those that always do.
    package var stepUp: Set<ActionName>
    /// How long the audit log is kept; nil means forever.
    package var auditRetention: Duration?
    package var passwords: PasswordConfiguration
    /// The rules for new passwords and login keys.
    package var accounts: AccountPolicy
    /// The rules for creating and expiring accounts.
    package var accountLife: AccountLifePolicy
    /// How mail is sent; nil for no mail.
    package var mail: MailConfiguration?
    /// Whether addresses are verified, which requires mail.
    package var verification: AddressVerification
    /// Whether codes in mails log in, which requires mail.
    package var admitsLinkLogIn: Bool
    /// The providers that users are authenticated by.
    package var providers: [ProviderConfiguration]
    /// The keys with which servers of the application sign tokens.
    package var customTokenKeys: [CustomTokenKey]
    /// The initial limits; ``ActionService/rateLimiter`` changes them later.
    package var rateLimits: RateLimits
    package var reads: ReadLimits
    package var scans: ScanPolicy
    /// Who changes the groups of users.
    package var groupRule: GroupRule
    /// The users that may be added as friends or followed.
    package var relationAudience: RelationAudience
    /// How long change tokens are valid and tombstones are kept.
    package var feedRetention: Duration
    /// Upper bound on the requests that wait for changes.
    package var feedWaiting: Int
    /// The configuration of live queries.
    package var live: LiveConfiguration
    /// The files of the application; nil for none.
    package var files: FileConfiguration?
    /// Upper bound on the files that stay open after their download, of all applications of the process.
    package var fileCacheSize: Int
    /// The function servers of the application; nil for none.
    package var functions: FunctionConfiguration?
    /// The longest time of a function of the database that has none of itself.
    package var functionTimeout: Duration

    package init(
        keys: GivenKeys? = nil,
        tokenLifetime: Duration? = .seconds(365 * 86_400),
        sessionIdle: Duration? = .seconds(90 * 86_400),
        sessionLimit: Int = defaultSessionLimit,
        sessionRotation: Duration? = nil,
        sessionCacheSize: Int = 10_000,
        sessionFreshness: Duration = .seconds(1),
        factorIssuer: String? = nil,
        stepUp: Set<ActionName> = [],
        auditRetention: Duration? = .seconds(400 * 86_400),
        passwords: PasswordConfiguration = PasswordConfiguration(),
        accounts: AccountPolicy = AccountPolicy(),
        accountLife: AccountLifePolicy = AccountLifePolicy(),
        mail: MailConfiguration? = nil,
        verification: AddressVerification = .off,
        admitsLinkLogIn: Bool = false,
        providers: [ProviderConfiguration] = [],
        customTokenKeys: [CustomTokenKey] = [],
        rateLimits: RateLimits = .none,
        reads: ReadLimits = ReadLimits(),
        scans: ScanPolicy = .allow,
        groupRule: GroupRule = GroupRule(),
        relationAudience: RelationAudience = .readable,
        feedRetention: Duration = .seconds(30 * 86_400),
        feedWaiting: Int = 1000,
        live: LiveConfiguration = LiveConfiguration(),
        files: FileConfiguration? = nil,
        fileCacheSize: Int = defaultFileCacheSize,
        functions: FunctionConfiguration? = nil,
        functionTimeout: Duration = .seconds(10)
    ) {
        self.keys = keys
        self.tokenLifetime = tokenLifetime
        self.sessionIdle = sessionIdle
        self.sessionLimit = sessionLimit
        self.sessionRotation = sessionRotation
        self.sessionCacheSize = sessionCacheSize
        self.sessionFreshness = sessionFreshness
        self.factorIssuer = factorIssuer
        self.stepUp = stepUp
        self.auditRetention = auditRetention
        self.passwords = passwords
        self.accounts = accounts
        self.accountLife = accountLife
        self.mail = mail
        self.verification = verification
        self.admitsLinkLogIn = admitsLinkLogIn
        self.providers = providers
        self.customTokenKeys = customTokenKeys
        self.rateLimits = rateLimits
        self.reads = reads
        self.scans = scans
        self.groupRule = groupRule
        self.relationAudience = relationAudience
        self.feedRetention = feedRetention
        self.feedWaiting = feedWaiting
        self.live = live
        self.files = files
        self.fileCacheSize = fileCacheSize
        self.functions = functions
        self.functionTimeout = functionTimeout
    }
}

/// The configured keys of a service: one of each kind, and a second one during a change.
package struct GivenKeys: Sendable {
    package var api: [Secret]
    package var master: [Secret]

    package init(api: [Secret], master: [Secret]) {
        self.api = api
        self.master = master
    }

    package init(api: Secret, master: Secret) {
        self.init(api: [api], master: [master])
    }
}

/// The configuration of password hashing.
package struct PasswordConfiguration: Sendable {
    /// The cost of a new hash; a stored hash of a lower cost is replaced at the next login.
    package var cost: ScryptCost
    /// The number of threads that only hash.
    package var threads: Int
    /// Upper bound on waiting logins; half as many sign-ups may wait. Further ones are refused with `135 Overloaded`.
    package var queueLimit: Int
    /// Upper bound on waiting ones of a client; further ones are refused with `131 RateLimited`.
    package var queueShare: Int
    /// The maximum time in the queue, after which `135 Overloaded` is thrown.
    package var patience: Duration
    /// The limits on guesses of passwords.
    package var guesses: GuessLimits
    /// The list of leaked passwords, which no account may get; nil without a list.
    package var breached: BreachedPasswords?

    package init(
        cost: ScryptCost = .default,
        threads: Int = 1,
        queueLimit: Int = 64,
        queueShare: Int = 4,
        patience: Duration = .seconds(15),
        guesses: GuessLimits = GuessLimits(),
        breached: BreachedPasswords? = nil
    ) {
        self.cost = cost
        self.threads = threads
        self.queueLimit = queueLimit
        self.queueShare = queueShare
        self.patience = patience
        self.guesses = guesses
        self.breached = breached
    }
}

/// The work factors of scrypt (RFC 7914): memory is 128·N·r bytes, time grows with N·r·p.
package struct ScryptCost: Hashable, Sendable {
    /// The base-2 logarithm of N.
    package var logN: Int
    package var r: Int
    package var p: Int

    /// N=2^15, r=8, p=3: 32 MiB and about a quarter of a second, one of the equally strong settings of OWASP's cheat sheet; the
    /// one with N=2^17 would take 128 MiB at a time.
    package static let `default` = ScryptCost(logN: 15, r: 8, p: 3)

    /// The memory that computing one hash takes.
    package var memoryBytes: Int { 128 * r << logN }
}
