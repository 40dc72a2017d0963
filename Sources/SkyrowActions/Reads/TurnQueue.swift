/// Decides which reads run and which wait, as a value: without a lock, clock or task.
///
/// A client has a share of the concurrent reads. Further reads wait, and waiting clients alternate, so that a client with a
/// thousand waiting reads delays the first one of another by one read, not by a thousand. After every event no read waits that
/// could run.
///
/// ```swift
/// var queue = TurnQueue(TurnQueue.Limits(running: 256, ofClient: 64, waiting: 4096, waitingOfClient: 1024))
/// queue.arrive(1, of: client)  // .runs
/// queue.leave(client)          // the ticket that runs from now on, if one waits
/// ```
struct TurnQueue: Sendable {
    /// The number of a waiting read.
    typealias Ticket = UInt64

    struct Limits: Hashable, Sendable {
        var running: Int
        var ofClient: Int
        var waiting: Int
        var waitingOfClient: Int
    }

    /// The outcome for a new read.
    enum Arrival: Hashable, Sendable {
        case runs
        case waits
        /// Too many reads of this client wait.
        case clientIsFull
        /// Too many reads wait.
        case isFull
    }

    private struct Client {
        var running = 0
        var waiting = 0
        /// The tickets in order of arrival, including cancelled ones.
        var line = Fifo<Ticket>()
        var isInTurns = false

        /// Appends a ticket; returns true if the client has to be added to `turns`.
        mutating func append(_ ticket: Ticket) -> Bool {
            waiting += 1
            line.append(ticket)
            defer { isInTurns = true }
            return !isInTurns
        }

        var isGone: Bool { running == 0 && waiting == 0 && !isInTurns }
    }

    let limits: Limits
    private(set) var running = 0
    private var clients: [ClientKey: Client] = [:]
    /// The waiting clients, in the order in which they are served.
    private var turns = Fifo<ClientKey>()
    private var tickets: [Ticket: ClientKey] = [:]

    init(_ limits: Limits) {
        self.limits = limits
    }

    var waiting: Int { tickets.count }
    /// The number of clients with running or waiting reads.
    var clientCount: Int { clients.count }

    func running(of key: ClientKey) -> Int { clients[key]?.running ?? 0 }

    func waiting(of key: ClientKey) -> Int { clients[key]?.waiting ?? 0 }

    /// Adds a read; one that runs has to `leave`.
    mutating func arrive(_ ticket: Ticket, of key: ClientKey) -> Arrival {
        if running < limits.running, running(of: key) < limits.ofClient {
            running += 1
            clients[key, default: Client()].running += 1
            return .runs
        }
        guard waiting(of: key) < limits.waitingOfClient else { return .clientIsFull }
        guard waiting < limits.waiting else { return .isFull }
        tickets[ticket] = key
        // In place, so that the line is not copied.
        if clients[key, default: Client()].append(ticket) { turns.append(key) }
        return .waits
    }

    /// Ends a running read. Returns the one that runs in its place.
    mutating func leave(_ key: ClientKey) -> Ticket? {
        guard var client = clients[key], client.running > 0 else { return nil }
        running -= 1
        client.running -= 1
        clients[key] = client.isGone ? nil : client
        return startNext()
    }

    /// Removes a waiting read; returns false if it runs or was removed already.
    mutating func giveUp(_ ticket: Ticket) -> Bool {
        guard let key = tickets.removeValue(forKey: ticket), var client = clients[key] else { return false }
        client.waiting -= 1
        // Its ticket stays in the line until cancelled tickets outnumber the waiting reads.
        if client.line.count > 2 * client.waiting + 16 { client.line.keep { tickets[$0] != nil } }
        clients[key] = client
        return true
    }

    /// Starts the next read of the first waiting client below its share.
    ///
    /// Clients at their share are skipped. Each has its whole share running, so there are few of them.
    private mutating func startNext() -> Ticket? {
        guard running < limits.running else { return nil }
        for _ in 0..<turns.count {
            guard let key = turns.popFirst() else { return nil }
            // Removed from the dictionary, so that its line is not copied.
            guard var client = clients.removeValue(forKey: key) else { continue }
            guard client.waiting > 0 else {
                client.isInTurns = false
                if !client.isGone { clients[key] = client }
                continue
            }
            guard client.running < limits.ofClient, let ticket = nextTicket(&client) else {
                turns.append(key)
                clients[key] = client
                continue
            }
            running += 1
            client.running += 1
            client.isInTurns = client.waiting > 0
            if client.isInTurns { turns.append(key) }
            clients[key] = client
            return ticket
        }
        return nil
    }

    private mutating func nextTicket(_ client: inout Client) -> Ticket? {
        while let ticket = client.line.popFirst() {
            guard tickets.removeValue(forKey: ticket) != nil else { continue }
            client.waiting -= 1
            return ticket
        }
        return nil
    }
}

/// A first-in, first-out queue.
struct Fifo<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        head += 1
        if head > 32, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes all other elements.
    mutating func keep(_ isKept: (Element) -> Bool) {
        elements = elements[head...].filter(isKept)
        head = 0
    }
}
