import SkyrowConcurrency

/// The queue of one live query between the event stream, which adds items, and the task that takes them.
///
/// It holds a bounded number of bytes. Beyond that it drops all items, and the query continues from its last checkpoint.
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

    /// Returns the call that starts the subscription from a position.
    func request(from start: LiveStart) -> LiveRequest { request.named(name, from: start) }

    /// Adds an item; when it does not fit, drops all items and returns false.
    func push(_ item: LiveItem, byteCount: Int) -> Bool {
        items.offer { items in
            // A single item always fits, since a commit arrives as a whole.
            guard items.weight == 0 || items.weight + byteCount <= byteLimit else {
                items.removeAll()
                items.append(.dropped, weight: 0)
                return false
            }
            items.append(item, weight: byteCount)
            return true
        }
    }

    /// Returns the next item; nil when the subscription or the waiting task has ended.
    func next() async -> LiveItem? { await items.next() }

    /// Ends the subscription and drops the waiting items.
    func end() { items.finish(dropping: true) }
}
