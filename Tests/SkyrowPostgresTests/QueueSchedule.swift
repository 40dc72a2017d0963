import SkyrowTestSupport

@testable import SkyrowPostgres

/// A connection queue whose callers, workers and clock are drawn at random.
///
/// A worker that sleeps does nothing until an effect wakes it, as its thread would.
struct QueueSchedule {
    /// Where the thread of a worker stands.
    private enum Position {
        case starting
        case connecting
        case backingOff
        case awake
        case asleep
        case running([PostgresRequest])
        case ending
    }

    private(set) var queue: ConnectionQueue
    private var random: SeededGenerator
    private var positions: [Int: Position] = [:]
    private var requests: [PostgresRequest] = []
    private var time = MonotonicTime(nanoseconds: 0)
    private var mayFail = true
    private var broken: String?
    private var runs: [ObjectIdentifier: Int] = [:]
    private var losses: Set<ObjectIdentifier> = []
    private var events: [String] = []

    init(limits: QueueLimits, random: SeededGenerator) {
        queue = ConnectionQueue(limits: limits)
        self.random = random
    }

    var history: String { events.suffix(40).joined(separator: "\n") }

    mutating func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0 where !queue.isStarted: perform(queue.start(), "start")
        case 0..<6: submit()
        case 6: cancel()
        case 7:
            time = time + .milliseconds(Int.random(in: 1...150, using: &random))
            enforceTimeLimits()
        case 8 where Int.random(in: 0..<20, using: &random) == 0: time = time + .seconds(3)
        default: advance()
        }
    }

    /// Lets everything come to its end; returns what has not.
    mutating func finish() -> String? {
        if !queue.isStarted { perform(queue.start(), "start") }
        mayFail = false
        for _ in 0..<20_000 {
            if let fault = fault() { return fault }
            guard positions.values.contains(where: { if case .asleep = $0 { false } else { true } }) else { break }
            advance()
        }
        if let waiting = requests.first(where: { !$0.isFinished }) {
            return "a request was left: \(waiting.pace), \(queue.free.count) and \(queue.bounded.count) wait"
        }
        for _ in 0..<4 {
            time = time + .seconds(3)
            enforceTimeLimits()
            for _ in 0..<200 { advance() }
        }
        if queue.workerCount != queue.limits.minimumWorkers { return "\(queue.workerCount) workers stay" }
        perform(queue.drain(), "drain")
        for _ in 0..<400 { advance() }
        return queue.workerCount == 0 ? nil : "\(queue.workerCount) workers outlive the queue"
    }

    // MARK: Events

    private mutating func submit() {
        let contention = PostgresContention(
            table: Int.random(in: 0..<3, using: &random),
            row: Int.random(in: 0..<3, using: &random)
        )
        let request = PostgresRequest(
            sql: "SELECT 1",
            groupCommit: Bool.random(using: &random)
                ? .allowed : .allowedExcept(key: Int.random(in: 0..<3, using: &random)),
            contention: Bool.random(using: &random) ? contention : nil,
            queuedAt: time,
            queueDeadline: .distantFuture
        )
        if queue.limits.mayRetry {
            request.pace = [.quick, .quick, .quick, .unproven, .slow].randomElement(using: &random) ?? .quick
        }
        _ = request.begin()
        switch queue.submit(request) {
        case .queued(let effect):
            requests.append(request)
            perform(effect.map { [$0] } ?? [], "submit")
        case .refused(let error): broken = "refused: \(error)"
        }
    }

    private mutating func cancel() {
        guard let request = requests.randomElement(using: &random), !request.cancel() else { return }
        events.append("cancel")
    }

    private mutating func enforceTimeLimits() {
        let progress = positions.mapValues { position in
            if case .running(let batch) = position { batch.count / 2 } else { 0 }
        }
        perform(queue.enforceTimeLimits(at: time) { progress[$0] ?? 0 }.effects, "enforceTimeLimits")
    }

    /// Lets the thread of one worker take its next step.
    private mutating func advance() {
        let awake = positions.keys.sorted().filter { slot in
            if case .asleep = positions[slot] { false } else { true }
        }
        guard let slot = awake.randomElement(using: &random), let position = positions[slot] else { return }
        switch position {
        case .starting: connect(slot, isFirst: true)
        case .connecting:
            if mayFail, Int.random(in: 0..<4, using: &random) == 0 {
                backOff(slot)
            } else {
                queue.connected(slot)
                positions[slot] = .awake
                events.append("\(slot) connected")
                if Bool.random(using: &random) { endBackOffs() }
            }
        case .backingOff: connect(slot, isFirst: false)
        case .awake: look(slot, hasYielded: false)
        case .asleep: break
        case .running(let batch): end(batch, slot)
        case .ending:
            positions[slot] = nil
            perform(queue.ended(slot), "\(slot) ended")
        }
    }

    private mutating func connect(_ slot: Int, isFirst: Bool) {
        positions[slot] = queue.mayConnect(slot, isFirst: isFirst) ? .connecting : .ending
    }

    private mutating func backOff(_ slot: Int) {
        let (shallSleep, effects) = queue.backsOff(slot)
        positions[slot] = shallSleep ? .backingOff : .ending
        perform(effects, "\(slot) backs off")
    }

    private mutating func endBackOffs() {
        let effects = queue.endBackOffs()
        events.append("back-offs end: \(effects)")
        for effect in effects {
            guard case .wake(let slot) = effect else {
                broken = "\(effect) wakes no worker"
                return
            }
            switch positions[slot] {
            // A pause may be over already, which the queue learns when the worker has a connection or has ended.
            case .backingOff, .connecting, .ending: break
            default: broken = "worker \(slot) is woken though it does not wait to connect"
            }
        }
    }

    private mutating func look(_ slot: Int, hasYielded: Bool) {
        switch queue.next(slot, at: time, hasYielded: hasYielded, isSuspect: { false }) {
        case .yield: look(slot, hasYielded: true)
        case .run(let batch, _, let effects):
            positions[slot] = .running(batch)
            for request in batch { runs[ObjectIdentifier(request), default: 0] += 1 }
            perform(effects, "\(slot) takes \(batch.count)")
        case .check: broken = "a check without a suspicion"
        case .sleep:
            positions[slot] = .asleep
            events.append("\(slot) sleeps")
        case .stop: lose(slot)
        }
    }

    private mutating func lose(_ slot: Int) {
        perform(queue.disconnected(slot), "\(slot) disconnected")
        if mayFail, Bool.random(using: &random) {
            backOff(slot)
        } else {
            connect(slot, isFirst: false)
        }
    }

    private mutating func end(_ batch: [PostgresRequest], _ slot: Int) {
        queue.finished(slot)
        positions[slot] = .awake
        guard mayFail, Int.random(in: 0..<8, using: &random) == 0 else {
            for request in batch { request.finish(.failure(PostgresError(code: .misuse))) }
            events.append("\(slot) finished")
            return
        }
        // The connection is lost, and nothing of the batch was done.
        for request in batch { losses.insert(ObjectIdentifier(request)) }
        let (refused, effects) = queue.resubmit(batch.map { ($0, .connectionLost) })
        if !refused.isEmpty { broken = "refused \(refused.count) of a queue that is open" }
        perform(effects, "\(slot) resubmits \(batch.count)")
        lose(slot)
    }

    private mutating func perform(_ effects: [ConnectionQueue.Effect], _ event: String) {
        events.append("\(event): \(effects)")
        for effect in effects {
            switch effect {
            case .start(let slot):
                if positions[slot] != nil { broken = "worker \(slot) is started twice" }
                positions[slot] = .starting
            case .wake(let slot):
                switch positions[slot] {
                case .asleep: positions[slot] = .awake
                case .backingOff where queue.phase != .running: break
                default: broken = "worker \(slot) is woken though it does not sleep"
                }
            case .cancel(let slot, let batch):
                guard case .running(let running) = positions[slot], queue.workers[slot].batch == batch,
                    let cancellation = queue.cancellation(for: effect), queue.runs(cancellation),
                    running.first.map({ ObjectIdentifier($0) }) == cancellation.work
                else {
                    broken = "worker \(slot) does not run what is cancelled"
                    continue
                }
            }
        }
    }

    // MARK: What must hold

    /// Says which rule is broken, if any.
    mutating func fault() -> String? {
        if let broken { return broken }
        for (request, count) in runs where count > 1 && !queue.limits.mayRetry && !losses.contains(request) {
            return "a write ran \(count) times"
        }
        guard queue.isStarted else { return nil }
        let takeable = takeable()
        let awake = queue.workers.count { $0.activity == .looking || $0.activity == .settling }
        if takeable > awake, !queue.idle.isEmpty {
            return "\(takeable) statements wait, \(awake) workers are awake, \(queue.idle.count) sleep"
        }
        let isFull = queue.workerCount >= queue.limits.maximumWorkers || queue.backingOffCount > 0
        if takeable > 0, awake == 0, queue.connectingCount == 0, !isFull, !queue.limits.mayRetry {
            return "\(takeable) statements wait, and no worker is added"
        }
        let missing = queue.workerCount < queue.limits.minimumWorkers && queue.backingOffCount == 0
        if missing { return "only \(queue.workerCount) workers are there" }
        return limitFault()
    }

    /// How many of the waiting statements workers could take now, had they connections.
    private func takeable() -> Int {
        var count = 0
        queue.free.visit { _ in
            count += 1
            return true
        }
        if queue.limits.groupTimeout != nil || count > 0 { count = min(count, 1) }
        queue.bounded.visit { request in
            if queue.admits(request) { count = max(1, count) }
            return true
        }
        return count
    }

    private func limitFault() -> String? {
        let running = queue.workers.filter { $0.isBounded && !$0.taken.isEmpty }
        if running.count != queue.boundedCount {
            return "\(queue.boundedCount) bounded workers are counted, not \(running.count)"
        }
        // Reads that turn out to be slow may be too many until they are cancelled.
        guard !queue.limits.mayRetry else { return nil }
        for worker in running {
            guard let contention = worker.contention else { continue }
            let ofTable = running.count { $0.contention?.table == contention.table }
            let ofRow = running.count { $0.contention == contention }
            if ofTable > queue.limits.tableWorkers { return "\(ofTable) workers run statements of one table" }
            if ofRow > queue.limits.rowWorkers { return "\(ofRow) workers run statements of one row" }
        }
        return nil
    }
}
