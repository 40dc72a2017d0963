/// Limits what one transaction may encode and send for the subscriptions of each client.
///
/// Events are encoded under the lock of the registry, and subscriptions with different fields each have their own text. Without a
/// bound, one save takes as many times its length as a client has subscriptions.
struct WritingBudget {
    /// The bytes that sending an event to a further subscription counts as.
    private static let sending = 16
    /// The number of clients that may use their whole budget before the total is exhausted.
    private static let clients = 8

    private let limit: Int
    private var left: Int
    private var spent: [ClientKey: Int] = [:]
    /// The client of the previous subscription; mostly that of the next one, too.
    private var current: (client: ClientKey, spent: Int)?

    /// - Parameter limit: the bytes of one client.
    init(limit: Int) {
        self.limit = limit
        left = limit * Self.clients
    }

    /// Counts an event for a client; nil stands for one without a share, such as the operator.
    ///
    /// - Returns: false if nothing more is encoded for it. The previous record may have exceeded its budget.
    mutating func countEvent(for client: ClientKey?) -> Bool {
        guard left > 0 else { return false }
        guard let client else { return true }
        let bytes = spentBytes(of: client)
        guard bytes < limit else { return false }
        current = (client, bytes + Self.sending)
        return true
    }

    /// Counts the text of a record, encoded for the client whose event was counted last.
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
