/// How often passwords of one account may be tried, nil where there is no limit.
package struct GuessLimits: Hashable, Sendable {
    /// So many wrong passwords for an account from one client are free; each further one doubles a pause.
    package var client: Int?
    /// So many tries an hour from all clients that never logged in to the account.
    package var account: Int?

    package init(client: Int? = 5, account: Int? = 50) {
        self.client = client
        self.account = account
    }

    package static let none = GuessLimits(client: nil, account: nil)
}

/// Counts wrong passwords by account, in bounded memory; the time is passed in.
///
/// A try is counted before it is judged, so that tries at the same time count like tries one after the other, and taken
/// back when the password was right. From one client each account has a few tries, then a pause that doubles from a
/// second to a quarter of an hour. All other clients together have a number of tries an hour for each account; a client
/// that has logged in to the account since the process began is not counted with them, so no attacker keeps users from
/// logging in where they did before. Accounts that do not exist are limited alike.
struct GuessLimiter {
    private struct Pair: Hashable {
        let account: AccountKey
        let client: ClientKey
    }

    private struct Tries {
        var count = 0
        var pausedUntil: ContinuousClock.Instant
    }

    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(900)
    /// Buckets of each kind.
    private static let capacity = 32_768

    private let limits: GuessLimits
    private var tries = GenerationTable<Pair, Tries>(capacity: capacity)
    private var known = GenerationTable<Pair, ContinuousClock.Instant>(capacity: capacity)
    private var accounts = BucketTable<AccountKey>(capacity: capacity)

    init(_ limits: GuessLimits) {
        self.limits = limits
    }

    /// Counts a try; when it is one too many, counts nothing and returns how long to wait.
    ///
    /// Where clients have no address, as behind a proxy that sends none, there are none to tell apart, so none is
    /// limited.
    mutating func claim(
        _ account: AccountKey,
        from client: ClientKey,
        at now: ContinuousClock.Instant
    ) -> Duration? {
        guard client != .none else { return nil }
        let pair = Pair(account: account, client: client)
        var own = tries[pair] ?? Tries(pausedUntil: now)
        if own.pausedUntil > now { return own.pausedUntil - now }
        // The pause is over for as long again: the count begins anew.
        if now - own.pausedUntil > Self.longestPause { own.count = 0 }
        if known[pair] == nil, let limit = limits.account,
            let wait = accounts.take(account, RateLimit(limit, per: .seconds(3600)), at: now)
        {
            return min(wait, Self.longestPause)
        }
        own.count += 1
        own.pausedUntil = now + pause(after: own.count)
        tries[pair] = own
        return nil
    }

    /// The password was right.
    mutating func succeed(_ account: AccountKey, from client: ClientKey, at now: ContinuousClock.Instant) {
        guard client != .none else { return }
        let pair = Pair(account: account, client: client)
        tries[pair] = nil
        known[pair] = now
    }

    /// The password was not compared.
    mutating func withdraw(_ account: AccountKey, from client: ClientKey, at now: ContinuousClock.Instant) {
        let pair = Pair(account: account, client: client)
        guard var own = tries[pair] else { return }
        own.count = max(0, own.count - 1)
        own.pausedUntil = now
        tries[pair] = own
    }

    private func pause(after count: Int) -> Duration {
        guard let limit = limits.client, count >= limit else { return .zero }
        return min(Self.firstPause * (1 << min(count - limit, 20)), Self.longestPause)
    }
}

/// Values by key, those used last, in bounded memory: two generations stand in for an order of use.
struct GenerationTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private let generationSize: Int

    /// - Parameter capacity: how many values are kept at most.
    init(capacity: Int) {
        generationSize = max(1, capacity / 2)
    }

    var count: Int { young.count + old.count }

    subscript(key: Key) -> Value? {
        get { young[key] ?? old[key] }
        set {
            old[key] = nil
            guard let newValue else {
                young[key] = nil
                return
            }
            if young.count >= generationSize, young[key] == nil {
                old = young
                young = [:]
            }
            young[key] = newValue
        }
    }
}
