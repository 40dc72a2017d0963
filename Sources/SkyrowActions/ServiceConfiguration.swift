package import SkyrowModel

/// How a service is to behave; every value has a default.
package struct ServiceConfiguration: Sendable {
    /// The keys that let clients in, and those that pass every rule; nil where the database alone has keys.
    package var keys: GivenKeys?
    /// How long a session lasts, whatever use is made of it; nil means for ever.
    package var tokenLifetime: Duration?
    /// How long a session may go unused; nil means for ever.
    package var sessionIdle: Duration?
    /// How many sessions a user may have; a further one ends the one unused for longest.
    package var sessionLimit: Int
    /// After how long a session that is used gets another token; nil means that it keeps its own.
    package var sessionRotation: Duration?
    /// How many sessions are remembered between requests.
    package var sessionCacheSize: Int
    /// How long a remembered session counts without asking the database.
    ///
    /// More than one second counts as one second, so that a logout anywhere is seen everywhere by then.
    package var sessionFreshness: Duration
    /// What applications for codes by time call the service; nil for the name of the application.
    package var factorIssuer: String?
    /// What takes step-up besides what always does.
    package var stepUp: Set<ActionName>
    /// How long what happened to accounts is kept; nil means for ever.
    package var auditRetention: Duration?
    package var passwords: PasswordConfiguration
    /// What new passwords and login keys must be.
    package var accounts: AccountPolicy
    /// Who makes accounts, and what becomes of them in the end.
    package var accountLife: AccountLifePolicy
    /// How mail is sent; nil where none is.
    package var mail: MailConfiguration?
    /// Whether addresses are verified, which takes mail.
    package var verification: AddressVerification
    /// Whether codes of mails log in, which takes mail.
    package var admitsLinkLogIn: Bool
    /// By whose word users log in.
    package var providers: [ProviderConfiguration]
    /// What a server of the application's own signs tokens with.
    package var customTokenKeys: [CustomTokenKey]
    /// What is let through at the start; ``ActionService/rateLimiter`` changes it later.
    package var rateLimits: RateLimits
    package var reads: ReadLimits
    package var scans: ScanPolicy
    /// Who changes the groups of users.
    package var groupRule: GroupRule
    /// Whom users may add as friends and follow.
    package var relationAudience: RelationAudience
    /// For how long a change token is good, and what was deleted is known.
    package var feedRetention: Duration
    /// How many requests may wait for changes.
    package var feedWaiting: Int
    /// How live queries are served.
    package var live: LiveConfiguration

    package init(
        keys: GivenKeys? = nil,
        tokenLifetime: Duration? = .seconds(365 * 86_400),
        sessionIdle: Duration? = .seconds(90 * 86_400),
        sessionLimit: Int = 50,
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
        live: LiveConfiguration = LiveConfiguration()
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
    }
}

/// The keys that a service was given: one of each kind, and a second one while it is changed.
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

/// How passwords are hashed.
package struct PasswordConfiguration: Sendable {
    /// The cost of a new hash; a stored hash of a lower cost is replaced at the next login.
    package var cost: ScryptCost
    /// Threads that do nothing but hash.
    package var threads: Int
    /// How many logins may wait, and half as many sign-ups; one more is refused with `135 Overloaded`.
    package var queueLimit: Int
    /// How many of them one client may have waiting; one more is refused with `131 RateLimited`.
    package var queueShare: Int
    /// How long one waits at most, then it is refused with `135 Overloaded`.
    package var patience: Duration
    /// How often passwords of one account are tried.
    package var guesses: GuessLimits
    /// Passwords that have leaked and that no account gets; nil where none are listed.
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

    /// N=2^15, r=8, p=3: 32 MiB and about a quarter of a second, one of the equally strong settings of OWASP's cheat
    /// sheet; the one with N=2^17 would take 128 MiB at a time.
    package static let `default` = ScryptCost(logN: 15, r: 8, p: 3)

    /// How much memory one hash takes while it is made.
    package var memoryBytes: Int { 128 * r << logN }
}
