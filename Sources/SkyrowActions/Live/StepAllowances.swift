/// How many steps live queries of each client may take: so many at once, which come back with time.
///
/// What was spent is a debt that becomes less; who has none is not in the table.
package struct StepAllowances: Sendable {
    package struct Limits: Hashable, Sendable {
        /// Steps that one client may take at once; a site twice as many.
        package var burst = 50_000_000
        /// How many come back in a second.
        package var perSecond = 10_000_000
        /// What a predicate may take for one record.
        package var perRecord = 5_000_000

        package init() {}
    }

    private struct Debt {
        var steps: Int
        var at: ContinuousClock.Instant

        /// What is left of it at a time.
        func remaining(at now: ContinuousClock.Instant, _ perSecond: Int) -> Int {
            let (seconds, attoseconds) = (now - at).components
            // After an hour nothing is left of any debt.
            guard seconds < 3600 else { return 0 }
            let back = Int(seconds) * perSecond + Int(attoseconds / 1_000_000_000_000) * perSecond / 1_000_000
            return max(0, steps - back)
        }
    }

    /// Debts that are kept before those that have come back are looked for.
    private static let maximumDebts = 10_000

    let limits: Limits
    private var clients: [ClientKey: Debt] = [:]
    private var sites: [ClientKey: Debt] = [:]

    /// How many clients have a debt that is kept.
    var debtCount: Int { clients.count }

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// How many steps a client may take at the moment; any number for the operator, who is not counted.
    func balance(of client: ClientKey?, at now: ContinuousClock.Instant) -> Int {
        guard let client else { return .max }
        let own = limits.burst - (clients[client]?.remaining(at: now, limits.perSecond) ?? 0)
        let site = client.site.flatMap { sites[$0] }?.remaining(at: now, 2 * limits.perSecond) ?? 0
        return max(0, min(own, 2 * limits.burst - site))
    }

    /// Takes steps that a client has spent.
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
