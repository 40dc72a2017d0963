import SkyrowModel

/// The requests that wait for the first change of some records, as a value: no lock, no clock, no task.
///
/// They are asked about by what they wait for, so that many requests for the same records cost one question. After every
/// question each request is either woken, or nothing has changed that it does not have.
///
/// ```swift
/// var waits = FeedWaits(FeedWaits.Limits(all: 1000, ofClient: 250))
/// waits.arrive(1, of: client, for: notes, since: seen)   // .waits
/// waits.answered(notes, hasChanged: true, at: present)   // [1]
/// ```
struct FeedWaits: Sendable {
    typealias Ticket = UInt64

    struct Limits: Hashable, Sendable {
        var all: Int
        var ofClient: Int
    }

    /// What a request waits for.
    struct Subject: Hashable, Sendable {
        var type: RecordTypeName
        var database: DatabaseScope
    }

    /// What becomes of a request that arrives.
    enum Arrival: Hashable, Sendable {
        case waits
        /// Too many of this client wait.
        case clientIsFull
        /// Too many wait.
        case isFull
        /// None waits any more: the service shuts down.
        case hasEnded
    }

    private struct Waiting {
        /// What all of its requests have at least.
        var seen: TransactionSet
        var tickets: Set<Ticket> = []
    }

    let limits: Limits
    private var subjects: [Subject: Waiting] = [:]
    private var tickets: [Ticket: (subject: Subject, client: ClientKey)] = [:]
    private var clients: [ClientKey: Int] = [:]
    private(set) var hasEnded = false

    init(_ limits: Limits) {
        self.limits = limits
    }

    var count: Int { tickets.count }

    /// What is waited for, and what is known of each.
    var questions: [(subject: Subject, seen: TransactionSet)] { subjects.map { ($0.key, $0.value.seen) } }

    /// - Parameter seen: what the request has.
    mutating func arrive(
        _ ticket: Ticket,
        of client: ClientKey,
        for subject: Subject,
        since seen: TransactionSet
    ) -> Arrival {
        guard !hasEnded else { return .hasEnded }
        guard clients[client, default: 0] < limits.ofClient else { return .clientIsFull }
        guard count < limits.all else { return .isFull }
        var waiting = subjects[subject] ?? Waiting(seen: seen)
        if seen.isOlder(than: waiting.seen) { waiting.seen = seen }
        waiting.tickets.insert(ticket)
        subjects[subject] = waiting
        tickets[ticket] = (subject, client)
        clients[client, default: 0] += 1
        return .waits
    }

    /// Takes a request back; false when it does not wait.
    mutating func leave(_ ticket: Ticket) -> Bool {
        guard let (subject, client) = tickets.removeValue(forKey: ticket) else { return false }
        let left = (clients[client] ?? 1) - 1
        clients[client] = left > 0 ? left : nil
        subjects[subject]?.tickets.remove(ticket)
        if subjects[subject]?.tickets.isEmpty ?? false { subjects[subject] = nil }
        return true
    }

    /// Notes the answer to a question; returns the requests that are to be woken.
    ///
    /// - Parameters:
    ///   - asked: what was known when it was asked.
    ///   - present: a moment before it was asked.
    mutating func answered(
        _ subject: Subject,
        since asked: TransactionSet,
        hasChanged: Bool,
        at present: TransactionSet
    ) -> [Ticket] {
        guard let waiting = subjects[subject] else { return [] }
        if hasChanged {
            let woken = Array(waiting.tickets)
            for ticket in woken { _ = leave(ticket) }
            return woken
        }
        // One that came meanwhile may have less.
        if waiting.seen == asked { subjects[subject]?.seen = present }
        return []
    }

    /// Ends all of them, and lets none in any more.
    mutating func end() -> [Ticket] {
        hasEnded = true
        defer {
            subjects = [:]
            tickets = [:]
            clients = [:]
        }
        return Array(tickets.keys)
    }
}

extension TransactionSet {
    /// Whether it was taken before another: of two moments of one database, one has all that the other has.
    fileprivate func isOlder(than other: TransactionSet) -> Bool {
        end == other.end ? missing.count > other.missing.count : end < other.end
    }
}
