import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

private func client(_ number: UInt64) -> ClientKey { ClientKey(high: 0, low: number) }
private func account(_ name: String) -> AccountKey { AccountKey(user: UserID(name)) }

@Suite struct PasswordQueueTests {
    private static let now = ContinuousClock.now

    private func queue(running: Int = 1, waiting: Int = 8, share: Int = 4) -> PasswordQueue {
        PasswordQueue(.init(running: running, waiting: waiting, waitingByClient: share, patience: .seconds(15)))
    }

    /// Enters and returns the ticket; records an issue when it is refused.
    private func enter(
        _ queue: inout PasswordQueue,
        _ number: UInt64,
        _ purpose: PasswordQueue.Purpose = .logIn,
        account: AccountKey? = nil
    ) -> PasswordQueue.Ticket? {
        switch queue.enter(purpose, client: client(number), account: account, at: Self.now).0 {
        case .begins(let ticket), .waits(let ticket): return ticket
        case .refused(let reason):
            Issue.record("Refused: \(reason)")
            return nil
        }
    }

    /// The order in which all that waits begins, from the end of the one that runs.
    private func order(_ queue: inout PasswordQueue, from first: PasswordQueue.Ticket) -> [PasswordQueue.Ticket] {
        var order: [PasswordQueue.Ticket] = []
        var running = [first]
        while let next = running.popLast() {
            let step = queue.end(next, at: Self.now)
            order += step.begins
            running += step.begins
        }
        return order
    }

    @Test func clientsTakeTurnsAndKeepTheirOwnOrder() throws {
        var queue = queue()
        let first = try #require(enter(&queue, 1))
        let ones = (0..<3).compactMap { _ in enter(&queue, 1) }
        let two = try #require(enter(&queue, 2))
        let threes = (0..<2).compactMap { _ in enter(&queue, 3) }
        #expect(order(&queue, from: first) == [ones[0], two, threes[0], ones[1], threes[1], ones[2]])
        #expect(queue.runningCount == 0)
    }

    @Test func twoLoginsBeginForEachSignUp() throws {
        var queue = queue(waiting: 16, share: 16)
        let first = try #require(enter(&queue, 1))
        let signUps = (0..<4).compactMap { _ in enter(&queue, 1, .signUp) }
        let logins = (0..<6).compactMap { _ in enter(&queue, 2) }
        let expected = [
            logins[0], logins[1], signUps[0], logins[2], logins[3], signUps[1], logins[4], logins[5], signUps[2],
            signUps[3],
        ]
        #expect(order(&queue, from: first) == expected)
    }

    @Test func oneAccountTakesOneThread() throws {
        var queue = queue(running: 2)
        let ann = account("ann")
        let first = try #require(enter(&queue, 1, account: ann))
        let (entry, _) = queue.enter(.logIn, client: client(2), account: ann, at: Self.now)
        guard case .waits(let second) = entry else {
            Issue.record("Two passwords of one account are hashed at once.")
            return
        }
        // The free thread is for others, also for the client that waits.
        guard case .begins = queue.enter(.logIn, client: client(2), account: account("bob"), at: Self.now).0 else {
            Issue.record("A thread stands idle.")
            return
        }
        #expect(queue.end(first, at: Self.now).begins == [second])
    }

    @Test func aClientThatIsNewDisplacesOneThatHasMuchWaiting() throws {
        var queue = queue(waiting: 4, share: 3)
        _ = enter(&queue, 1)
        let many = (0..<3).compactMap { _ in enter(&queue, 1) }
        _ = enter(&queue, 2)
        #expect(queue.enter(.logIn, client: client(1), account: nil, at: Self.now).0 == .refused(.shareUsed))
        #expect(queue.enter(.logIn, client: client(2), account: nil, at: Self.now).0 == .refused(.full))
        let (entry, step) = queue.enter(.logIn, client: client(3), account: nil, at: Self.now)
        guard case .waits = entry else {
            Issue.record("\(entry)")
            return
        }
        #expect(step.refused == [many[2]: .displaced])
        // Sign-ups have places of their own.
        guard case .waits = queue.enter(.signUp, client: client(2), account: nil, at: Self.now).0 else {
            Issue.record("A sign-up found no place.")
            return
        }
        // When everyone waits for one, the queue is full.
        _ = queue.enter(.logIn, client: client(4), account: nil, at: Self.now)
        #expect(queue.enter(.logIn, client: client(5), account: nil, at: Self.now).0 == .refused(.full))
    }

    @Test func whoWaitsTooLongIsRefusedAndWhoLeavesIsPassedOver() throws {
        var queue = queue()
        let first = try #require(enter(&queue, 1))
        let late = try #require(enter(&queue, 2))
        let gone = try #require(enter(&queue, 3))
        let left = [queue.leave(gone), queue.leave(gone), queue.leave(first)]
        #expect(left == [true, false, false])
        let step = queue.end(first, at: Self.now + .seconds(15))
        #expect(step == PasswordQueue.Step(begins: [], refused: [late: .late]))
        #expect(queue.end(first, at: Self.now) == PasswordQueue.Step())
        #expect(queue.waitingCount(.logIn) == 0)
    }

