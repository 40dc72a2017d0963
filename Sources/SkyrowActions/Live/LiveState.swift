import SkyrowConcurrency
import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// All that the dispatcher of live queries has at hand, under one lock.
struct LiveState {
    /// What a connection has got.
    struct Connection {
        let outlet: any LiveOutlet
        /// The generation of the outlet of which no message was lost.
        var generation: Int
        /// The bytes of all messages so far.
        var sentBytes = 0
        /// Those of the longest message: an outlet that holds nothing takes one of any length.
        var longest = 0
        /// Moments up to which all events were sent, with the bytes sent by then, the oldest first: the last one whose bytes have left
        /// for certain, and those after it.
        fileprivate(set) var moments: [(bytes: Int, mark: LiveMark)] = []
        /// Whether anything was sent since the last checkpoint, and when that was.
        var hasNews = false
        var lastCheckpoint: ContinuousClock.Instant
        /// Whether it takes nothing at the moment.
        var isBehind = false
        /// The ends of subscriptions that it may not have got: one that is dropped is sent again, since nothing else would say that
        /// nothing more comes.
        fileprivate(set) var endings: [Ending] = []
    }

    /// The end of a subscription.
    struct Ending {
        let name: String
        let reason: LiveText.Reset
        /// How long to wait before it is begun again.
        let pause: Duration?
        /// The bytes that its connection had been sent by then.
        fileprivate(set) var bytes = 0
    }

    /// Which source changes come from.
    enum Mode: Equatable {
        /// None yet, or none any more.
        case none
        case logical
        case polling
    }

    /// What tasks wait for; each change of the state wakes those that it concerns.
    enum Aspect: Hashable, Sendable {
        /// Which source changes come from.
        case mode
        /// Whether changes are wanted.
        case use
        /// Whether the members of groups are being read.
        case members
        /// As of when the rights of all sessions are known, and whether they need be.
        case rights
    }

    /// What of the state tasks wait for, as it was when they were last woken.
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
    /// How many wait for a source to begin.
    var awaitingSource = 0 { didSet { wake() } }
    /// Whether the service has stopped to serve live queries.
    var hasEnded = false
    /// All transactions that were visible at this moment have been dispatched.
    var complete: LiveMark?
    /// Moments that the stream has to pass first.
    var pending: [ChangeMoment] = []
    /// Where in the log the stream is.
    var passed: UInt64 = 0
    /// Why subscriptions have ended, until that is counted.
    var endings: [LiveText.Reset] = []
    /// Whether a transaction has come since the last moment was taken.
    var hasStreamed = false
    var nextConnection = 0
    /// Bytes that an outlet drops at most when it falls behind.
    private let outletBuffer: Int
    private let waiting: WaitingTasks<Aspect>
    private var standing = Standing()

