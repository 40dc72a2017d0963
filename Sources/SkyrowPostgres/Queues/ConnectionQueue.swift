/// The waiting statements and the workers that take them, as a pure state machine: events in, effects out.
///
/// It has no threads, clock or connections, so a test can replay any order of events. ``ConnectionPool`` holds it under a lock
/// and performs its effects. Three rules hold after every event:
///
/// - No statement that a worker may take waits while a worker sleeps or may be added, unless at least as many workers as such
///   statements are awake. A worker counts as awake as soon as it is woken.
/// - Only an idle worker is woken for work. A worker in reconnect back-off wakes by its own timer.
/// - Statements are taken in order, except those that must leave connections to others (``QueueLimits/tableWorkers``,
///   ``QueueLimits/boundedWorkers``): these are passed over and keep their order among themselves.
struct ConnectionQueue {
    enum Phase: Sendable {
        case running
        /// No new statement is accepted; waiting ones still run.
        case draining
        /// Waiting statements were refused.
        case closed
    }

    /// The state of a worker.
    enum Activity: Hashable, Sendable {
        /// The slot has no worker.
        case vacant
        case connecting
        case backingOff
        /// Woken or just connected; it looks for work next.
        case looking
        /// Asleep; the time is when the periodic check first saw it idle.
        case idle(since: MonotonicTime?)
        case working
        /// Resumes the tasks of the statements that it ran.
        case settling
        /// Must end.
        case retiring
    }

    struct Worker {
        var activity = Activity.vacant
        var isConnected = false
        var taken: [PostgresRequest] = []
        var takenAt = MonotonicTime.distantFuture
        /// Unique among the batches of all workers.
        var batch = 0
        /// Whether the worker counts against the limits for bounded statements.
        var isBounded = false
        /// What its bounded statement may wait for.
        var contention: PostgresContention?
        /// How many results the worker had when progress was last seen, and the time of it.
        var progress = 0
        var progressAt = MonotonicTime.distantFuture
        /// Whether its batch is being cancelled to free other statements.
        var isEvicted = false
    }

    /// What an event requires.
    enum Effect: Hashable, Sendable {
        case wake(Int)
        case start(Int)
        /// Makes the server cancel the batch of that number.
        case cancel(Int, batch: Int)
    }

    let limits: QueueLimits
    private(set) var phase = Phase.running
    /// Whether the client runs; statements wait until it does.
    private(set) var isStarted = false
    /// The statements that any worker may take.
    var free = RequestQueue()
    /// The statements that must leave connections to others.
    var bounded = RequestQueue()
    /// Indexed by slot.
    var workers: [Worker] = []
    /// The slots of the idle workers. The last one worked most recently and is woken first, so that surplus workers stay idle.
    var idle: [Int] = []
    var groupLimit: GroupCommitLimit
    var statistics = PostgresStatistics.Queue()
    private var batches = 0
    // Kept beside `workers` because they are read for every statement.
    private(set) var workerCount = 0
    private(set) var lookingCount = 0
    private(set) var connectedCount = 0
    private(set) var connectingCount = 0
    private(set) var backingOffCount = 0
    private(set) var boundedCount = 0

    init(limits: QueueLimits) {
        self.limits = limits
        groupLimit = GroupCommitLimit(maximum: limits.maximumBatch)
    }

    /// Upper bound on the number of waiting statements; cancelled ones count until they are removed.
    var count: Int { free.count + bounded.count }

    var isEmpty: Bool { free.isEmpty && bounded.isEmpty }

    func isBounded(_ request: PostgresRequest) -> Bool {
        limits.boundsEveryStatement || (limits.mayRetry && request.pace == .slow)
    }

    // MARK: Events of tasks

    enum Admission {
        case queued(Effect?)
        case refused(PostgresError)
    }

    mutating func submit(_ request: PostgresRequest) -> Admission {
        guard phase == .running else { return .refused(PostgresError(code: .shutDown)) }
        guard isBounded(request) else {
            guard Self.admit(request, to: &free, limits) else { return .refused(PostgresError(code: .overloaded)) }
            return .queued(cover())
        }
        guard Self.admit(request, to: &bounded, limits) else { return .refused(PostgresError(code: .overloaded)) }
        // One more statement needs at most one more worker.
        return .queued(dispatch(upTo: 1).first)
    }

    private static func admit(_ request: PostgresRequest, to queue: inout RequestQueue, _ limits: QueueLimits) -> Bool {
        guard !request.isUrgent else {
            queue.prepend([request])
            return true
        }
        if queue.count >= limits.maximumLength {
            _ = queue.removeAll(where: \.isFinished)
            guard queue.count < limits.maximumLength else { return false }
        }
        queue.append(request)
        return true
    }

    /// Requeues statements that were taken and must run again, ahead of all others.
    mutating func requeue(_ requests: [PostgresRequest]) -> [Effect] {
        if limits.boundsEveryStatement {
            bounded.prepend(requests)
        } else if limits.mayRetry, requests.contains(where: isBounded) {
            bounded.prepend(requests.filter(isBounded))
            free.prepend(requests.filter { !isBounded($0) })
        } else {
            free.prepend(requests)
        }
        return dispatch()
    }

