import NIOCore
import NIOHTTP1
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// The lifecycle of a request as a value: generated orders of events, and the rules of time one by one.
@Suite struct RequestLifecycleTests {
    @Test func everyOrderOfEventsEndsOnceAndGivesEverythingBack() {
        var seeds = SeededGenerator.forTest()
        var outcomes: Set<String> = []
        for _ in 0..<4000 {
            let seed = seeds.next()
            var schedule = RequestSchedule(seed: seed)
            for _ in 0..<80 where schedule.fault == nil { schedule.step() }
            if let fault = schedule.finish() {
                Issue.record("seed \(seed): \(fault)\n\(schedule.history)")
                return
            }
            for outcome in schedule.outcomes { outcomes.insert("\(outcome)") }
        }
        // The schedules reach every end there is.
        let expected = ["response", "aborted", "dropped"]
        let faults: [HTTPFault] = [
            .malformed, .bodyTooLarge, .expectationFailed, .requestTimeout, .responseTimeout, .credentialsRequired,
        ]
        #expect(outcomes.isSuperset(of: expected + faults.map { "refusal(SkyrowHTTP.HTTPFault.\($0))" }), "\(outcomes)")
    }

    // MARK: - Time

    private static let limits = HTTPLimits(response: .seconds(60), cancellation: .seconds(2))

    private static func at(_ second: UInt64) -> NIODeadline { .uptimeNanoseconds(second * 1_000_000_000) }

    private func lifecycle(_ mode: RequestBodyMode, _ fields: [(String, String)] = []) -> RequestLifecycle {
        var lifecycle = RequestLifecycle(mode, Self.limits, now: Self.at(0))
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: HTTPHeaders(fields))
        head.headers.add(name: "host", value: "x")
        let examination = HeadExamination(head, bodyLimit: lifecycle.limit)
        if case .claim? = lifecycle.begin(examination, Self.limits) { _ = lifecycle.claimed(nil) }
        return lifecycle
    }

    private func check(_ lifecycle: inout RequestLifecycle, at second: UInt64) -> RequestLifecycle.Action? {
        lifecycle.check(now: Self.at(second), isReadHeldBack: false, Self.limits)
    }

    @Test func workIsCancelledAndThenGivenUp() {
        var request = lifecycle(.collected())
        #expect(request.bodyEnded(waits: false) == .ready)
        // Waiting for its turn costs nothing.
        #expect(check(&request, at: 500) == nil)
        request.started(at: Self.at(500), Self.limits)
        #expect(check(&request, at: 559) == nil)
        #expect(check(&request, at: 560) == .cancel)
        #expect(check(&request, at: 561) == nil)
        #expect(check(&request, at: 562) == .refuse(.responseTimeout))
        #expect(check(&request, at: 999) == nil)
        #expect(request.responded() == nil)
    }

    @Test func cancelledWorkMayStillRespond() {
        var request = lifecycle(.collected())
        _ = request.bodyEnded(waits: false)
        request.started(at: Self.at(0), Self.limits)
        #expect(check(&request, at: 60) == .cancel)
        #expect(request.responded() == .finish)
        #expect(check(&request, at: 99) == nil)
    }

    @Test func aCollectedBodyHasItsTimeAndAStreamedOneItsRate() {
        let fields = [("content-length", "1000000")]
        var collected = lifecycle(.collected(), fields)
        var streamed = lifecycle(.streamed(limit: 1 << 30), fields)
        streamed.started(at: Self.at(0), Self.limits)
        for second in stride(from: UInt64(5), through: 55, by: 5) {
            for _ in 0..<10 {
                #expect(collected.received(1024, Self.limits) == .claim(.more(1024)))
                #expect(streamed.received(1024, Self.limits) == .claim(.more(1024)))
                streamed.taken(1024)
            }
            #expect(check(&collected, at: second) == nil)
            #expect(check(&streamed, at: second) == nil)
        }
        #expect(check(&collected, at: 60) == .refuse(.requestTimeout))
        // Less than 1 KB a second in ten seconds.
        #expect(check(&streamed, at: 64) == nil)
        #expect(check(&streamed, at: 75) == .refuse(.requestTimeout))
    }

    @Test func aServiceThatDoesNotReadItsBodyIsCancelledAndItsClientIsNotBlamed() {
        var request = lifecycle(.streamed(limit: 1 << 30), [("transfer-encoding", "chunked")])
        request.started(at: Self.at(0), Self.limits)
        #expect(request.received(RequestLifecycle.window, Self.limits) == .claim(.more(RequestLifecycle.window)))
        #expect(request.isFull)
        #expect(check(&request, at: 59) == nil)
        #expect(check(&request, at: 60) == .cancel)
        #expect(check(&request, at: 62) == .refuse(.responseTimeout))
    }

    @Test func aClientIsAskedForAStreamedBodyWhenTheServiceReadsIt() {
        let fields = [("content-length", "10"), ("expect", "100-continue")]
        var request = lifecycle(.streamed(limit: 1 << 30), fields)
        request.started(at: Self.at(0), Self.limits)
        #expect(!request.continueIsDue)
        // The client is not too slow, since it waits, but the service is.
        #expect(check(&request, at: 59) == nil)
        #expect(check(&request, at: 60) == .cancel)

        request = lifecycle(.streamed(limit: 1 << 30), fields)
        request.started(at: Self.at(0), Self.limits)
        request.awaited()
        #expect(request.continueIsDue)
        request.continueSent()
        #expect(!request.continueIsDue)

        // A client that does not wait is not asked.
        request = lifecycle(.streamed(limit: 1 << 30), fields)
        request.started(at: Self.at(0), Self.limits)
        _ = request.received(5, Self.limits)
        request.awaited()
        #expect(!request.continueIsDue)

        #expect(lifecycle(.collected(), fields).continueIsDue)
    }

    @Test func aResponseInPartsHasTimeForEachOfThem() {
        var request = lifecycle(.collected())
        _ = request.bodyEnded(waits: false)
        request.started(at: Self.at(0), Self.limits)
        #expect(request.responded(streaming: 30) == .write)
        for second in stride(from: UInt64(50), through: 200, by: 50) {
            #expect(request.produced(5) == .write)
            #expect(check(&request, at: second) == nil)
        }
        // The client takes nothing: that is not the service's fault.
        request.writabilityChanged(false)
        #expect(check(&request, at: 400) == nil)
        #expect(check(&request, at: 500) == nil)
        request.writabilityChanged(true)
        #expect(check(&request, at: 501) == nil)
        #expect(check(&request, at: 560) == nil)
        #expect(check(&request, at: 561) == .cancel)
        #expect(request.produced(5) == nil)
        #expect(request.responseEnded(succeeded: false) == .abort)
        #expect(request.responseEnded(succeeded: true) == nil)
    }

    @Test(arguments: [(30, 30, RequestLifecycle.Action.finish), (30, 20, .abort), (30, 40, .abort)])
    func aResponseIsAsLongAsItsHeadSays(length: Int, made: Int, action: RequestLifecycle.Action) {
        var request = lifecycle(.collected())
        _ = request.bodyEnded(waits: false)
        request.started(at: Self.at(0), Self.limits)
        _ = request.responded(streaming: length)
        let produced = request.produced(made)
        #expect((produced == .write ? request.responseEnded(succeeded: true) : produced) == action)
    }
}
