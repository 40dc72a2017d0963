import Synchronization

/// The bytes of live messages that wait in all connections of a process. Above the
/// limit, the connections with the most bytes fall behind.
final class LiveMemory: Sendable {
    /// The share of one connection, created with its first live message.
    final class Share: Sendable {
        fileprivate let bytes = Atomic<Int>(0)
        /// The bytes that the connection will release because it was chosen to fall behind.
        fileprivate let promised = Atomic<Int>(0)
        fileprivate let fallBehind: @Sendable () -> Void
        private let memory: LiveMemory

        fileprivate init(of memory: LiveMemory, fallBehind: @escaping @Sendable () -> Void) {
            self.memory = memory
            self.fallBehind = fallBehind
        }

        /// Sets the current bytes of the connection.
        func set(_ count: Int) {
            let old = bytes.exchange(count, ordering: .relaxed)
            if count < old {
                let kept = promised.exchange(0, ordering: .relaxed)
                if kept > 0 { memory.promised.subtract(kept, ordering: .relaxed) }
            }
            if count != old { memory.add(count - old) }
        }

        /// Releases all bytes; the share must not be used afterwards.
        func end() {
            set(0)
            memory.remove(self)
        }
    }

    private let limit: Int
    private let used = Atomic<Int>(0)
    /// Bytes that will be released soon, so that one excess is handled once.
    fileprivate let promised = Atomic<Int>(0)
    private let shares = Mutex<[ObjectIdentifier: Share]>([:])

    init(limit: Int) {
        self.limit = limit
    }

    var bytes: Int { used.load(ordering: .relaxed) }

    /// - Parameter fallBehind: Drops the live messages of the connection; called from any thread, must return at once.
    func share(fallBehind: @escaping @Sendable () -> Void) -> Share {
        let share = Share(of: self, fallBehind: fallBehind)
        shares.withLock { $0[ObjectIdentifier(share)] = share }
        return share
    }

    fileprivate func remove(_ share: Share) {
        shares.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(share)) }
    }

    fileprivate func add(_ count: Int) {
        let total = used.add(count, ordering: .relaxed).newValue
        guard count > 0, total - promised.load(ordering: .relaxed) > limit else { return }
        let chosen = shares.withLock { shares in
            let free = shares.values.filter { $0.promised.load(ordering: .relaxed) == 0 }
            let sizes = free.map { (share: $0, bytes: $0.bytes.load(ordering: .relaxed)) }
            let chosen = LiveMemory.largest(sizes, over: limit)
            for share in chosen {
                let bytes = share.bytes.load(ordering: .relaxed)
                share.promised.store(bytes, ordering: .relaxed)
                promised.add(bytes, ordering: .relaxed)
            }
            return chosen
        }
        for share in chosen { share.fallBehind() }
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
