import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Waiting for a turn: started, too late, cancelled, refused.
@Suite struct ReadAdmissionTests {
    static let here = ClientKey(high: 0, low: 1)
    static let there = ClientKey(high: 0, low: 2)

    /// One read of a client at once of two in all, and one that waits.
    private func admission(patience: Duration = testPatience) -> ReadAdmission {
        ReadAdmission(ReadLimits(running: 2, waiting: 2, share: ClientShare(percent: 50), patience: patience))
    }

    private func waitForWaiters(_ count: Int, in admission: ReadAdmission) async throws {
        try await waiting(until: "\(count) reads wait for their turn") { admission.counts.waiting == count }
    }

    @Test func aReadBeyondTheShareWaitsForItsTurn() async throws {
        let admission = admission()
        try await admission.enter(Self.here)
        let second = Task { try await admission.enter(Self.here) }
        try await waitForWaiters(1, in: admission)
        // Another client is not concerned, and a third read of this one is too many.
        try await admission.enter(Self.there)
        let error = await #expect(throws: SkyrowError.self) { try await admission.enter(Self.here) }
        #expect(error?.code == .rateLimited)
        admission.leave(Self.here)
        try await second.value
        #expect(admission.counts == ReadCounts(running: 2, waiting: 0))
        admission.leave(Self.here)
        admission.leave(Self.there)
        #expect(admission.counts == ReadCounts(running: 0, waiting: 0))
    }

    @Test func aReadThatWaitsTooLongIsTurnedAway() async throws {
        let admission = admission(patience: .milliseconds(1))
        try await admission.enter(Self.here)
        let error = await #expect(throws: SkyrowError.self) { try await admission.enter(Self.here) }
        #expect(error?.code == .overloaded)
        #expect(admission.counts == ReadCounts(running: 1, waiting: 0))
        admission.leave(Self.here)
        try await admission.enter(Self.here)
        admission.leave(Self.here)
    }

    @Test func aCancelledReadGivesItsPlaceUp() async throws {
        let admission = admission()
        try await admission.enter(Self.here)
        let second = Task { try await admission.enter(Self.here) }
        try await waitForWaiters(1, in: admission)
        second.cancel()
        let error = await #expect(throws: SkyrowError.self) { try await second.value }
        #expect(error?.code == .responseTimeout)
        #expect(admission.counts == ReadCounts(running: 1, waiting: 0))
        // One that is cancelled before it waits has no place either.
        let third = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await admission.enter(Self.here)
        }
        await #expect(throws: SkyrowError.self) { try await third.value }
        #expect(admission.counts == ReadCounts(running: 1, waiting: 0))
        admission.leave(Self.here)
    }

    @Test func theNetworksOfASiteShareTheirTurn() async throws {
        let admission = admission(patience: .milliseconds(1))
        let networks = (0..<2).map { ClientKey(high: 0x2001_0db8_0001_0000 | $0 << 8, low: 0) }
        try await admission.enter(networks[0])
        await #expect(throws: SkyrowError.self) { try await admission.enter(networks[1]) }
        admission.leave(networks[0])
    }

    @Test func manyTasksAllGetTheirTurn() async throws {
        let admission = ReadAdmission(
            ReadLimits(running: 4, waiting: 4000, share: ClientShare(percent: 50), patience: testPatience)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                let client = ClientKey(high: 0, low: UInt64(number % 5 + 1))
                group.addTask {
                    try await admission.enter(client)
                    #expect(admission.counts.running <= 4)
                    await Task.yield()
                    admission.leave(client)
                }
            }
            try await group.waitForAll()
        }
        #expect(admission.counts == ReadCounts(running: 0, waiting: 0))
    }
}
