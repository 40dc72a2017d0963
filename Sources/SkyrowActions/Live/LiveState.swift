import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore

/// The state of the live-query dispatcher, under one lock.
struct LiveState {
    /// The delivery state of a connection.
    struct Connection {
        let outlet: any LiveOutlet
        /// The outlet's generation in which no message was lost.
        var generation: Int
        /// The bytes of all messages so far.
        var sentBytes = 0
        /// The bytes of the longest message: an empty outlet accepts a message of any length.
        var longest = 0
        /// Positions up to which all events were sent, with the bytes sent by then, oldest first: the last one whose bytes were
        /// certainly written, and those after it.
        fileprivate(set) var moments: [(bytes: Int, mark: LiveMark)] = []
        /// Whether anything was sent since the last checkpoint, and when that was.
        var hasNews = false
        var lastCheckpoint: ContinuousClock.Instant
        /// Whether it currently accepts nothing.
        var isBehind = false
        /// The ends of subscriptions that may not be delivered. A dropped one is sent again, since nothing else shows the client
        /// that no more events follow.
        fileprivate(set) var endings: [Ending] = []
    }

    /// The end of a subscription.
    struct Ending {
        let name: String
        let reason: LiveReset
        /// The pause before the client restarts it.
        let pause: Duration?
        /// The bytes sent to its connection by then.
        fileprivate(set) var bytes = 0
    }

    /// The source of changes.
    enum Mode: Equatable {
        /// No source yet, or no longer.
        case none
        case logical
        case polling
    }

    /// An aspect of the state that tasks wait for; each change of the state wakes the tasks of its aspects.
    enum Aspect: Hashable, Sendable {
        /// The source of changes.
        case mode
        /// Whether changes are wanted.
        case use
        /// Whether the members of groups are being read.
        case members
        /// The time as of which the rights of all sessions are known, and whether they need to be.
        case rights
    }

    /// The values that tasks wait for, as of the last wake-up.
    private struct Standing: Equatable {
        var mode = Mode.none
        var isWanted = false
        var isUnused = true
        var readings = 0
    }

    var registry: LiveRegistry { didSet { wake() } }
    var watches: WatchRegistry { didSet { wake() } }
    var connections: [LiveRegistry.Connection: Connection] = [:]
    var mode = Mode.none { didSet { wake() } }
    /// How many callers wait for a source to start.
    var awaitingSource = 0 { didSet { wake() } }
    /// Whether the service has stopped serving live queries.
    var hasEnded = false
    /// The position up to which all transactions have been dispatched.
    var complete: LiveMark?
    /// Snapshots that the stream has not passed yet.
    var pending: [ChangeMoment] = []
    /// The position of the stream (an LSN).
    var passed: UInt64 = 0
    /// The reasons of ended subscriptions that are not counted yet.
    var endings: [LiveReset] = []
    /// Whether a transaction has arrived since the last snapshot was taken.
    var hasStreamed = false
    var nextConnection = 0
    /// Upper bound on the bytes that an outlet drops when it falls behind.
    private let outletBuffer: Int
    private let waiting: WaitingTasks<Aspect>
    private var standing = Standing()

    init(
        limits: SubscriptionLimits,
        outletBuffer: Int,
        links: FileLinks? = nil,
        waiting: WaitingTasks<Aspect> = WaitingTasks()
    ) {
        registry = LiveRegistry(limits: limits, links: links)
        watches = WatchRegistry(limits: limits)
        self.outletBuffer = outletBuffer
        self.waiting = waiting
    }

    private mutating func wake() {
        let before = standing
        standing = Standing(mode: mode, isWanted: isWanted, isUnused: isUnused, readings: registry.readingsEnded)
        guard standing != before else { return }
        var aspects: Set<Aspect> = []
        if standing.mode != before.mode { aspects.formUnion([.mode, .members]) }
        if standing.isWanted != before.isWanted { aspects.insert(.use) }
        if standing.isUnused != before.isUnused { aspects.formUnion([.use, .rights]) }
        if standing.readings != before.readings { aspects.insert(.members) }
        waiting.wake { aspects.contains($0) }
    }

