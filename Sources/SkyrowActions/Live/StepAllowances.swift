/// The steps that live queries of each client may take: a burst that refills over time.
///
/// What was spent is a debt that decreases; a client without debt has no entry.
package struct StepAllowances: Sendable {
    package struct Limits: Hashable, Sendable {
        /// The steps that one client may take at once; a site twice as many.
        package var burst = 50_000_000
        /// The steps that refill per second.
        package var perSecond = 10_000_000
        /// Upper bound on the steps of a predicate for one record.
        package var perRecord = 5_000_000

        package init() {}
    }

    private struct Debt {
        var steps: Int
        var at: ContinuousClock.Instant

        /// Returns the remaining debt at a time.
        func remaining(at now: ContinuousClock.Instant, _ perSecond: Int) -> Int {
            let (seconds, attoseconds) = (now - at).components
            // After an hour every debt is paid.
            guard seconds < 3600 else { return 0 }
            let back = Int(seconds) * perSecond + Int(attoseconds / 1_000_000_000_000) * perSecond / 1_000_000
            return max(0, steps - back)
        }
    }

    /// How many debts are kept before paid ones are removed.
    private static let maximumDebts = 10_000

    let limits: Limits
    private var clients: [ClientKey: Debt] = [:]
    private var sites: [ClientKey: Debt] = [:]

    /// The number of clients with an entry.
    var debtCount: Int { clients.count }

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Returns the steps that a client may take now; unlimited for the operator, who is not counted.
    func balance(of client: ClientKey?, at now: ContinuousClock.Instant) -> Int {
        guard let client else { return .max }
        let own = limits.burst - (clients[client]?.remaining(at: now, limits.perSecond) ?? 0)
        let site = client.site.flatMap { sites[$0] }?.remaining(at: now, 2 * limits.perSecond) ?? 0
        return max(0, min(own, 2 * limits.burst - site))
    }

    /// Adds spent steps to the debt of a client.
    mutating func spend(_ steps: Int, of client: ClientKey?, at now: ContinuousClock.Instant) {
        guard steps > 0, let client else { return }
        clients[client] = Debt(steps: steps + (clients[client]?.remaining(at: now, limits.perSecond) ?? 0), at: now)
        if let site = client.site {
            sites[site] = Debt(steps: steps + (sites[site]?.remaining(at: now, 2 * limits.perSecond) ?? 0), at: now)
        }
        guard clients.count > Self.maximumDebts else { return }
        clients = clients.filter { $1.remaining(at: now, limits.perSecond) > 0 }
        sites = sites.filter { $1.remaining(at: now, 2 * limits.perSecond) > 0 }
    }
}
