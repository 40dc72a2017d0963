import SkyrowModel

/// The requests that wait for the first change of some records, as a value: without a lock, clock or task.
///
/// Requests are grouped by what they wait for, so that many requests for the same records cost one query. After each query a
/// request is either woken, or has seen all changes so far.
///
/// ```swift
/// var waits = FeedWaits(FeedWaits.Limits(all: 1000, ofClient: 250))
/// waits.arrive(1, of: client, for: notes, since: seen)   // .waits
/// waits.answered(notes, since: seen, hasChanged: true, at: present)   // [1]
/// ```
struct FeedWaits: Sendable {
    typealias Ticket = UInt64

    struct Limits: Hashable, Sendable {
        var all: Int
        var ofClient: Int
    }

    /// The records that a request waits for.
    struct Subject: Hashable, Sendable {
        var type: RecordTypeName
        var database: DatabaseScope
    }

    /// The outcome for a new request.
    enum Arrival: Hashable, Sendable {
        case waits
        /// Too many requests of this client wait.
        case clientIsFull
        /// Too many requests wait.
        case isFull
        /// Waiting has ended: the service shuts down.
        case hasEnded
    }

    private struct Waiting {
        /// The transactions that all of its requests have seen.
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

    /// The queries to run: what is waited for, and the transactions already seen.
    var questions: [(subject: Subject, seen: TransactionSet)] { subjects.map { ($0.key, $0.value.seen) } }

    /// - Parameter seen: the transactions that the request has seen.
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

    /// Removes a request; returns false if it does not wait.
    mutating func leave(_ ticket: Ticket) -> Bool {
        guard let (subject, client) = tickets.removeValue(forKey: ticket) else { return false }
        let left = (clients[client] ?? 1) - 1
        clients[client] = left > 0 ? left : nil
        subjects[subject]?.tickets.remove(ticket)
        if subjects[subject]?.tickets.isEmpty ?? false { subjects[subject] = nil }
        return true
    }

    /// Notes the result of a query; returns the requests to wake.
    ///
    /// - Parameters:
    ///   - asked: the transactions already seen when the query was made.
    ///   - present: a snapshot taken before the query.
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
        // A request that arrived meanwhile may have seen less.
        if waiting.seen == asked { subjects[subject]?.seen = present }
        return []
    }

    /// Ends all waits, and admits no further ones.
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
    /// Returns whether it was taken before another one: of two snapshots of one database, one contains the other.
    fileprivate func isOlder(than other: TransactionSet) -> Bool {
        end == other.end ? missing.count > other.missing.count : end < other.end
    }
}