    // MARK: Events of the client

    mutating func start() -> [Effect] {
        isStarted = true
        return dispatch()
    }

    mutating func drain() -> [Effect] {
        if phase == .running { phase = .draining }
        return wakeAll()
    }

    /// Closes the queue; returns the requests that must be refused.
    mutating func close() -> (refused: [PostgresRequest], effects: [Effect]) {
        phase = .closed
        let refused = free.removeAll { _ in true } + bounded.removeAll { _ in true }
        return (refused, wakeAll())
    }

    /// Wakes every sleeping worker, idle or in back-off.
    private mutating func wakeAll() -> [Effect] {
        var effects: [Effect] = []
        for slot in workers.indices {
            switch workers[slot].activity {
            case .idle, .backingOff: effects.append(wake(slot))
            case .vacant, .connecting, .looking, .working, .settling, .retiring: break
            }
        }
        return effects
    }

    // MARK: Events of a worker

    /// Whether a worker without a connection should open one.
    ///
    /// - Parameter isFirst: Whether the worker was just started, which means that a statement waits for it.
    mutating func mayConnect(_ slot: Int, isFirst: Bool) -> Bool {
        let isWanted: Bool
        switch phase {
        case .closed: isWanted = false
        case .draining: isWanted = hasWaiting()
        case .running: isWanted = isFirst || workerCount <= limits.minimumWorkers || hasWaiting()
        }
        if isWanted { set(slot, .connecting) }
        return isWanted
    }

    mutating func connected(_ slot: Int) {
        statistics.connects += 1
        workers[slot].isConnected = true
        connectedCount += 1
        set(slot, .looking)
    }

    /// Notes that the connection is lost; the worker may open another one.
    mutating func disconnected(_ slot: Int) -> [Effect] {
        release(slot)
        if workers[slot].isConnected {
            workers[slot].isConnected = false
            connectedCount -= 1
        }
        set(slot, .connecting)
        return dispatch()
    }

    /// Notes that the worker pauses before its next attempt to connect; `shallSleep`
    /// is false when no connection is needed any more.
    mutating func backsOff(_ slot: Int) -> (shallSleep: Bool, effects: [Effect]) {
        set(slot, .backingOff)
        switch phase {
        case .closed: return (false, [])
        case .draining where !hasWaiting(): return (false, [])
        case .running, .draining: return (true, dispatch())
        }
    }

    /// Ends all back-offs, since the server accepts connections again.
    mutating func endBackOffs() -> [Effect] {
        workers.indices.filter { workers[$0].activity == .backingOff }.map { slot in
            set(slot, .connecting)
            return .wake(slot)
        }
    }

    /// Whether a worker in back-off was woken early.
    func isBackOffOver(_ slot: Int) -> Bool {
        workers[slot].activity != .backingOff
    }

    /// Notes that the worker has ended.
    mutating func ended(_ slot: Int) -> [Effect] {
        vacate(slot)
        return dispatch()
    }

    /// Notes that the worker could not be started; no other one is tried before ``enforceTimeLimits(at:progress:)``.
    mutating func vacate(_ slot: Int) {
        release(slot)
        if workers[slot].isConnected { connectedCount -= 1 }
        set(slot, .vacant)
        workers[slot] = Worker()
        workerCount -= 1
    }

    enum Step {
        /// There is work, and other tasks may be about to add more.
        case yield
        /// A batch to run; the effects are for the statements that remain.
        case run([PostgresRequest], takenAt: MonotonicTime, effects: [Effect])
        /// Something arrived on the idle connection.
        case check
        case sleep
        case stop
    }

    /// Returns what a worker with a connection does next.
    ///
    /// - Parameters:
    ///   - hasYielded: Whether the worker has already yielded to tasks that are about to queue statements.
    ///   - isSuspect: Whether something arrived on its idle connection.
    mutating func next(
        _ slot: Int,
        at time: @autoclosure () -> MonotonicTime,
        hasYielded: Bool,
        isSuspect: () -> Bool
    ) -> Step {
        switch workers[slot].activity {
        case .retiring: return .stop
        case .idle where phase == .running && !isSuspect(): return .sleep
        case .idle: _ = wake(slot)
        case .vacant, .connecting, .backingOff, .looking, .working, .settling: break
        }
        if !hasYielded, limits.maximumBatch > 1, free.peek() != nil {
            set(slot, .looking)
            return .yield
        }
        let batch = take(slot, at: time())
        if !batch.isEmpty {
            let effects = isEmpty && !workers[slot].isBounded ? [] : dispatch()
            return .run(batch, takenAt: workers[slot].takenAt, effects: effects)
        }
        if phase != .running {
            set(slot, .settling)
            return .stop
        }
        if isSuspect() {
            set(slot, .looking)
            return .check
        }
        set(slot, .idle(since: nil))
        idle.append(slot)
        return .sleep
    }

    /// Notes that the batch of the worker is over.
    ///
    /// - Parameter runs: The duration of each statement with a result, in nanoseconds.
    mutating func finished(_ slot: Int, runs: [Int64] = []) {
        release(slot)
        set(slot, .settling)
        for run in runs { statistics.run.record(run) }
    }

