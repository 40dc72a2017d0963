import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The queue of reads under schedules that a generator makes.
@Suite struct TurnQueueTests {
    static let limits = TurnQueue.Limits(running: 8, ofClient: 3, waiting: 20, waitingOfClient: 6)

    private func key(_ number: Int) -> ClientKey { ClientKey(high: 0, low: UInt64(number)) }

    /// What is true after every event.
    private func check(_ queue: TurnQueue, _ model: Model) {
        #expect(queue.running == model.running.values.reduce(0, +))
        #expect(queue.waiting == model.waiting.count)
        #expect(queue.running <= Self.limits.running)
        #expect(queue.waiting <= Self.limits.waiting)
        for client in 0..<Model.clients {
            let running = queue.running(of: key(client))
            let waiting = queue.waiting(of: key(client))
            #expect(running == model.running[client, default: 0])
            #expect(waiting == model.waiting.count { $0.client == client })
            #expect(running <= Self.limits.ofClient)
            #expect(waiting <= Self.limits.waitingOfClient)
            // Nothing waits that could run.
            if waiting > 0 { #expect(running == Self.limits.ofClient || queue.running == Self.limits.running) }
        }
    }

    /// The same rules in their simplest form.
    private struct Model {
        static let clients = 6
        var running: [Int: Int] = [:]
        /// In the order of arrival.
        var waiting: [(client: Int, ticket: TurnQueue.Ticket)] = []
    }

    @Test(arguments: 1...40)
    func anySchedule(seed: UInt64) throws {
        var random = SeededGenerator(seed: SeededGenerator.seedOfRun &+ seed)
        var queue = TurnQueue(Self.limits)
        var model = Model()
        var ticket: TurnQueue.Ticket = 0
        for _ in 0..<2000 {
            let client = Int.random(in: 0..<Model.clients, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                ticket += 1
                let waitsOfClient = model.waiting.count { $0.client == client }
                switch queue.arrive(ticket, of: key(client)) {
                case .runs: model.running[client, default: 0] += 1
                case .waits: model.waiting.append((client, ticket))
                case .clientIsFull: #expect(waitsOfClient == Self.limits.waitingOfClient)
                case .isFull: #expect(model.waiting.count == Self.limits.waiting)
                }
            case 5..<8:
                guard model.running[client, default: 0] > 0 else { continue }
                model.running[client, default: 0] -= 1
                if let next = queue.leave(key(client)) {
                    let place = try #require(model.waiting.firstIndex { $0.ticket == next })
                    let started = model.waiting.remove(at: place).client
                    // First come, first served within a client.
                    #expect(!model.waiting[..<place].contains { $0.client == started })
                    model.running[started, default: 0] += 1
                }
            default:
                guard let place = model.waiting.indices.randomElement(using: &random) else {
                    let isUnknown = !queue.giveUp(ticket + 1)
                    #expect(isUnknown)
                    continue
                }
                let given = model.waiting.remove(at: place).ticket
                let outcomes = [queue.giveUp(given), queue.giveUp(given)]
                #expect(outcomes == [true, false])
            }
            check(queue, model)
        }
        // Everything ends, and nothing is left behind.
        while let client = model.running.first(where: { $0.value > 0 })?.key {
            model.running[client, default: 0] -= 1
            if let next = queue.leave(key(client)) {
                let place = try #require(model.waiting.firstIndex { $0.ticket == next })
                model.running[model.waiting.remove(at: place).client, default: 0] += 1
            }
        }
        #expect(model.waiting.isEmpty)
        #expect(queue.running == 0)
        #expect(queue.waiting == 0)
        // A client whose last waiting read was given up is passed over once, and then forgotten.
        for client in 0..<Model.clients {
            #expect(queue.arrive(ticket + 1 + UInt64(client), of: key(client)) == .runs)
            _ = queue.leave(key(client))
        }
        #expect(queue.clientCount == 0)
    }

    @Test func clientsTakeTurns() {
        var queue = TurnQueue(TurnQueue.Limits(running: 2, ofClient: 2, waiting: 100, waitingOfClient: 50))
        for ticket: UInt64 in 0..<2 { #expect(queue.arrive(ticket, of: key(1)) == .runs) }
        for ticket: UInt64 in 10..<40 { #expect(queue.arrive(ticket, of: key(1)) == .waits) }
        // Of two clients that come later, each has every other turn of three.
        for ticket: UInt64 in 100..<102 { #expect(queue.arrive(ticket, of: key(2)) == .waits) }
        for ticket: UInt64 in 200..<202 { #expect(queue.arrive(ticket, of: key(3)) == .waits) }
        var order: [UInt64] = []
        var running = [1, 1]
        while order.count < 8, let next = queue.leave(key(running.removeFirst())) {
            order.append(next)
            running.append(next < 100 ? 1 : Int(next / 100) + 1)
        }
        #expect(order == [10, 100, 200, 11, 101, 201, 12, 13])
    }

    @Test func oneClientAtItsShareHoldsUpNobody() {
        var queue = TurnQueue(TurnQueue.Limits(running: 8, ofClient: 2, waiting: 100, waitingOfClient: 50))
        for ticket: UInt64 in 0..<50 { _ = queue.arrive(ticket, of: key(1)) }
        #expect(queue.running(of: key(1)) == 2)
        #expect(queue.arrive(100, of: key(2)) == .runs)
        #expect(queue.leave(key(2)) == nil)
        #expect(queue.leave(key(1)) == 2)
    }

    @Test func givenUpPlacesDoNotPileUp() {
        var queue = TurnQueue(TurnQueue.Limits(running: 1, ofClient: 1, waiting: 100, waitingOfClient: 50))
        _ = queue.arrive(0, of: key(1))
        for ticket: UInt64 in 1...100_000 {
            #expect(queue.arrive(ticket, of: key(1)) == .waits)
            let isGivenUp = queue.giveUp(ticket)
            #expect(isGivenUp)
        }
        #expect(queue.waiting == 0)
        #expect(queue.leave(key(1)) == nil)
    }
}
