/// How much one transaction may have written and sent for the subscriptions of each client.
///
/// Events are written while no subscription can be made or ended, and subscriptions that ask for different fields each have a text of
/// their own: without a bound, one save takes as many times its length as a client has subscriptions.
struct WritingBudget {
    /// What sending an event to one more subscription counts as.
    private static let sending = 16
    /// Clients that use all they may before nothing is left for others.
    private static let clients = 8

    private let limit: Int
    private var left: Int
    private var spent: [ClientKey: Int] = [:]
    /// The client of the subscription before, which has the next one as well in most cases.
    private var current: (client: ClientKey, spent: Int)?

    /// - Parameter limit: the bytes of one client.
    init(limit: Int) {
        self.limit = limit
        left = limit * Self.clients
    }

    /// Counts an event for a client; nil stands for one that has no share, such as the operator.
    ///
    /// - Returns: false where nothing more is written for it. The record before may have exceeded what it has.
    mutating func countEvent(for client: ClientKey?) -> Bool {
        guard left > 0 else { return false }
        guard let client else { return true }
        let bytes = spentBytes(of: client)
        guard bytes < limit else { return false }
        current = (client, bytes + Self.sending)
        return true
    }

    /// Counts the text of a record, written for the client whose event was counted last.
    mutating func countText(_ bytes: Int, for client: ClientKey?) {
        left -= bytes
        if let client { current = (client, spentBytes(of: client) + bytes) }
    }

    private mutating func spentBytes(of client: ClientKey) -> Int {
        if let current {
            if current.client == client { return current.spent }
            spent[current.client] = current.spent
        }
        return spent[client, default: 0]
    }
}