    /// What a schedule keeps track of beside the queue.
    private struct Model {
        struct Job {
            var purpose: PasswordQueue.Purpose
            var client: UInt64
            var account: AccountKey?
            /// How many passwords of each other client were begun since this one is the first of its own.
            var overtakenBy: [UInt64: Int] = [:]
        }

        var waiting: [PasswordQueue.Ticket: Job] = [:]
        var running: [PasswordQueue.Ticket: Job] = [:]

        mutating func begin(_ ticket: PasswordQueue.Ticket) {
            guard let job = waiting.removeValue(forKey: ticket) else {
                Issue.record("\(ticket) began and did not wait")
                return
            }
            if let account = job.account {
                #expect(!running.values.contains { $0.account == account })
            }
            running[ticket] = job
            for (other, var judged) in waiting where judged.purpose == job.purpose && judged.client != job.client {
                let isFirst = !waiting.contains {
                    $0.key < other && $0.value.client == judged.client && $0.value.purpose == judged.purpose
                }
                let isBarred = running.values.contains { $0.account != nil && $0.account == judged.account }
                guard isFirst, !isBarred else { continue }
                judged.overtakenBy[job.client, default: 0] += 1
                waiting[other] = judged
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func everyScheduleKeepsThePromises(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let threads = Int.random(in: 1...3, using: &random)
        let limit = Int.random(in: 2...12, using: &random)
        let share = Int.random(in: 1...4, using: &random)
        // Accounts bar each other out of turn, so turns are judged where there are none.
        let hasAccounts = seed.isMultiple(of: 2)
        var queue = queue(running: threads, waiting: limit, share: share)
        var model = Model()
        var now = Self.now
        func follow(_ step: PasswordQueue.Step, _ model: inout Model) {
            for (ticket, _) in step.refused { #expect(model.waiting.removeValue(forKey: ticket) != nil) }
            for ticket in step.begins { model.begin(ticket) }
        }
        for _ in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let purpose = PasswordQueue.Purpose.allCases.randomElement(using: &random) ?? .logIn
                // One client sends as much as all others.
                let number = Bool.random(using: &random) ? 1 : UInt64.random(in: 2...6, using: &random)
                let owner = hasAccounts ? account("\(Int.random(in: 0..<4, using: &random))") : nil
                let own = model.waiting.values.count { $0.client == number && $0.purpose == purpose }
                let isIdle =
                    model.running.count < threads
                    && !model.running.values.contains { $0.account == owner && owner != nil }
                let (entry, step) = queue.enter(purpose, client: client(number), account: owner, at: now)
                let job = Model.Job(purpose: purpose, client: number, account: owner)
                switch entry {
                case .waits(let ticket):
                    #expect(!isIdle)
                    model.waiting[ticket] = job
                case .begins(let ticket):
                    model.waiting[ticket] = job
                    model.begin(ticket)
                case .refused(.shareUsed): #expect(own == share)
                case .refused(.full):
                    // Then nobody who has something waiting could give way.
                    let counts = Dictionary(
                        grouping: model.waiting.values.filter { $0.purpose == purpose },
                        by: \.client
                    )
                    #expect(own > 0 || counts.values.allSatisfy { $0.count == 1 })
                case .refused(let reason): Issue.record("\(reason)")
                }
                follow(step, &model)
            case 6..<9:
                guard let ticket = model.running.keys.sorted().randomElement(using: &random) else { continue }
                model.running[ticket] = nil
                follow(queue.end(ticket, at: now), &model)
            default:
                if let ticket = model.waiting.keys.sorted().randomElement(using: &random) {
                    let hasLeft = queue.leave(ticket)
                    #expect(hasLeft)
                    model.waiting[ticket] = nil
                }
                now += .milliseconds(Int.random(in: 0..<500, using: &random))
            }
            #expect(queue.runningCount == model.running.count && model.running.count <= threads)
            for purpose in PasswordQueue.Purpose.allCases {
                let waiting = model.waiting.values.filter { $0.purpose == purpose }
                #expect(queue.waitingCount(purpose) == waiting.count)
                #expect(waiting.count <= (purpose == .logIn ? limit : max(1, limit / 2)))
                #expect(Dictionary(grouping: waiting, by: \.client).values.allSatisfy { $0.count <= share })
            }
            // Nobody's first is passed by twice by another client.
            if !hasAccounts {
                #expect(model.waiting.values.allSatisfy { $0.overtakenBy.values.allSatisfy { $0 <= 1 } })
            }
            // No thread stands idle beside work that it could do.
            if model.running.count < threads {
                #expect(
                    model.waiting.values.allSatisfy { job in
                        job.account != nil && model.running.values.contains { $0.account == job.account }
                    }
                )
            }
        }
        // Everything ends.
        while let ticket = model.running.keys.min() {
            model.running[ticket] = nil
            follow(queue.end(ticket, at: now), &model)
        }
        #expect(model.waiting.isEmpty && queue.runningCount == 0)
    }
}
