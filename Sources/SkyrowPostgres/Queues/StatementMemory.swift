/// How a statement is scheduled, given the known times of statements of its shape.
enum StatementPace: Hashable, Sendable {
    /// In a batch with others.
    case quick
    /// Alone until its time is measured: it was in a slow pipeline, which does not show the slow statement.
    case unproven
    /// Alone, on a bounded number of connections: it ran long recently.
    case slow
}

/// The shapes (texts without values) of statements that ran long, and the rows whose locks delayed writes. Every entry expires,
/// and their number is bounded.
///
/// It has no clock: every method takes the time.
struct StatementMemory {
    /// How long after its last slow run a shape is forgotten.
    static let slowTime: Duration = .seconds(30)
    /// How long a shape is not suspected again after its time was measured.
    static let trustTime: Duration = .seconds(10)
    /// How long after the last wait for its lock a row is forgotten.
    static let heldTime: Duration = .seconds(1)
    /// The number of consecutive quick runs that make a slow shape quick.
    static let patience = 4
    /// The number of locked rows of one table from which the whole table counts as locked.
    static let rowsOfLockedTable = 4
    static let capacity = 256

    private enum Judgement {
        case unproven
        /// The number of quick runs that are still missing.
        case slow(runs: Int)
        case trusted
    }

    private struct Shape {
        var judgement: Judgement
        var end: MonotonicTime
        var length: Int
    }

    private var shapes: [Int: Shape] = [:]
    /// Until when each row of a table counts as locked. An entry without a row stands for statements that write several.
    private var held: [PostgresContention: MonotonicTime] = [:]

    /// The lengths of the texts that are not trusted, modulo 64, as a bit set.
    private(set) var lengths: UInt64 = 0

    var isEmpty: Bool { shapes.isEmpty && held.isEmpty }

    var holdsRows: Bool { !held.isEmpty }

    /// The number of shapes that are currently slow.
    var slowShapes: Int {
        shapes.values.count {
            if case .slow = $0.judgement { true } else { false }
        }
    }

    func pace(of shape: Int, at time: MonotonicTime) -> StatementPace {
        guard let known = shapes[shape], known.end > time else { return .quick }
        switch known.judgement {
        case .unproven: return .unproven
        case .slow: return .slow
        case .trusted: return .quick
        }
    }

    /// Records a run alone, whose time is that of the statement.
    mutating func ran(_ shape: Int, length: Int, isLong: Bool, at time: MonotonicTime) {
        guard !isLong else { return set(shape, length, .slow(runs: Self.patience), until: time + Self.slowTime) }
        guard let known = shapes[shape], known.end > time else { return }
        switch known.judgement {
        case .slow(let runs) where runs > 1: set(shape, length, .slow(runs: runs - 1), until: known.end)
        case .slow, .unproven: set(shape, length, .trusted, until: time + Self.trustTime)
        case .trusted: break
        }
    }

    /// Records a run in a pipeline that took long.
    mutating func suspect(_ shape: Int, length: Int, at time: MonotonicTime) {
        if let known = shapes[shape], known.end > time { return }
        set(shape, length, .unproven, until: time + Self.trustTime)
    }

    /// Records a write that waits, or waited in vain, for a lock.
    mutating func waited(for contention: PostgresContention, at time: MonotonicTime) {
        if held.count >= Self.capacity, held[contention] == nil { forget(at: time) }
        guard held.count < Self.capacity || held[contention] != nil else { return }
        held[contention] = time + Self.heldTime
    }

    /// Whether a write would probably wait for a lock.
    func isHeld(_ contention: PostgresContention, at time: MonotonicTime) -> Bool {
        if let end = held[contention], end > time { return true }
        guard held.count >= Self.rowsOfLockedTable else { return false }
        return held.count { $0.key.table == contention.table && $0.value > time } >= Self.rowsOfLockedTable
    }

    /// Drops expired entries.
    mutating func forget(at time: MonotonicTime) {
        shapes = shapes.filter { $0.value.end > time }
        held = held.filter { $0.value > time }
        noteLengths()
    }

    private mutating func set(_ shape: Int, _ length: Int, _ judgement: Judgement, until end: MonotonicTime) {
        // The entry that expires first makes room.
        if shapes.count >= Self.capacity, shapes[shape] == nil,
            let oldest = shapes.min(by: { $0.value.end < $1.value.end })
        {
            shapes[oldest.key] = nil
        }
        shapes[shape] = Shape(judgement: judgement, end: end, length: length)
        noteLengths()
    }

    private mutating func noteLengths() {
        lengths = 0
        for shape in shapes.values {
            if case .trusted = shape.judgement { continue }
            lengths |= 1 << UInt64(shape.length & 63)
        }
    }
}