    // MARK: Sending

    mutating func send(_ message: LiveMessage, to number: LiveRegistry.Connection) {
        if connections[number]?.send(message) == .dropped { fellBehind(number) }
    }

    /// Handles an outlet that has dropped messages: nothing is sent until it accepts messages again.
    mutating func fellBehind(_ number: LiveRegistry.Connection) {
        connections[number]?.isBehind = true
        connections[number]?.forgetEnds(outletBuffer)
        // Subscriptions that load lose their buffered events as well.
        for subscriber in registry.subscribers(of: number) {
            if let position = positionAfterLoss(of: subscriber) { registry.pause(subscriber, at: position) }
        }
        watches.pause(number)
    }

    /// Ends a subscription, and sends the reason.
    mutating func reset(_ subscriber: LiveRegistry.Subscriber, _ reason: LiveReset, after pause: Duration? = nil) {
        guard let known = registry.subscribers[subscriber] else { return }
        let hasToken = reason == .gap || reason == .bulk
        let token = hasToken ? resumptionToken(of: subscriber) : nil
        registry.remove(subscriber)
        end(known.name, on: known.connection, reason, token: token, after: pause)
    }

    /// Counts an ended subscription of either kind, and sends the reason.
    mutating func end(
        _ name: String,
        on connection: LiveRegistry.Connection,
        _ reason: LiveReset,
        token: String? = nil,
        after pause: Duration?
    ) {
        endings.append(reason)
        sendEnd(Ending(name: name, reason: reason, pause: pause), token: token, to: connection)
    }

    /// Sends the end of a subscription; a connection that is behind receives it when it accepts messages again.
    ///
    /// - Parameter token: the token from which it can resume, unless messages before it are dropped.
    mutating func sendEnd(_ ending: Ending, token: String? = nil, to number: LiveRegistry.Connection) {
        forgetEnd(of: ending.name, on: number)
        send(LiveText.reset(ending.name, ending.reason, token: token, after: ending.pause), to: number)
        connections[number]?.keep(ending, outletBuffer)
    }

    /// Sends a connection the ends of subscriptions that were dropped.
    mutating func sendEnds(to number: LiveRegistry.Connection) {
        for ending in connections[number]?.endings ?? [] { sendEnd(ending, to: number) }
    }

    /// Forgets the undelivered end of a subscription whose name the client reuses.
    mutating func forgetEnd(of name: String, on number: LiveRegistry.Connection) {
        connections[number]?.endings.removeAll { $0.name == name }
    }

    // MARK: Checkpoints

    /// Returns the position from which a subscription resumes without a gap; nil if it has to start over.
    func resumption(of subscriber: LiveRegistry.Subscriber) -> LiveMark? {
        guard let known = registry.subscribers[subscriber], known.value.isLive else { return nil }
        // Before the first such position it is the one at which the subscription began.
        return complete ?? known.began
    }

    /// Returns that position as a token.
    func resumptionToken(of subscriber: LiveRegistry.Subscriber) -> String? {
        resumption(of: subscriber).flatMap { registry.subscribers[subscriber]?.value.token(at: $0) }
    }

    /// Returns the position from which a subscription resumes after its connection has dropped messages.
    ///
    /// At most the last bytes that an outlet holds and one message were dropped; everything earlier was written.
    private func positionAfterLoss(of subscriber: LiveRegistry.Subscriber) -> LiveSubscriber.Position? {
        guard let known = registry.subscribers[subscriber], let connection = connections[known.connection] else {
            return nil
        }
        let left = connection.certainBytes(outletBuffer)
        if let safe = connection.moments.last(where: { $0.bytes <= left && $0.bytes >= known.beganAtBytes }) {
            return .mark(safe.mark)
        }
        // Its whole load was written.
        if let began = known.began, known.beganAtBytes <= left { return .mark(began) }
        return known.position
    }

    /// Sets the snapshot up to which everything has been dispatched.
    mutating func completed(_ moment: ChangeMoment) {
        let mark = LiveMark(moment)
        complete = mark
        for number in connections.keys where connections[number]?.isBehind == false {
            connections[number]?.note(mark, outletBuffer)
        }
    }

