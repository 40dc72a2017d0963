internal import Synchronization

/// The ``StatementMemory`` that the queues of a client share.
///
/// A statement costs one relaxed load as long as no text of its length ran long recently.
final class StatementTimes: Sendable {
    /// A read that runs this long alone is slow.
    static let slowRead: Duration = .milliseconds(50)
    /// A write that runs this long alone is committed alone.
    static let slowWrite: Duration = .milliseconds(20)
    /// The statements of a pipeline that takes this long run alone once, to be timed.
    static let slowPipeline: Duration = .milliseconds(50)

    private let memory = Mutex(StatementMemory())
    private let lengths = Atomic<UInt64>(0)
    private let holdsRows = Atomic<Bool>(false)

    /// How statements of this text are scheduled now.
    func pace(of sql: SQL, at time: MonotonicTime) -> StatementPace {
        guard lengths.load(ordering: .relaxed) & sql.lengthBit != 0 else { return .quick }
        return memory.withLock { $0.pace(of: sql.shape, at: time) }
    }

    /// Whether a write would probably wait for a lock, and delay its group.
    func isHeld(_ contention: PostgresContention?, at time: MonotonicTime) -> Bool {
        guard let contention, holdsRows.load(ordering: .relaxed) else { return false }
        return memory.withLock { $0.isHeld(contention, at: time) }
    }

    func ran(_ sql: SQL, isLong: Bool, at time: MonotonicTime) {
        // Most statements are quick and have no entry.
        guard isLong || lengths.load(ordering: .relaxed) & sql.lengthBit != 0 else { return }
        change { $0.ran(sql.shape, length: sql.utf8.count, isLong: isLong, at: time) }
    }

    func suspect(_ statements: [SQL], at time: MonotonicTime) {
        change { for sql in statements { $0.suspect(sql.shape, length: sql.utf8.count, at: time) } }
    }

    func waited(for contention: PostgresContention, at time: MonotonicTime) {
        change { $0.waited(for: contention, at: time) }
    }

    func forget(at time: MonotonicTime) {
        change { memory in
            if !memory.isEmpty { memory.forget(at: time) }
        }
    }

    var slowShapes: Int { memory.withLock(\.slowShapes) }

    private func change(_ body: (inout StatementMemory) -> Void) {
        memory.withLock { memory in
            body(&memory)
            lengths.store(memory.lengths, ordering: .relaxed)
            holdsRows.store(memory.holdsRows, ordering: .relaxed)
        }
    }
}

extension SQL {
    /// The hash of the text.
    fileprivate var shape: Int {
        var hasher = Hasher()
        utf8.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    fileprivate var lengthBit: UInt64 { 1 << UInt64(utf8.count & 63) }
}
