/// The order in which passwords are hashed, as a value: the waiting and the running ones.
///
/// Logins and sign-ups have separate queues, so that a flood of one does not delay the other; when both wait, two logins start
/// for each sign-up. Within a queue clients alternate, and each client's passwords keep their order. An account's passwords are
/// hashed one at a time, so that many addresses that guess at one account get one thread.
///
/// ```swift
/// switch queue.enter(.logIn, client: client, account: account, at: now) {
/// case .begins(let ticket): // hash it, then queue.end(ticket, at: now)
/// case .waits(let ticket): // until `end` or `leave` of another lets it begin
/// case .refused(let reason): …
/// }
/// ```
struct PasswordQueue {
    /// The purpose of hashing a password.
    enum Purpose: CaseIterable, Hashable {
        case logIn, signUp
    }

    struct Ticket: Hashable, Comparable {
        fileprivate let number: Int

        static func < (a: Ticket, b: Ticket) -> Bool { a.number < b.number }
    }

    enum Refusal: Equatable {
        /// The client has used up its share of the queue.
        case shareUsed
        /// The queue is full, and no client has more than one password in it.
        case full
        /// It gave its slot to a client without a waiting password.
        case displaced
        /// It waited for too long.
        case late
    }

    enum Entry: Equatable {
        case begins(Ticket)
        case waits(Ticket)
        case refused(Refusal)
    }

    /// The consequences of an event for waiting passwords.
    struct Step: Equatable {
        var begins: [Ticket] = []
        var refused: [Ticket: Refusal] = [:]
    }

    struct Limits {
        /// Upper bound on concurrent hashes.
        var running: Int
        /// Upper bound on waiting logins; half as many sign-ups may wait.
        var waiting: Int
        /// Upper bound on waiting passwords of one client, by purpose.
        var waitingByClient: Int
        /// The maximum time in the queue.
        var patience: Duration
    }

    private struct Job {
        let ticket: Ticket
        let account: AccountKey?
        let deadline: ContinuousClock.Instant
    }

    private struct Line {
        var jobs: [ClientKey: [Job]] = [:]
        /// The clients with waiting passwords, in the order in which they are served.
        var turns: [ClientKey] = []

        var count: Int { jobs.values.reduce(0) { $0 + $1.count } }
    }

    private let limits: Limits
    private var lines: [Purpose: Line] = [:]
    private var running: [Ticket: AccountKey?] = [:]
    private var nextNumber = 0
    /// The number of logins started since the last sign-up while both waited.
    private var loginsInARow = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    var runningCount: Int { running.count }

    func waitingCount(_ purpose: Purpose) -> Int { lines[purpose]?.count ?? 0 }

    // MARK: Events

    /// Adds a password to hash.
    ///
    /// - Parameter account: nil for a new account.
    /// - Returns: its outcome, and the consequences for waiting ones: one of them may lose its slot.
    mutating func enter(
        _ purpose: Purpose,
        client: ClientKey,
        account: AccountKey?,
        at now: ContinuousClock.Instant
    ) -> (Entry, Step) {
        let ticket = Ticket(number: nextNumber)
        nextNumber += 1
        var line = lines[purpose] ?? Line()
        var step = Step()
        let own = line.jobs[client]?.count ?? 0
        // Clients without an address cannot be distinguished, so the share of a client does not apply to them.
        guard client == .none || own < limits.waitingByClient else { return (.refused(.shareUsed), step) }
        // Only a password that cannot start at once takes a slot.
        let begins = running.count < limits.running && !isRunning(account)
        if !begins, line.count >= maximum(purpose) {
            guard own == 0, let displaced = Self.displaceOne(in: &line) else { return (.refused(.full), step) }
            step.refused[displaced] = .displaced
        }
        if line.jobs[client] == nil { line.turns.append(client) }
        line.jobs[client, default: []].append(Job(ticket: ticket, account: account, deadline: now + limits.patience))
        lines[purpose] = line
        let following = begin(at: now)
        step.refused.merge(following.refused) { first, _ in first }
        step.begins = following.begins.filter { $0 != ticket }
        return (following.begins.contains(ticket) ? .begins(ticket) : .waits(ticket), step)
    }

