import SkyrowTestSupport
import Testing

@testable import SkyrowConcurrency

@Suite struct DeferredTests {
    private enum Step: Hashable {
        case enter
        case suspend
        case leave
        case wait
        case settle(Int)
    }

    /// One waiter that may leave, before and after it suspends, one that does not, and two values.
    @Test func inEveryOrderEachWaiterGoesOnOnceWithWhatCameFirst() {
        let scripts: [[Step]] = [[.enter, .suspend], [.leave], [.wait], [.settle(1)], [.settle(2)]]
        for schedule in interleavings(scripts) {
            var arrival = Arrival<Int, String>()
            var ticket: WaiterLine<String?>.Ticket?
            var resumed: [String: [Int?]] = [:]
            var first: Int?
            // A value that is there when it suspends is taken, though it has left.
            var (hasLeftInTime, hasSuspendedInTime) = (false, false)
            for step in schedule {
                switch step {
                case .enter:
                    ticket = arrival.enter()
                case .suspend:
                    guard let ticket else { continue }
                    hasSuspendedInTime = first == nil
                    switch arrival.suspend(ticket, "one") {
                    case .goesOn(let value): resumed["one", default: []].append(value)
                    case .hasLeft: resumed["one", default: []].append(nil)
                    case .waits: break
                    }
                case .leave:
                    // A cancellation is heard from when there is a ticket.
                    guard let ticket else { continue }
                    hasLeftInTime = first == nil
                    if let waiter = arrival.leave(ticket) { resumed[waiter, default: []].append(nil) }
                case .wait:
                    if let value = arrival.enter("other") { resumed["other", default: []].append(value) }
                case .settle(let value):
                    let waiters = arrival.settle(value)
                    #expect((waiters == nil) == (first != nil), "\(schedule)")
                    first = first ?? value
                    for waiter in waiters ?? [] { resumed[waiter, default: []].append(value) }
                }
                #expect(arrival.value == first, "\(schedule)")
            }
            let expected = hasLeftInTime && hasSuspendedInTime ? nil : first
            #expect(resumed == ["one": [expected], "other": [first]], "\(schedule)")
        }
    }

    @Test func theFirstValueStaysForAllThatWait() async throws {
        let deferred = Deferred<Int>()
        #expect(deferred.settled == nil)
        try await waiting(for: "the waiters") {
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<10 {
                    group.addTask { await deferred.value() }
                    group.addTask { await deferred.value(ifCancelled: 0) }
                    group.addTask { await deferred.value { _ in } }
                }
                #expect(deferred.settle(1))
                #expect(!deferred.settle(2))
                for await value in group { #expect(value == 1) }
            }
            #expect(await deferred.value() == 1)
        }
        #expect(deferred.settled == 1)
    }

    @Test func aCancellationEndsTheWaitOfItsTaskAlone() async throws {
        let deferred = Deferred<Int>()
        let other = Task { await deferred.value(ifCancelled: 0) }
        let deaf = Task { await deferred.value() }
        deaf.cancel()
        for _ in 0..<100 {
            let task = Task { await deferred.value(ifCancelled: 0) }
            task.cancel()
            #expect(try await waiting(for: "the cancelled task") { await task.value } == 0)
        }
        deferred.settle(1)
        #expect(try await waiting(for: "the other tasks") { await [other.value, deaf.value] } == [1, 1])
    }

    @Test func aWaitThatIsGivenUpEndsWithWhatThatSays() async throws {
        let slept = Deferred<String>()
        let never = Deferred<Void>()
        let task = Task {
            await slept.value(during: { await never.value() }) { slept.settle("\($0)") }
        }
        never.settle()
        #expect(try await waiting(for: "the sleep") { await task.value } == "late")
        let cancelled = Deferred<String>()
        let waiter = Task {
            await cancelled.value(during: { try await Task.sleep(for: patience) }) { cancelled.settle("\($0)") }
        }
        waiter.cancel()
        #expect(try await waiting(for: "the cancelled task") { await waiter.value } == "cancelled")
    }

    /// Values, cancellations and waits that meet on several threads.
    @Test func racesEndEveryWait() async throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(200) {
            let deferred = Deferred<Int>()
            let cancelled = (0..<8).map { _ in Bool.random(using: &random) }
            try await waiting(for: "all waiters") {
                await withTaskGroup(of: Void.self) { group in
                    for isCancelled in cancelled {
                        group.addTask {
                            let waiter = Task { await deferred.value(ifCancelled: 0) }
                            if isCancelled { waiter.cancel() }
                            let value = await waiter.value
                            #expect(value == 1 || isCancelled && value == 0)
                        }
                    }
                    group.addTask { deferred.settle(1) }
                }
            }
        }
    }
}
