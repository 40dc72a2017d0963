import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct CallSlotsTests {
    private func context(_ user: String?, _ address: String? = "10.0.0.1") -> FunctionContext {
        FunctionContext(userID: user.map { UserID($0) }, clientAddress: address)
    }

    private func error(_ slots: CallSlots, _ context: FunctionContext, within patience: Duration) async -> ErrorCode? {
        do throws(SkyrowError) {
            _ = try await slots.enter(for: context, within: patience)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func oneClientMayHaveAllSlotsAndAQuarterOfTheQueue() async throws {
        let slots = CallSlots(concurrency: 2, queue: 8)
        let ann = context("ann")
        let client = try await slots.enter(for: ann, within: patience)
        _ = try await slots.enter(for: ann, within: patience)
        #expect(slots.counts == ReadCounts(running: 2, waiting: 0))
        let waiters = (0..<2).map { _ in Task { await error(slots, ann, within: patience) } }
        try await waiting(until: "two calls wait") { slots.counts.waiting == 2 }
        let third = await error(slots, ann, within: patience)
        #expect(third == .rateLimited)
        // Another user waits beside them, also at the same address.
        let bob = context("bob")
        let other = Task { await error(slots, bob, within: patience) }
        try await waiting(until: "three calls wait") { slots.counts.waiting == 3 }
        // Each slot that is free goes to a call that waits.
        for _ in 0..<3 { slots.leave(client) }
        for waiter in waiters + [other] {
            let outcome = await waiter.value
            #expect(outcome == nil)
        }
        #expect(slots.counts == ReadCounts(running: 2, waiting: 0))
    }

    @Test func aFullQueueRefusesAtOnce() async throws {
        let slots = CallSlots(concurrency: 1, queue: 1)
        _ = try await slots.enter(for: context("ann"), within: patience)
        let bob = context("bob")
        let waiter = Task { await error(slots, bob, within: patience) }
        try await waiting(until: "a call waits") { slots.counts.waiting == 1 }
        let full = await error(slots, context("eve"), within: patience)
        #expect(full == .overloaded)
        // The cancelled one leaves its place.
        waiter.cancel()
        let cancelled = await waiter.value
        #expect(cancelled == .responseTimeout)
        #expect(slots.counts == ReadCounts(running: 1, waiting: 0))
    }

    @Test func aCallWaitsNoLongerThanItMay() async throws {
        let slots = CallSlots(concurrency: 1, queue: 4)
        let client = try await slots.enter(for: context("ann"), within: patience)
        let late = await error(slots, context(nil), within: .milliseconds(10))
        #expect(late == .overloaded)
        #expect(slots.counts == ReadCounts(running: 1, waiting: 0))
        slots.leave(client)
        let next = await error(slots, context(nil, nil), within: .zero)
        #expect(next == nil)
    }
}
