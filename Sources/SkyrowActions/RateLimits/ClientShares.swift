/// The parts of a limited resource that clients hold: a client up to its share, a site twice as much, and the operator without a
/// share.
///
/// A tenth is reserved from all clients together, so that the master key is never locked out by them.
struct ClientShares: Sendable {
    /// Why a client gets no more.
    enum Refusal: Equatable, Sendable {
        /// The resource is exhausted.
        case all
        /// The client has its share.
        case client(limit: Int)
    }

    let limit: Int
    private let share: ClientShare
    private(set) var used = 0
    private var clients: [ClientKey: Int] = [:]
    private var sites: [ClientKey: Int] = [:]

    init(limit: Int, _ share: ClientShare) {
        self.limit = limit
        self.share = share
    }

    var isUnused: Bool { used == 0 }

    /// Returns the amount that a client holds.
    func held(by client: ClientKey) -> Int { clients[client] ?? 0 }

    /// Returns why an amount is refused; nil if it is available.
    ///
    /// - Parameter client: nil for the operator, who has no share.
    func refusal(of amount: Int, to client: ClientKey?) -> Refusal? {
        guard let client else { return used + amount > limit ? .all : nil }
        let own = share.client(of: limit)
        if held(by: client) + amount > own { return .client(limit: own) }
        if let site = client.site, (sites[site] ?? 0) + amount > share.site(of: limit) {
            return .client(limit: share.site(of: limit))
        }
        return used + amount > limit - limit / 10 ? .all : nil
    }

    /// Takes an amount without a check; a negative one is returned.
    mutating func take(_ amount: Int, for client: ClientKey?) {
        guard amount != 0 else { return }
        used += amount
        guard let client else { return }
        Self.add(amount, &clients, client)
        if let site = client.site { Self.add(amount, &sites, site) }
    }

    private static func add(_ amount: Int, _ held: inout [ClientKey: Int], _ key: ClientKey) {
        let sum = (held[key] ?? 0) + amount
        held[key] = sum == 0 ? nil : sum
    }
}
