import SkyrowConcurrency

/// One live query between the event stream, which brings items, and the task that takes them.
///
/// It holds a bounded number of bytes; beyond that it drops all of it, and the query goes on from its last checkpoint.
final class LiveSubscription: Sendable {
    let name: String
    let request: LiveRequest
    let byteLimit: Int
    private let items = EventQueue<LiveItem>()

    init(name: String, request: LiveRequest, byteLimit: Int) {
        self.name = name
        self.request = request
        self.byteLimit = byteLimit
    }

    /// The call that begins it from there.
    func request(from start: LiveStart) -> LiveRequest { request.named(name, from: start) }

    /// Brings an item; false when it was too much, and all that waited is dropped.
    func push(_ item: LiveItem, byteCount: Int) -> Bool {
        items.offer { items in
            // One item always has room: a commit arrives as a whole.
            guard items.weight == 0 || items.weight + byteCount <= byteLimit else {
                items.removeAll()
                items.append(.dropped, weight: 0)
                return false
            }
            items.append(item, weight: byteCount)
            return true
        }
    }

    /// The next item; nil when the subscription or the task that waits has ended.
    func next() async -> LiveItem? { await items.next() }

    /// Ends it; what waits is given up.
    func end() { items.finish(dropping: true) }
}
