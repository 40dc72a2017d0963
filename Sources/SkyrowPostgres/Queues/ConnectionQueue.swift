/// The statements that wait for a connection and the workers that take them, as a value: events in, effects out.
///
/// It has no threads, no clock and no connections, so a test can put it through every order of events; ``ConnectionPool`` holds
/// it under a lock and carries out its effects. Three rules hold after every event:
///
/// - No statement that a worker may take waits while a worker sleeps or may be added, unless as many workers as there
///   are such statements are awake already. A worker counts as awake from the moment it is woken.
/// - Only an idle worker is woken for work. One that waits to connect again sleeps by itself.
/// - Statements are taken in order, except those that have to leave connections to others
///   (``QueueLimits/tableWorkers``, ``QueueLimits/boundedWorkers``): these are passed over and keep their order among
///   themselves.
struct ConnectionQueue {
    enum Phase: Sendable {
        case running
        /// Nothing new is accepted; what waits is still done.
        case draining
        /// What waits was refused.
        case closed
    }

    /// What a worker does.
    enum Activity: Hashable, Sendable {
        /// The slot has no worker.
        case vacant
        case connecting
        case backingOff
        /// It was woken, or has just connected, and looks for work next.
        case looking
        /// It sleeps; the time is when it was first seen to.
        case idle(since: MonotonicTime?)
        case working
        /// It resumes the tasks whose statements it ran.
        case settling
        /// It is to end.
        case retiring
    }

    struct Worker {
        var activity = Activity.vacant
        var isConnected = false
        var taken: [PostgresRequest] = []
        var takenAt = MonotonicTime.distantFuture
        /// Unique among the batches of all workers.
        var batch = 0
        /// Whether it counts against the limits for bounded statements.
        var isBounded = false
        /// What its statement may wait for, if it is bounded.
        var contention: PostgresContention?
        /// How far it was when it was last seen to get on, and when.
        var progress = 0
        var progressAt = MonotonicTime.distantFuture
        /// Whether its batch is being cancelled for the sake of others.
        var isEvicted = false
    }

    /// What has to be done about an event.
    enum Effect: Hashable, Sendable {
        case wake(Int)
        case start(Int)
        /// Has the server cancel the batch of that number.
        case cancel(Int, batch: Int)
    }

    let limits: QueueLimits
    private(set) var phase = Phase.running
    /// Whether the client runs; before, statements wait.
    private(set) var isStarted = false
    /// The statements that any worker may take.
    var free = RequestQueue()
    /// The statements that have to leave connections to others.
    var bounded = RequestQueue()
    /// By slot.
    var workers: [Worker] = []
    /// The slots of the idle workers, the one that worked last at the end: it is woken first, so that surplus ones
    /// rest.
    var idle: [Int] = []
    var groupLimit: GroupCommitLimit
    var statistics = PostgresStatistics.Queue()
    private var batches = 0
    // Kept beside `workers`, because they are looked at for every statement.
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

    /// The statements that wait, at most; those whose task gave up count until they are met.
    var count: Int { free.count + bounded.count }

    var isEmpty: Bool { free.isEmpty && bounded.isEmpty }

    func isBounded(_ request: PostgresRequest) -> Bool {
        limits.boundsEveryStatement || (limits.mayRetry && request.pace == .slow)
    }

    // MARK: Events of the callers

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
        // One more statement is worth one more worker at most.
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

    /// Puts back statements that were taken and must be done again, before all others.
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

    /// Ends the queue; returns what has to be refused.
    mutating func close() -> (refused: [PostgresRequest], effects: [Effect]) {
        phase = .closed
        let refused = free.removeAll { _ in true } + bounded.removeAll { _ in true }
        return (refused, wakeAll())
    }

    /// Wakes every worker that sleeps, for whatever reason.
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
    /// - Parameter isFirst: Whether it was started just now, so that something waits for it.
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

    /// The connection is gone; the worker may open another one.
    mutating func disconnected(_ slot: Int) -> [Effect] {
        release(slot)
        if workers[slot].isConnected {
            workers[slot].isConnected = false
            connectedCount -= 1
        }
        set(slot, .connecting)
        return dispatch()
    }

    /// The worker waits before its next attempt to connect; false when there is no point in one any more.
    mutating func backsOff(_ slot: Int) -> (shallSleep: Bool, effects: [Effect]) {
        set(slot, .backingOff)
        switch phase {
        case .closed: return (false, [])
        case .draining where !hasWaiting(): return (false, [])
        case .running, .draining: return (true, dispatch())
        }
    }

    /// The server takes connections again, so no worker waits any longer before its next attempt.
    mutating func endBackOffs() -> [Effect] {
        workers.indices.filter { workers[$0].activity == .backingOff }.map { slot in
            set(slot, .connecting)
            return .wake(slot)
        }
    }

    /// Whether a worker that waits to connect again was woken before its time.
    func isBackOffOver(_ slot: Int) -> Bool {
        workers[slot].activity != .backingOff
    }

    /// The worker is gone.
    mutating func ended(_ slot: Int) -> [Effect] {
        vacate(slot)
        return dispatch()
    }

    /// The worker could not be started; no other one is tried before ``enforceTimeLimits(at:progress:)``.
    mutating func vacate(_ slot: Int) {
        release(slot)
        if workers[slot].isConnected { connectedCount -= 1 }
        set(slot, .vacant)
        workers[slot] = Worker()
        workerCount -= 1
    }

    enum Step {
        /// There is work; others may be about to add to it.
        case yield
        /// What it leaves may be the work of others.
        case run([PostgresRequest], takenAt: MonotonicTime, effects: [Effect])
        /// Something arrived on the idle connection.
        case check
        case sleep
        case stop
    }

    /// What a worker with a connection does next.
    ///
    /// - Parameters:
    ///   - hasYielded: Whether it has given those a chance who are about to add to the queue.
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

    /// The worker's batch is over.
    ///
    /// - Parameter runs: How long each statement with a result took, in nanoseconds.
    mutating func finished(_ slot: Int, runs: [Int64] = []) {
        release(slot)
        set(slot, .settling)
        for run in runs { statistics.run.record(run) }
    }

    /// A group of writes has ended, and the limit of the next ones follows from that.
    mutating func noteGroup(_ change: (inout GroupCommitLimit) -> Void, hasFailed: Bool) {
        change(&groupLimit)
        if hasFailed { statistics.failedGroups += 1 }
    }

    /// The statistics so far, with what waits and runs now.
    func statistics(at time: MonotonicTime) -> PostgresStatistics.Queue {
        var statistics = statistics
        statistics.queueDepth = count
        statistics.heldBack = heldBackCount
        statistics.connections = connectedCount
        for worker in workers where !worker.taken.isEmpty {
            statistics.busyConnections += 1
            if worker.takenAt + Self.patience <= time { statistics.heldUpConnections += 1 }
        }
        return statistics
    }

    // MARK: Taking

    private mutating func take(_ slot: Int, at time: MonotonicTime) -> [PostgresRequest] {
        // A worker that others can spare takes what is bounded first, so that a stream of quick statements does not
        // keep it waiting for ever.
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
            case .allowedExcept(let key):
                guard !isGroup || keys.insert(key).inserted else { break filling }
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

    // MARK: What the workers are counted as

    /// Counts a worker's statement against the limits.
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

    /// Takes a worker out of its sleep; it counts as awake from now on.
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