    /// Notes the outcome of a group commit, which determines the limit of the next groups.
    mutating func noteGroup(_ change: (inout GroupCommitLimit) -> Void, hasFailed: Bool) {
        change(&groupLimit)
        if hasFailed { statistics.failedGroups += 1 }
    }

    /// The statistics so far, and the current queue depth and running statements.
    func statistics(at time: MonotonicTime) -> PostgresStatistics.Queue {
        var statistics = statistics
        statistics.queueDepth = count
        statistics.heldBack = heldBackCount
        statistics.connections = connectedCount
        for worker in workers where !worker.taken.isEmpty {
            statistics.busyConnections += 1
            if worker.takenAt + limits.heldUpTimeout <= time { statistics.heldUpConnections += 1 }
        }
        return statistics
    }

    // MARK: Taking batches

    private mutating func take(_ slot: Int, at time: MonotonicTime) -> [PostgresRequest] {
        // A worker above the reserved number takes bounded statements first, so that
        // a stream of quick statements does not starve them.
        let isSpare = connectedCount - boundedCount > limits.reservedWorkers
        if isSpare || free.peek() == nil, let request = takeBounded() {
            return note([request], slot, at: time, isBounded: true)
        }
        let batch = takeFree()
        if !batch.isEmpty { return note(batch, slot, at: time, isBounded: false) }
        return []
    }

    private mutating func takeBounded() -> PostgresRequest? {
        while bounded.peek() != nil, let place = admittedPlace() {
            let request = bounded.remove(at: place)
            if request.take() { return request }
        }
        return nil
    }

    private mutating func takeFree() -> [PostgresRequest] {
        var batch: [PostgresRequest] = []
        var keys: Set<Int> = []
        let isGroup = limits.groupTimeout != nil
        let limit = isGroup ? groupLimit.next : limits.maximumBatch
        filling: while batch.count < limit, let request = free.peek() {
            if request.pace != .quick {
                guard batch.isEmpty else { break }
                _ = free.pop()
                if request.take() { return [request] }
                continue
            }
            switch request.groupCommit {
            case .never, .allowed: break
            case .allowedExcept(let key): guard !isGroup || keys.insert(key).inserted else { break filling }
            }
            _ = free.pop()
            if request.take() { batch.append(request) }
        }
        return batch
    }

    private mutating func note(
        _ batch: [PostgresRequest],
        _ slot: Int,
        at time: MonotonicTime,
        isBounded: Bool
    ) -> [PostgresRequest] {
        let arranged = limits.mayRetry ? CoalescingPlan.arranged(batch, by: \.coalescing) : batch
        set(slot, .working)
        batches += 1
        workers[slot].batch = batches
        workers[slot].taken = arranged
        workers[slot].takenAt = time
        workers[slot].progress = 0
        workers[slot].progressAt = time
        workers[slot].isEvicted = false
        if isBounded { bind(slot, to: batch[0].contention) }
        if limits.groupTimeout != nil { groupLimit.groupBegan() }
        statistics.batches += 1
        statistics.statements += batch.count
        statistics.largestBatch = max(statistics.largestBatch, batch.count)
        statistics.batchSize.record(Int64(batch.count))
        for request in batch { statistics.wait.record(time.nanoseconds - request.queuedAt.nanoseconds) }
        return arranged
    }

    // MARK: Counting workers

    /// Counts the worker's statement against the limits for bounded statements.
    mutating func bind(_ slot: Int, to contention: PostgresContention?) {
        guard !workers[slot].isBounded else { return }
        workers[slot].isBounded = true
        workers[slot].contention = contention
        boundedCount += 1
    }

    private mutating func release(_ slot: Int) {
        if workers[slot].isBounded {
            workers[slot].isBounded = false
            workers[slot].contention = nil
            boundedCount -= 1
        }
        workers[slot].taken = []
    }

    /// Wakes a worker; it counts as awake from now on.
    mutating func wake(_ slot: Int) -> Effect {
        if case .idle = workers[slot].activity { idle.removeAll { $0 == slot } }
        set(slot, workers[slot].isConnected ? .looking : .connecting)
        return .wake(slot)
    }

    mutating func retire(_ slot: Int) -> Effect {
        idle.removeAll { $0 == slot }
        set(slot, .retiring)
        return .wake(slot)
    }

    mutating func addWorker() -> Effect {
        let slot = workers.firstIndex { $0.activity == .vacant } ?? workers.endIndex
        if slot == workers.endIndex { workers.append(Worker()) }
        set(slot, .connecting)
        workerCount += 1
        return .start(slot)
    }

    private mutating func set(_ slot: Int, _ activity: Activity) {
        count(workers[slot].activity, -1)
        workers[slot].activity = activity
        count(activity, 1)
    }

    private mutating func count(_ activity: Activity, _ change: Int) {
        switch activity {
        case .looking: lookingCount += change
        case .connecting: connectingCount += change
        case .backingOff: backingOffCount += change
        case .vacant, .idle, .working, .settling, .retiring: break
        }
    }
}
