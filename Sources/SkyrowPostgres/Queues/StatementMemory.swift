/// How a statement travels, by what is known of the time that statements like it take.
enum StatementPace: Hashable, Sendable {
    /// With others.
    case quick
    /// By itself until its time is measured: it was in a pipeline that took long, which does not say whose fault it
    /// was.
    case unproven
    /// By itself, in a bounded number of connections: it ran long lately.
    case slow
}

/// What is remembered of statements that ran long, by shape (text without values), and of the rows whose locks held
/// writes up. Every entry ends by itself, and there is a bounded number of them.
///
/// A value without a clock: every method takes the time.
struct StatementMemory {
    /// How long after its last slow run a shape is forgotten.
    static let slowTime: Duration = .seconds(30)
    /// A shape whose time was measured is not suspected again so soon.
    static let trustTime: Duration = .seconds(10)
    /// How long after the last wait for its lock a row is forgotten.
    static let heldTime: Duration = .seconds(1)
    /// As many quick runs in a row make a slow shape quick.
    static let patience = 4
    /// How many rows of one table have to hold up writes before they count as a lock of the table.
    static let rowsOfLockedTable = 4
    static let capacity = 256

    private enum Judgement {
        case unproven
        /// How many quick runs it still takes.
        case slow(runs: Int)
        case trusted
    }

    private struct Shape {
        var judgement: Judgement
        var end: MonotonicTime
        var length: Int
    }

    private var shapes: [Int: Shape] = [:]
    /// Until when each row of a table is taken for locked; One without a row stands for statements of several.
    private var held: [PostgresContention: MonotonicTime] = [:]

    /// The lengths of the remembered texts that are not trusted, modulo 64, as a set of bits.
    private(set) var lengths: UInt64 = 0

    var isEmpty: Bool { shapes.isEmpty && held.isEmpty }

    var holdsRows: Bool { !held.isEmpty }

    /// How many shapes are slow now.
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

    /// Takes note of a run by itself, whose time is its own.
    mutating func ran(_ shape: Int, length: Int, isLong: Bool, at time: MonotonicTime) {
        guard !isLong else { return set(shape, length, .slow(runs: Self.patience), until: time + Self.slowTime) }
        guard let known = shapes[shape], known.end > time else { return }
        switch known.judgement {
        case .slow(let runs) where runs > 1: set(shape, length, .slow(runs: runs - 1), until: known.end)
        case .slow, .unproven: set(shape, length, .trusted, until: time + Self.trustTime)
        case .trusted: break
        }
    }

    /// Takes note of a run in a pipeline that took long.
    mutating func suspect(_ shape: Int, length: Int, at time: MonotonicTime) {
        if let known = shapes[shape], known.end > time { return }
        set(shape, length, .unproven, until: time + Self.trustTime)
    }

    /// Takes note of a write that waits, or waited in vain, for a lock.
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

    /// Drops what has ended.
    mutating func forget(at time: MonotonicTime) {
        shapes = shapes.filter { $0.value.end > time }
        held = held.filter { $0.value > time }
        noteLengths()
    }

    private mutating func set(_ shape: Int, _ length: Int, _ judgement: Judgement, until end: MonotonicTime) {
        // The one that would be forgotten first makes room.
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
