import Synchronization

/// The bytes of live messages that wait in all connections of a process. Above the
/// limit, the connections with the most bytes fall behind.
final class LiveMemory: Sendable {
    /// The bytes that one connection holds: a value without a lock.
    ///
    /// ```swift
    /// var holding = LiveMemory.Holding()
    /// holding.set(400)      // 400 bytes more
    /// holding.promise()     // 400 promised bytes more
    /// holding.set(100)      // 300 bytes less, and 400 promised bytes less
    /// ```
    struct Holding {
        /// What a step adds to the totals of all connections.
        struct Change: Hashable {
            var bytes = 0
            var promised = 0
        }

        private(set) var bytes = 0
        /// The bytes that the connection will release because it was chosen to fall behind; 0 once it releases any.
        private(set) var promised = 0
        private var hasEnded = false

        /// Sets the bytes, unless the connection has ended.
        mutating func set(_ count: Int) -> Change {
            guard !hasEnded else { return Change() }
            var change = Change(bytes: count - bytes)
            if count < bytes {
                change.promised = -promised
                promised = 0
            }
            bytes = count
            return change
        }

        /// Promises all bytes, unless they are promised already.
        mutating func promise() -> Change {
            guard promised == 0 else { return Change() }
            promised = bytes
            return Change(promised: bytes)
        }

        mutating func end() -> Change {
            defer { hasEnded = true }
            return set(0)
        }
    }

    /// The share of one connection, created with its first live message.
    final class Share: Sendable {
        fileprivate let holding = Mutex(Holding())
        fileprivate let fallBehind: @Sendable () -> Void
        private let memory: LiveMemory

        fileprivate init(of memory: LiveMemory, fallBehind: @escaping @Sendable () -> Void) {
            self.memory = memory
            self.fallBehind = fallBehind
        }

        /// Sets the current bytes of the connection; ignored after ``end()``.
        func set(_ count: Int) {
            memory.add(holding.withLock { $0.set(count) })
        }

        /// Releases all bytes.
        func end() {
            memory.add(holding.withLock { $0.end() })
            memory.remove(self)
        }
    }

    private let limit: Int
    private let used = Atomic<Int>(0)
    /// Bytes that will be released soon, so that one excess is handled once.
    private let promised = Atomic<Int>(0)
    private let shares = Mutex<[ObjectIdentifier: Share]>([:])

    init(limit: Int) {
        self.limit = limit
    }

    var bytes: Int { used.load(ordering: .relaxed) }
    var promisedBytes: Int { promised.load(ordering: .relaxed) }

    /// - Parameter fallBehind: Drops the live messages of the connection; called from any thread, must return at once.
    func share(fallBehind: @escaping @Sendable () -> Void) -> Share {
        let share = Share(of: self, fallBehind: fallBehind)
        shares.withLock { $0[ObjectIdentifier(share)] = share }
        return share
    }

    fileprivate func remove(_ share: Share) {
        shares.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(share)) }
    }

    fileprivate func add(_ change: Holding.Change) {
        if change.promised != 0 { promised.add(change.promised, ordering: .relaxed) }
        guard change.bytes != 0 else { return }
        let total = used.add(change.bytes, ordering: .relaxed).newValue
        guard change.bytes > 0, total - promisedBytes > limit else { return }
        let chosen = shares.withLock { promise(LiveMemory.largest(unpromised($0.values), over: limit)) }
        for share in chosen { share.fallBehind() }
    }

    /// Returns the shares that have promised nothing, with their bytes at this moment.
    func unpromised(_ shares: some Sequence<Share>) -> [(share: Share, bytes: Int)] {
        shares.compactMap { share in
            share.holding.withLock { $0.promised == 0 ? (share, $0.bytes) : nil }
        }
    }

    /// Has shares promise their bytes; returns those that hold any by now.
    func promise(_ shares: [Share]) -> [Share] {
        shares.filter { share in
            let change = share.holding.withLock { $0.promise() }
            promised.add(change.promised, ordering: .relaxed)
            return change.promised > 0
        }
    }

    /// Returns the largest shares: as many as necessary for the rest to be within the limit.
    static func largest<Share>(_ shares: [(share: Share, bytes: Int)], over limit: Int) -> [Share] {
        var total = shares.reduce(0) { $0 + $1.bytes }
        var chosen: [Share] = []
        for (share, bytes) in shares.sorted(by: { $0.bytes > $1.bytes }) {
            guard total > limit else { break }
            chosen.append(share)
            total -= bytes
        }
        return chosen
    }
}