    init(limits: SubscriptionLimits, outletBuffer: Int, waiting: WaitingTasks<Aspect> = WaitingTasks()) {
        registry = LiveRegistry(limits: limits)
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

    /// The outlet of a connection has dropped messages: nothing is sent until it takes messages again.
    mutating func fellBehind(_ number: LiveRegistry.Connection) {
        connections[number]?.isBehind = true
        connections[number]?.forgetEnds(outletBuffer)
        // What waits for records at the beginning of a subscription was dropped as well.
        for subscriber in registry.subscribers(of: number) {
            if let position = positionAfterLoss(of: subscriber) { registry.pause(subscriber, at: position) }
        }
        watches.pause(number)
    }

    /// Ends a subscription and says why.
    mutating func reset(
        _ subscriber: LiveRegistry.Subscriber,
        _ reason: LiveText.Reset,
        after pause: Duration? = nil
    ) {
        guard let known = registry.subscribers[subscriber] else { return }
        let hasToken = reason == .gap || reason == .bulk
        let token = hasToken ? resumptionToken(of: subscriber) : nil
        registry.remove(subscriber)
        end(known.name, on: known.connection, reason, token: token, after: pause)
    }

    /// Counts a subscription of either kind that has ended, and says why.
    mutating func end(
        _ name: String,
        on connection: LiveRegistry.Connection,
        _ reason: LiveText.Reset,
        token: String? = nil,
        after pause: Duration?
    ) {
        endings.append(reason)
        sendEnd(Ending(name: name, reason: reason, pause: pause), token: token, to: connection)
    }

    /// Sends the end of a subscription, to a connection that takes nothing at the moment as soon as it does.
    ///
    /// - Parameter token: from where it can go on, as long as nothing before it is dropped.
    mutating func sendEnd(_ ending: Ending, token: String? = nil, to number: LiveRegistry.Connection) {
        forgetEnd(of: ending.name, on: number)
        send(LiveText.reset(ending.name, ending.reason, token: token, after: ending.pause), to: number)
        connections[number]?.keep(ending, outletBuffer)
    }

    /// Sends a connection the ends of subscriptions that were dropped.
    mutating func sendEnds(to number: LiveRegistry.Connection) {
        for ending in connections[number]?.endings ?? [] { sendEnd(ending, to: number) }
    }

    /// Forgets the end of a subscription that a client may not have got: it uses the name anew.
    mutating func forgetEnd(of name: String, on number: LiveRegistry.Connection) {
        connections[number]?.endings.removeAll { $0.name == name }
    }

    // MARK: Checkpoints

    /// The moment from which a subscription goes on without a gap; nil where that is its beginning.
    func resumption(of subscriber: LiveRegistry.Subscriber) -> LiveMark? {
        guard let known = registry.subscribers[subscriber], known.value.isLive else { return nil }
        // Before the first moment there is the one at which the subscription began.
        return complete ?? known.began
    }

    /// The same as a token.
    func resumptionToken(of subscriber: LiveRegistry.Subscriber) -> String? {
        resumption(of: subscriber).flatMap { registry.subscribers[subscriber]?.value.token(at: $0) }
    }

    /// Where a subscription whose connection has dropped messages goes on.
    ///
    /// At most as many bytes of the last ones were dropped as an outlet holds, and one message: what was sent before has left.
    private func positionAfterLoss(of subscriber: LiveRegistry.Subscriber) -> LiveSubscriber.Position? {
        guard let known = registry.subscribers[subscriber], let connection = connections[known.connection] else {
            return nil
        }
        let left = connection.certainBytes(outletBuffer)
        if let safe = connection.moments.last(where: { $0.bytes <= left && $0.bytes >= known.beganAtBytes }) {
            return .mark(safe.mark)
        }
        // All that was sent of its beginning has left.
        if let began = known.began, known.beganAtBytes <= left { return .mark(began) }
        return known.position
    }

    /// Takes a moment up to which all has been dispatched.
    mutating func completed(_ moment: ChangeMoment) {
        let mark = LiveMark(moment)
        complete = mark
        for number in connections.keys where connections[number]?.isBehind == false {
            connections[number]?.note(mark, outletBuffer)
        }
    }

    /// Takes how far the stream is: the moments that it has passed are those up to which all has been dispatched.
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

    /// Sends each connection that has had news, or has heard nothing for long, the tokens of its subscriptions.
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

    /// Sends what a transaction led to.
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

    /// Sends a message, unless the connection takes nothing at the moment.
    fileprivate mutating func send(_ message: LiveMessage) -> Sent? {
        guard !isBehind else { return nil }
        let length = message.byteCount
        guard outlet.send(message, in: generation) else { return .dropped }
        sentBytes += length
        longest = max(longest, length)
        hasNews = true
        return .taken
    }

    /// How many bytes of what was sent have left for certain.
    fileprivate func certainBytes(_ outletBuffer: Int) -> Int { sentBytes - outletBuffer - longest }

    /// Keeps the end of a subscription until it has left for certain.
    fileprivate mutating func keep(_ ending: LiveState.Ending, _ outletBuffer: Int) {
        forgetEnds(outletBuffer)
        var ending = ending
        ending.bytes = sentBytes
        endings.append(ending)
    }

    /// Forgets the ends of subscriptions that have left for certain.
    fileprivate mutating func forgetEnds(_ outletBuffer: Int) {
        let left = certainBytes(outletBuffer)
        endings.removeAll { $0.bytes <= left }
    }

    /// Notes a moment up to which all was sent.
    fileprivate mutating func note(_ mark: LiveMark, _ outletBuffer: Int) {
        if moments.last?.bytes == sentBytes {
            // Nothing was sent in between, so the earlier one is of no use.
            moments[moments.count - 1].mark = mark
        } else {
            moments.append((sentBytes, mark))
        }
        let certain = certainBytes(outletBuffer)
        if moments.count > 1, moments[1].bytes <= certain {
            moments.removeFirst(moments.lastIndex { $0.bytes <= certain } ?? 0)
        }
        guard moments.count > Self.maximumMoments else { return }
        // The first one stays, and of the others every second one.
        moments = moments.enumerated().compactMap { $0.isMultiple(of: 2) ? $1 : nil }
    }

    private static var maximumMoments: Int { 128 }
}

extension Duration {
    /// A random time, so that not all come back at once.
    static func jitter(within limit: Duration) -> Duration {
        let (seconds, attoseconds) = limit.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        return .milliseconds(Int64.random(in: 0...max(0, milliseconds)))
    }
}
