import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowConcurrency

@Suite struct SingleFlightTests {
    private enum Step: Hashable {
        case join(Int)
        case follow(Int)
        case end
    }

    /// No request is lost, and what begins after a request has seen it.
    @Test func inEveryOrderEachRequestGetsTheOutcomeOfWorkThatSawIt() {
        let scripts: [[Step]] = [[.follow(0), .follow(1)], [.follow(2)], [.join(3)], [.end, .end, .end]]
        for schedule in interleavings(scripts) {
            var plan = FlightPlan<Set<Int>, Int>()
            var running: (requests: Set<Int>, outcome: Int)?
            var outcomes: [Int: Int] = [:]
            var seen: [Int: Set<Int>] = [:]

            func begin(_ requests: Set<Int>, _ outcome: Int) {
                #expect(running == nil, "\(schedule)")
                running = (requests, outcome)
                seen[outcome] = requests
            }
            func end() {
                guard running != nil else { return }
                running = nil
                if let next = plan.end() { begin(next.request, next.outcome) }
            }

            for step in schedule {
                switch step {
                case .follow(let request):
                    let (outcome, begins) = plan.follow([request], request) { $0.union($1) }
                    #expect(begins == (running == nil), "\(schedule)")
                    outcomes[request] = outcome
                    if begins { begin([request], outcome) } else { #expect(running?.outcome != outcome, "\(schedule)") }
                case .join(let request):
                    let (outcome, begins) = plan.join(request)
                    #expect(begins == (running == nil), "\(schedule)")
                    if begins { begin([], outcome) }
                    #expect(running?.outcome == outcome, "\(schedule)")
                case .end:
                    end()
                }
            }
            while running != nil { end() }
            for request in 0..<3 {
                #expect(outcomes[request].flatMap { seen[$0] }?.contains(request) == true, "\(schedule)")
            }
        }
    }

    @Test func workIsDoneOnceForAllThatJoin() async throws {
        let flight = SingleFlight<Void, Void>()
        let count = Mutex(0)
        let end = Deferred<Void>()
        let outcomes = (0..<10).map { _ in
            flight.join {
                count.withLock { $0 += 1 }
                await end.value()
            }
        }
        end.settle()
        try await waiting(for: "the work") { for outcome in outcomes { await outcome.value() } }
        #expect(count.withLock { $0 } == 1)
        try await waiting(for: "new work") { await flight.join { count.withLock { $0 += 1 } }.value() }
        #expect(count.withLock { $0 } == 2)
    }

    @Test func whatComesMeanwhileIsDoneTogetherAfterwards() async throws {
        let flight = SingleFlight<Set<Int>, Set<Int>>()
        let (begun, end) = (Deferred<Void>(), Deferred<Void>())
        let work: @Sendable (Set<Int>) async -> Set<Int> = { requests in
            begun.settle()
            await end.value()
            return requests
        }
        let first = flight.next([0], uniting: { $0.union($1) }, work)
        await begun.value()
        let others = (1..<5).map { flight.next([$0], uniting: { $0.union($1) }, work) }
        end.settle()
        #expect(try await waiting(for: "the first") { await first.value() } == [0])
        for other in others {
            #expect(try await waiting(for: "the others") { await other.value() } == [1, 2, 3, 4])
        }
    }

    @Test func aCallerThatIsCancelledLeavesTheWorkToTheOthers() async throws {
        let flight = SingleFlight<Void, Void>()
        let (begun, end) = (Deferred<Void>(), Deferred<Bool>())
        let done = Deferred<Bool>()
        let first = Task {
            await flight.join {
                begun.settle()
                done.settle(await end.value(ifCancelled: false))
            }.value(ifCancelled: ())
        }
        await begun.value()
        let other = flight.join {}
        first.cancel()
        try await waiting(for: "the cancelled caller") { await first.value }
        #expect(done.settled == nil && other.settled == nil)
        end.settle(true)
        try await waiting(for: "the other") { await other.value() }
        #expect(done.settled == true)
    }
}