    /// Notes that a password was hashed.
    mutating func end(_ ticket: Ticket, at now: ContinuousClock.Instant) -> Step {
        guard running.removeValue(forKey: ticket) != nil else { return Step() }
        return begin(at: now)
    }

    /// Removes a password whose request was cancelled; returns true if it had not started.
    mutating func leave(_ ticket: Ticket) -> Bool {
        for purpose in Purpose.allCases {
            guard var line = lines[purpose],
                let (client, jobs) = line.jobs.first(where: { $0.value.contains { $0.ticket == ticket } })
            else { continue }
            let left = jobs.filter { $0.ticket != ticket }
            line.jobs[client] = left.isEmpty ? nil : left
            if left.isEmpty { line.turns.removeAll { $0 == client } }
            lines[purpose] = line
            return true
        }
        return false
    }

    // MARK: Turns

    private func maximum(_ purpose: Purpose) -> Int {
        switch purpose {
        case .logIn: limits.waiting
        case .signUp: max(1, limits.waiting / 2)
        }
    }

    private func isRunning(_ account: AccountKey?) -> Bool {
        account.map { account in running.values.contains { $0 == account } } ?? false
    }

    /// Removes the last job of the client with most waiting jobs, if it has more than one.
    private static func displaceOne(in line: inout Line) -> Ticket? {
        guard let most = line.turns.max(by: { (line.jobs[$0]?.count ?? 0) < (line.jobs[$1]?.count ?? 0) }),
            var jobs = line.jobs[most], jobs.count > 1, let last = jobs.popLast()
        else { return nil }
        line.jobs[most] = jobs
        return last.ticket
    }

    /// Starts as many jobs as there are free threads.
    private mutating func begin(at now: ContinuousClock.Instant) -> Step {
        var step = Step()
        for purpose in Purpose.allCases { dropLate(purpose, at: now, &step) }
        while running.count < limits.running, let job = next() {
            running[job.ticket] = .some(job.account)
            step.begins.append(job.ticket)
        }
        return step
    }

    private mutating func dropLate(_ purpose: Purpose, at now: ContinuousClock.Instant, _ step: inout Step) {
        guard var line = lines[purpose] else { return }
        for (client, jobs) in line.jobs {
            let left = jobs.filter { $0.deadline > now }
            guard left.count < jobs.count else { continue }
            for job in jobs where job.deadline <= now { step.refused[job.ticket] = .late }
            line.jobs[client] = left.isEmpty ? nil : left
            if left.isEmpty { line.turns.removeAll { $0 == client } }
        }
        lines[purpose] = line
    }

    private mutating func next() -> Job? {
        let order: [Purpose] = loginsInARow < 2 ? [.logIn, .signUp] : [.signUp, .logIn]
        for purpose in order {
            guard let job = take(purpose) else { continue }
            let isOtherWaiting = Purpose.allCases.contains { $0 != purpose && waitingCount($0) > 0 }
            loginsInARow = purpose == .logIn && isOtherWaiting ? loginsInARow + 1 : 0
            return job
        }
        return nil
    }

    /// Removes the first job of the next client whose account is not being processed.
    private mutating func take(_ purpose: Purpose) -> Job? {
        guard var line = lines[purpose] else { return nil }
        for (place, client) in line.turns.enumerated() {
            guard var jobs = line.jobs[client], let index = jobs.firstIndex(where: { !isRunning($0.account) }) else {
                continue
            }
            let job = jobs.remove(at: index)
            line.turns.remove(at: place)
            line.jobs[client] = jobs.isEmpty ? nil : jobs
            if !jobs.isEmpty { line.turns.append(client) }
            lines[purpose] = line
            return job
        }
        return nil
    }
}
