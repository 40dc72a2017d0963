import SkyrowModel

/// The subscriptions of a client's event stream, and where each of them continues: a value without a connection.
///
/// One stream carries all of them. To add one, the stream is reopened with all of them, each from its last checkpoint.
struct LiveStreamPlan {
    /// The number of subscriptions that the service accepts on a connection, and of calls in a batch.
    static let maximumCount = 100

    struct Opening: Hashable {
        struct Entry: Hashable {
            /// The id of the call.
            var id: Int
            var name: String
            var start: LiveStart
        }

        var generation: Int
        var entries: [Entry]
        /// The subscriptions that have started before and start again without a token.
        var restarted: [String]
    }

    private struct Member {
        var start: LiveStart
        /// The stream that carries it; nil while it waits for one.
        var generation: Int?
        /// Whether a stream has carried it since it was attached.
        var hasBegun = false
    }

    private var members: [String: Member] = [:]
    private var calls: [Int: String] = [:]
    private(set) var generation = 0
    /// Whether the stream carries subscriptions that have been removed.
    private(set) var hasLeftovers = false

    var isEmpty: Bool { members.isEmpty }
    var names: [String] { members.keys.sorted() }

    /// Adds a subscription to the next stream; false when there are too many.
    mutating func attach(_ name: String, _ start: LiveStart) -> Bool {
        guard members[name] != nil || members.count < Self.maximumCount else { return false }
        members[name] = Member(start: start)
        return true
    }

    mutating func remove(_ name: String) {
        guard let member = members.removeValue(forKey: name) else { return }
        if member.generation == generation { hasLeftovers = true }
    }

    /// Returns the subscriptions of a new stream, which replaces the current one; nil without subscriptions.
    mutating func open() -> Opening? {
        guard !members.isEmpty else { return nil }
        generation += 1
        hasLeftovers = false
        calls = [:]
        var opening = Opening(generation: generation, entries: [], restarted: [])
        for (place, name) in names.enumerated() {
            guard var member = members[name] else { continue }
            if member.hasBegun, member.start == .anew { opening.restarted.append(name) }
            member.generation = generation
            member.hasBegun = true
            members[name] = member
            calls[place + 1] = name
            opening.entries.append(Opening.Entry(id: place + 1, name: name, start: member.start))
        }
        return opening
    }

    /// Returns the items that a message brings, each with its subscription and the length of its JSON.
    mutating func take(_ notice: LiveNotice, of generation: Int) -> [(name: String, item: LiveItem, byteCount: Int)] {
        guard generation == self.generation else { return [] }
        switch notice {
        case .response(let id, let error):
            guard let error, let name = id.flatMap({ calls[$0] }), isIn(name) else { return [] }
            members[name] = nil
            return [(name, .refused(.refused(error)), 0)]
        case .changes(let changes, let whole):
            return handOut(changes, wholeOf: whole)
        case .checkpoint(let tokens, let isReady):
            var items: [(String, LiveItem, Int)] = []
            for (name, token) in tokens.sorted(by: { $0.key < $1.key }) where isIn(name) {
                members[name]?.start = .since(token)
                items.append((name, .checkpoint(token: token, isReady: isReady), token.utf8.count))
            }
            return items
        case .reset(let name, let reason, let token, let pause):
            guard isIn(name) else { return [] }
            members[name] = nil
            return [(name, .reset(reason, token: token, pause: pause), 0)]
        case .closed, .unknown:
            return []
        }
    }

    private func handOut(
        _ changes: [LiveNotice.Change],
        wholeOf whole: String?
    ) -> [(name: String, item: LiveItem, byteCount: Int)] {
        struct Batch {
            var events: [LiveEvent] = []
            var results: [WatchedChange] = []
            var byteCount = 0
        }
        var order: [String] = []
        var batches: [String: Batch] = [:]
        // A whole result may be empty.
        if let whole, isIn(whole) {
            order.append(whole)
            batches[whole] = Batch()
        }
        for change in changes where isIn(change.subscription) {
            if batches[change.subscription] == nil { order.append(change.subscription) }
            switch change.content {
            case .event(let event): batches[change.subscription, default: Batch()].events.append(event)
            case .result(let result): batches[change.subscription, default: Batch()].results.append(result)
            }
            batches[change.subscription, default: Batch()].byteCount += change.byteCount
        }
        var items: [(name: String, item: LiveItem, byteCount: Int)] = []
        for name in order {
            guard let batch = batches[name] else { continue }
            if name == whole || !batch.results.isEmpty {
                items.append((name, .result(batch.results, isWhole: name == whole), batch.byteCount))
            } else {
                items.append((name, .changes(batch.events), batch.byteCount))
            }
        }
        return items
    }

    /// Removes a subscription that falls behind.
    mutating func drop(_ name: String) {
        remove(name)
    }

    /// Removes all subscriptions of a stream that was refused as a whole; returns their names.
    mutating func refuseAll(of generation: Int) -> [String] {
        let refused = names.filter { members[$0]?.generation == generation }
        for name in refused { members[name] = nil }
        return refused
    }

    private func isIn(_ name: String) -> Bool { members[name]?.generation == generation }
}

/// The pauses between the streams of a client.
enum LivePauses {
    /// How long a stream waits before it opens, so that subscriptions that start together share it.
    static let opening = Duration.milliseconds(20)
    /// How long a stream continues to carry removed subscriptions.
    static let leftovers = Duration.seconds(1)
    /// How long a stream may be silent; the service sends something every 25 seconds.
    static let silence = Duration.seconds(60)
    private static let first = Duration.milliseconds(500)
    private static let longest = Duration.seconds(30)
    /// The longest delay that the service may ask for.
    static let longestAsked = Duration.seconds(60)

    /// Returns the delay before an attempt.
    ///
    /// - Parameters:
    ///   - attempt: 1 for the first one after a stream that was open.
    ///   - asked: the shortest delay, which the service asks of all clients; it counts up to 60 seconds.
    ///   - share: the position in the range of delays, 0 to 1; random, so that clients do not return at the same time.
    static func before(attempt: Int, asked: Duration?, share: Double) -> Duration {
        let own = min(first * (1 << min(attempt - 1, 10)), longest) * (0.5 + share / 2)
        return max(own, min(asked ?? .zero, longestAsked) * (1 + share / 2))
    }
}
