import SkyrowActions

/// Decides when a function server is started, replaced and ended, as a value without processes, a clock and tasks.
///
/// ```swift
/// var state = SupervisionState(drain: .seconds(10))
/// for order in state.handle(.begin, at: .now) { … }  // .launch(1)
/// ```
///
/// There are at most three processes of a server: the one that answers calls, the one that is about to replace it, and one that
/// finishes its calls.
struct SupervisionState: Sendable {
    typealias Number = Int
    typealias Instant = ContinuousClock.Instant

    enum Event: Hashable, Sendable {
        case begin
        /// The process exists.
        case launched(Number)
        /// It has answered `init`, and its registration is accepted.
        case initialized(Number)
        /// Its registration is refused.
        case refused(Number, String)
        /// It has ended, or could not be started.
        case ended(Number, String)
        /// It has finished its calls.
        case drained(Number)
        /// The server should be replaced; the text says why.
        case reload(String)
        /// It takes more memory than it may.
        case overMemory(Number)
        case stop
    }

    enum Order: Hashable, Sendable {
        case launch(Number)
        /// From now on it answers the calls.
        case use(Number)
        /// It gets no more calls; its end is reported as ``Event/drained(_:)``.
        case retire(Number)
        /// SIGTERM
        case terminate(Number)
        /// SIGKILL
        case kill(Number)
        case show(FunctionServerState)
        case report(Report)
    }

    /// What the log says.
    enum Report: Hashable, Sendable {
        case ended(String, restartsIn: Duration)
        case reloads(String)
        case reloaded
        /// The old one stays.
        case reloadFailed(String)
    }

    private enum Phase: Hashable, Sendable {
        case starting
        case serving(since: Instant)
        case draining(until: Instant)
        case ending
    }

    private struct Child: Hashable, Sendable {
        var phase = Phase.starting
        /// When it is killed; nil while it may live.
        var killTime: Instant?
    }

    /// From SIGTERM to SIGKILL.
    static let grace: Duration = .seconds(5)
    /// How long a process that replaces another may take to answer `init`.
    static let startTime: Duration = .seconds(30)
    /// From too much memory to SIGKILL.
    static let memoryTime: Duration = .seconds(10)
    static let pauses: (first: Duration, longest: Duration) = (.milliseconds(500), .seconds(30))
    /// How long a process has to serve until its end counts as the first one.
    static let health: Duration = .seconds(60)

    /// How long a replaced process may finish its calls.
    private let drain: Duration
    private var children: [Number: Child] = [:]
    private var lastNumber = 0
    /// The process that answers calls.
    private var current: Number?
    /// The process that is about to.
    private var candidate: Number?
    private var candidateTime: Instant?
    private var restartTime: Instant?
    private var pause = SupervisionState.pauses.first
    /// Why the server is replaced as soon as an earlier replacement is over.
    private var waitingReload: String?
    private var isStopping = false

    init(drain: Duration) {
        self.drain = drain
    }

    /// Whether everything has ended after ``Event/stop``.
    var isOver: Bool { isStopping && children.isEmpty }

    /// When ``expire(at:)`` has something to do; nil for never.
    var nextTime: Instant? {
        let times = children.values.flatMap { child -> [Instant] in
            guard case .draining(let until) = child.phase else { return [child.killTime].compactMap(\.self) }
            return [child.killTime, until].compactMap(\.self)
        }
        return (times + [candidateTime, restartTime].compactMap(\.self)).min()
    }

    mutating func handle(_ event: Event, at now: Instant) -> [Order] {
        switch event {
        case .begin: return launch(at: now)
        case .launched(let number): return children[number]?.phase == .ending ? [.terminate(number)] : []
        case .initialized(let number): return takeOver(number, at: now)
        case .refused(let number, let reason): return refuse(number, reason, at: now)
        case .ended(let number, let reason): return removed(number, reason, at: now)
        case .drained(let number):
            guard case .draining? = children[number]?.phase else { return [] }
            return end(number, at: now)
        case .reload(let reason): return reload(reason, at: now)
        case .overMemory(let number): return limit(number, at: now)
        case .stop:
            isStopping = true
            (candidate, candidateTime, restartTime, waitingReload) = (nil, nil, nil, nil)
            return children.keys.sorted().flatMap { end($0, at: now) }
        }
    }