    /// Updates the position of the stream, which completes the snapshots that it has passed.
    mutating func passed(_ position: UInt64) {
        passed = position
        registry.passed(position)
        var reached: ChangeMoment?
        while let first = pending.first, first.walPosition <= position {
            reached = first
            pending.removeFirst()
        }
        if let reached { completed(reached) }
    }

    /// Sends the tokens of its subscriptions to each connection that has received events, or nothing for long.
    mutating func sendCheckpoints(at now: ContinuousClock.Instant) {
        guard let complete else { return }
        for (number, connection) in connections where !connection.isBehind {
            let elapsed = now - connection.lastCheckpoint
            guard elapsed >= .seconds(25) || (connection.hasNews && elapsed >= .seconds(5)) else { continue }
            var tokens: [(name: String, token: String)] = []
            for subscriber in registry.subscribers(of: number) {
                guard let known = registry.subscribers[subscriber]?.value, known.isLive,
                    let token = known.token(at: complete)
                else { continue }
                tokens.append((known.name, token))
            }
            connections[number]?.lastCheckpoint = now
            guard !tokens.isEmpty else {
                connections[number]?.hasNews = false
                continue
            }
            let message = LiveText.checkpoint(tokens.sorted { $0.name < $1.name }, isReady: false)
            send(message, to: number)
            connections[number]?.hasNews = false
        }
    }

    // MARK: Transactions

    /// Sends the outcome of a transaction.
    mutating func perform(_ dispatch: LiveRegistry.Dispatch) {
        for (connection, message) in dispatch.messages { send(message, to: connection) }
        for (subscriber, reason) in dispatch.resets { reset(subscriber, reason, after: .jitter(within: .seconds(2))) }
    }
}

extension LiveState.Connection {
    fileprivate enum Sent {
        case taken
        case dropped
    }

    /// Sends a message, unless the connection currently accepts nothing.
    fileprivate mutating func send(_ message: LiveMessage) -> Sent? {
        guard !isBehind else { return nil }
        let length = message.byteCount
        guard outlet.send(message, in: generation) else { return .dropped }
        sentBytes += length
        longest = max(longest, length)
        hasNews = true
        return .taken
    }

    /// Returns how many of the sent bytes were certainly written.
    fileprivate func certainBytes(_ outletBuffer: Int) -> Int { sentBytes - outletBuffer - longest }

    /// Keeps the end of a subscription until it was certainly written.
    fileprivate mutating func keep(_ ending: LiveState.Ending, _ outletBuffer: Int) {
        forgetEnds(outletBuffer)
        var ending = ending
        ending.bytes = sentBytes
        endings.append(ending)
    }

    /// Forgets the ends of subscriptions that were certainly written.
    fileprivate mutating func forgetEnds(_ outletBuffer: Int) {
        let left = certainBytes(outletBuffer)
        endings.removeAll { $0.bytes <= left }
    }

    /// Notes a position up to which everything was sent.
    fileprivate mutating func note(_ mark: LiveMark, _ outletBuffer: Int) {
        if moments.last?.bytes == sentBytes {
            // Nothing was sent in between, so the later position replaces the earlier one.
            moments[moments.count - 1].mark = mark
        } else {
            moments.append((sentBytes, mark))
        }
        let certain = certainBytes(outletBuffer)
        if moments.count > 1, moments[1].bytes <= certain {
            moments.removeFirst(moments.lastIndex { $0.bytes <= certain } ?? 0)
        }
        guard moments.count > Self.maximumMoments else { return }
        // Keeps the first one, and every second one of the others.
        moments = moments.enumerated().compactMap { $0.isMultiple(of: 2) ? $1 : nil }
    }

    private static var maximumMoments: Int { 128 }
}

extension Duration {
    /// Returns a random duration, so that clients don't all return at once.
    static func jitter(within limit: Duration) -> Duration {
        let (seconds, attoseconds) = limit.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        return .milliseconds(Int64.random(in: 0...max(0, milliseconds)))
    }
}
