/// Which password is hashed next, as a value: what waits, what runs, and whose turn it is.
///
/// Logins and sign-ups wait apart, so that a flood of one does not hold up the other; where both wait, two logins are
/// begun for each sign-up. Within each the clients take turns, and what one client sent keeps its order. A password of an
/// account that is being hashed already waits until that is done, so many addresses that guess at one account get one
/// thread.
///
/// ```swift
/// switch queue.enter(.logIn, client: client, account: account, at: now) {
/// case .begins(let ticket): // hash it, then queue.end(ticket, at: now)
/// case .waits(let ticket): // until `end` or `leave` of another lets it begin
/// case .refused(let reason): …
/// }
/// ```
struct PasswordQueue {
    /// What a password is hashed for.
    enum Purpose: CaseIterable, Hashable {
        case logIn, signUp
    }

    struct Ticket: Hashable, Comparable {
        fileprivate let number: Int

        static func < (a: Ticket, b: Ticket) -> Bool { a.number < b.number }
    }

    enum Refusal: Equatable {
        /// The client has as much waiting as one client may.
        case shareUsed
        /// Too much waits, of too many clients for any to give way.
        case full
        /// It gave its place to a client that had nothing waiting.
        case displaced
        /// It waited for too long.
        case late
    }

    enum Entry: Equatable {
        case begins(Ticket)
        case waits(Ticket)
        case refused(Refusal)
    }

    /// What follows from an event for those that wait.
    struct Step: Equatable {
        var begins: [Ticket] = []
        var refused: [Ticket: Refusal] = [:]
    }

    struct Limits {
        /// How many are hashed at a time.
        var running: Int
        /// How many logins may wait, and half as many sign-ups.
        var waiting: Int
        /// How many of one client, of each purpose.
        var waitingByClient: Int
        /// How long one waits at most.
        var patience: Duration
    }

    private struct Job {
        let ticket: Ticket
        let account: AccountKey?
        let deadline: ContinuousClock.Instant
    }

    private struct Line {
        var jobs: [ClientKey: [Job]] = [:]
        /// The clients that have something waiting, in the order of their turns.
        var turns: [ClientKey] = []

        var count: Int { jobs.values.reduce(0) { $0 + $1.count } }
    }

    private let limits: Limits
    private var lines: [Purpose: Line] = [:]
    private var running: [Ticket: AccountKey?] = [:]
    private var nextNumber = 0
    /// How many logins were begun since the last sign-up, while both waited.
    private var loginsInARow = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    var runningCount: Int { running.count }

    func waitingCount(_ purpose: Purpose) -> Int { lines[purpose]?.count ?? 0 }

    // MARK: Events

    /// A password is to be hashed.
    ///
    /// - Parameter account: nil for a new account.
    /// - Returns: what becomes of it, and of those that waited: one may give its place.
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
        // Clients without an address cannot be distinguished, so none of them can take the share of another.
        guard client == .none || own < limits.waitingByClient else { return (.refused(.shareUsed), step) }
        // Only one that cannot begin at once takes a place.
        let begins = running.count < limits.running && !isRunning(account)
        if !begins, line.count >= maximum(purpose) {
            guard own == 0, let displaced = Self.displaceOne(in: &line) else { return (.refused(.full), step) }
            step.refused[displaced] = .displaced
        }
        if line.jobs[client] == nil { line.turns.append(client) }
        line.jobs[client, default: []].append(
            Job(ticket: ticket, account: account, deadline: now + limits.patience)
        )
        lines[purpose] = line
        let following = begin(at: now)
        step.refused.merge(following.refused) { first, _ in first }
        step.begins = following.begins.filter { $0 != ticket }
        return (following.begins.contains(ticket) ? .begins(ticket) : .waits(ticket), step)
    }

    /// A password was hashed.
    mutating func end(_ ticket: Ticket, at now: ContinuousClock.Instant) -> Step {
        guard running.removeValue(forKey: ticket) != nil else { return Step() }
        return begin(at: now)
    }

    /// Who waits for a password has gone; true when it had not begun, and will not.
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

    /// Takes the last job of a client that has most waiting, if that is more than one.
    private static func displaceOne(in line: inout Line) -> Ticket? {
        guard let most = line.turns.max(by: { (line.jobs[$0]?.count ?? 0) < (line.jobs[$1]?.count ?? 0) }),
            var jobs = line.jobs[most], jobs.count > 1, let last = jobs.popLast()
        else { return nil }
        line.jobs[most] = jobs
        return last.ticket
    }

    /// Lets as many begin as there are threads for.
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

    /// Takes the first job of the first client whose turn it is and whose account is not being worked on.
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
