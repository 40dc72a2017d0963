import SkyrowTestSupport
import Testing

/// The waits of the test kit end by themselves, whatever they wait for.
@Suite struct WaitingTests {
    private func expectTimeOut(_ what: String, _ wait: () async throws -> Void) async throws {
        let error = await #expect(throws: WaitTimedOut.self) { try await wait() }
        #expect(error?.description.contains(what) == true)
    }

    @Test func aContinuationThatNobodyResumesEndsTheWait() async throws {
        try await expectTimeOut("a resumption") {
            try await waiting(for: "a resumption", within: .milliseconds(10)) {
                // Resumed by nothing, and deaf to cancellation.
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
    }

    @Test func whatTheDeadlineEndedIsNoSuccess() async throws {
        for fails in [false, true] {
            try await expectTimeOut("the end") {
                let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                try await waiting(for: "the end", within: .milliseconds(10)) {
                    continuation.finish()
                } _: {
                    for await _ in stream {}
                    if fails { throw CancellationError() }
                }
            }
        }
    }

    @Test func aConditionThatNeverHoldsEndsTheWait() async throws {
        try await expectTimeOut("pigs fly") {
            try await waiting(until: "pigs fly", within: .milliseconds(10)) { false }
        }
    }

    @Test func aConditionIsAskedAgainWhenSomethingHasChanged() async throws {
        let (one, other) = (Counter(), Counter())
        let counting = Task {
            one.increment()
            await Task.yield()
            other.increment()
        }
        try await waiting(until: "both are counted", hearing: [one, other]) { one.value == 1 && other.value == 1 }
        await counting.value
        // It holds already.
        try await waiting(until: "both are counted", hearing: [one]) { one.value == 1 }
        try await expectTimeOut("pigs fly") {
            try await waiting(until: "pigs fly", hearing: [one, other], within: .milliseconds(10)) { false }
        }
        let cancelled = Task { try await waiting(until: "pigs fly", hearing: [one]) { false } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func cancellationEndsTheWaitUnlessItIsNotToBeHeard() async throws {
        let heard = Task {
            try await waiting(for: "nothing") {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
        heard.cancel()
        await #expect(throws: CancellationError.self) { try await heard.value }
        let unheard = Task {
            try await waiting(for: "nothing", within: .milliseconds(10), hearsCancellation: false) {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
        unheard.cancel()
        await #expect(throws: WaitTimedOut.self) { try await unheard.value }
    }

    @Test func aResultOrAnErrorThatComesInTimeIsPassedOn() async throws {
        #expect(try await waiting(for: "one") { 1 } == 1)
        #expect(
            try await waiting(for: "one") {
            } _: {
                1
            } == 1
        )
        await #expect(throws: CancellationError.self) { try await waiting(for: "one") { throw CancellationError() } }
        await #expect(throws: CancellationError.self) {
            try await waiting(for: "one") {
            } _: {
                throw CancellationError()
            }
        }
    }
}