    /// Does what is due.
    mutating func expire(at now: Instant) -> [Order] {
        var orders: [Order] = []
        if let time = restartTime, time <= now { orders += launch(at: now) }
        if let number = candidate, let time = candidateTime, time <= now {
            candidateTime = nil
            let reason = "it has not answered init for \(Self.startTime.components.seconds) s"
            if current == nil {
                orders.append(.show(.down(reason)))
            } else {
                candidate = nil
                orders += [.report(.reloadFailed(reason))] + end(number, at: now)
            }
        }
        for number in children.keys.sorted() {
            if case .draining(let until)? = children[number]?.phase, until <= now { orders += end(number, at: now) }
            if let time = children[number]?.killTime, time <= now {
                children[number]?.killTime = nil
                orders.append(.kill(number))
            }
        }
        return orders
    }

    // MARK: Starting

    private mutating func launch(at now: Instant) -> [Order] {
        restartTime = nil
        lastNumber += 1
        children[lastNumber] = Child()
        candidate = lastNumber
        candidateTime = now + Self.startTime
        return (current == nil ? [.show(.starting)] : []) + [.launch(lastNumber)]
    }

    private mutating func takeOver(_ number: Number, at now: Instant) -> [Order] {
        guard number == candidate else { return [] }
        let old = current
        (current, candidate, candidateTime) = (number, nil, nil)
        children[number]?.phase = .serving(since: now)
        guard let old else { return [.use(number)] }
        let end = now + drain
        children[old]?.phase = .draining(until: end)
        return [.use(number), .retire(old), .report(.reloaded)]
    }

    private mutating func refuse(_ number: Number, _ reason: String, at now: Instant) -> [Order] {
        guard number == candidate else { return [] }
        candidateTime = nil
        guard current != nil else { return [.show(.refused(reason))] }
        candidate = nil
        return [.report(.reloadFailed(reason))] + end(number, at: now)
    }

    // MARK: Ending

    private mutating func end(_ number: Number, at now: Instant) -> [Order] {
        guard let child = children[number], child.phase != .ending else { return [] }
        let time = now + Self.grace
        children[number] = Child(phase: .ending, killTime: child.killTime.map { min($0, time) } ?? time)
        return [.terminate(number)]
    }

    private mutating func removed(_ number: Number, _ reason: String, at now: Instant) -> [Order] {
        guard let child = children.removeValue(forKey: number), !isStopping else { return [] }
        var orders: [Order] = []
        if number == current {
            current = nil
            if case .serving(let since) = child.phase, now - since >= Self.health { pause = Self.pauses.first }
            // A replacement that is starting goes on.
            orders += candidate == nil ? restart(after: reason, at: now) : [.show(.starting)]
        } else if number == candidate {
            (candidate, candidateTime) = (nil, nil)
            orders += current == nil ? restart(after: reason, at: now) : [.report(.reloadFailed("it ended: \(reason)"))]
        }
        return orders + beginReload(at: now)
    }

    private mutating func restart(after reason: String, at now: Instant) -> [Order] {
        defer { pause = min(pause * 2, Self.pauses.longest) }
        restartTime = now + pause
        return [.show(.down("it ended: \(reason)")), .report(.ended(reason, restartsIn: pause))]
    }

    // MARK: Replacing

    private mutating func reload(_ reason: String, at now: Instant) -> [Order] {
        guard !isStopping else { return [] }
        waitingReload = reason
        // A process that is starting may have read the files as they were.
        guard let number = candidate else { return beginReload(at: now) }
        (candidate, candidateTime) = (nil, nil)
        return end(number, at: now)
    }

    /// Starts the replacement if no other process is about to end.
    private mutating func beginReload(at now: Instant) -> [Order] {
        guard let reason = waitingReload, candidate == nil, children.count <= (current == nil ? 0 : 1) else {
            return []
        }
        waitingReload = nil
        pause = Self.pauses.first
        return [.report(.reloads(reason))] + launch(at: now)
    }

    private mutating func limit(_ number: Number, at now: Instant) -> [Order] {
        guard let child = children[number], child.killTime == nil else { return [] }
        guard number == current else { return [.kill(number)] }
        children[number]?.killTime = now + Self.memoryTime
        // Unless a replacement is on its way.
        guard candidate == nil, waitingReload == nil else { return [] }
        return reload("it takes too much memory", at: now)
    }
}
