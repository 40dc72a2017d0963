import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// The time that a request gives its statement. A limit that is waited for in vain ends these tests at their own.
@Suite(.timeLimit(.minutes(20))) struct TimeLimitValueTests {
    @Test func whatIsReadyInTimeIsNotWaitedForAnyLonger() async throws {
        #expect(try await within(nil) { 7 } == 7)
        #expect(try await within(.seconds(3600)) { 7 } == 7)
        let error = await #expect(throws: SkyrowError.self) {
            _ = try await within(.seconds(3600)) { () async throws(SkyrowError) -> Int in
                throw .invalidArgument("No.", "a")
            }
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func whatIsNotReadyIsCancelled() async throws {
        let wasCancelled = Mutex(false)
        let error = await #expect(throws: SkyrowError.self) {
            _ = try await within(.milliseconds(1)) { () async throws(SkyrowError) -> Int in
                try? await Task.sleep(for: .seconds(3600))
                wasCancelled.withLock { $0 = Task.isCancelled }
                throw .invalidArgument("Cancelled.", "a")
            }
        }
        #expect(error?.code == .responseTimeout)
        let seen = wasCancelled.withLock { $0 }
        #expect(seen)
    }

    @Test func whatIsReadyInTheLastMomentCounts() async throws {
        let value = try await within(.milliseconds(1)) { () async throws(SkyrowError) -> Int in
            try? await Task.sleep(for: .seconds(3600))
            return 7
        }
        #expect(value == 7)
    }

    @Test func aRequestThatIsGivenUpEndsBoth() async throws {
        let task = Task {
            try await within(.seconds(3600)) { () async throws(SkyrowError) -> Int in
                try? await Task.sleep(for: .seconds(3600))
                throw .invalidArgument("Cancelled.", "a")
            }
        }
        task.cancel()
        await #expect(throws: SkyrowError.self) { _ = try await task.value }
    }
}
