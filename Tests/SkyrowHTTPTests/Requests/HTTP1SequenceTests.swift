import NIOCore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// When an HTTP/1.1 connection takes requests, and how it ends.
@Suite struct HTTP1SequenceTests {
    private static let limits = HTTPLimits()

    private static func at(_ second: Double) -> NIODeadline { .uptimeNanoseconds(UInt64(second * 1_000_000_000)) }

    @Test func anIdleConnectionClosesAndABusyOneDoesNot() {
        var sequence = HTTP1Sequence(Self.limits, now: Self.at(0))
        #expect(sequence.check(now: Self.at(14), isIdle: true, Self.limits) == nil)
        #expect(sequence.check(now: Self.at(15), isIdle: true, Self.limits) == .close)
        sequence.requestArrived(now: Self.at(15), Self.limits)
        #expect(sequence.check(now: Self.at(500), isIdle: false, Self.limits) == nil)
        let stays = sequence.responseBegins(wantsClose: false, isLast: true, now: Self.at(500), Self.limits)
        #expect(stays)
        #expect(sequence.check(now: Self.at(574), isIdle: true, Self.limits) == nil)
        #expect(sequence.check(now: Self.at(575), isIdle: true, Self.limits) == .close)
    }

    @Test func aShutdownLetsTheLastRequestsEnd() {
        var sequence = HTTP1Sequence(Self.limits, now: Self.at(0))
        sequence.beginShutdown(now: Self.at(1), Self.limits)
        #expect(sequence.check(now: Self.at(1.05), isIdle: true, Self.limits) == nil)
        #expect(sequence.check(now: Self.at(2), isIdle: false, Self.limits) == nil)
        let stays = sequence.responseBegins(wantsClose: false, isLast: false, now: Self.at(3), Self.limits)
        #expect(stays)
        let staysIdle = sequence.responseBegins(wantsClose: false, isLast: true, now: Self.at(3), Self.limits)
        #expect(!staysIdle)
        #expect(sequence.check(now: Self.at(31), isIdle: false, Self.limits) == .close)
        let time = Self.limits.lastRequest
        #expect(sequence.check(now: Self.at(4), isIdle: true, Self.limits) == .finish(lingersFor: time))
    }

    @Test func aClientThatClosedItsSideIsProbedNowAndThen() {
        var sequence = HTTP1Sequence(Self.limits, now: Self.at(0))
        #expect(sequence.inputClosed(isIdle: false, now: Self.at(1), Self.limits) == nil)
        #expect(sequence.check(now: Self.at(2), isIdle: false, Self.limits) == nil)
        #expect(sequence.check(now: Self.at(3), isIdle: false, Self.limits) == .probe)
        #expect(sequence.check(now: Self.at(4), isIdle: false, Self.limits) == nil)
        #expect(sequence.check(now: Self.at(5), isIdle: false, Self.limits) == .probe)
        let stays = sequence.responseBegins(wantsClose: false, isLast: true, now: Self.at(5), Self.limits)
        #expect(!stays)
        #expect(sequence.finish(lingersFor: .seconds(2)) == .finish(lingersFor: .seconds(2)))
        // It has closed already: there is nothing to wait for.
        #expect(sequence.lastWritten(succeeded: true, lingersFor: .seconds(2), now: Self.at(5)) == .close)
    }

    /// Whatever happens in whatever order, a connection ends once, and takes nothing afterwards.
    @Test func everyOrderOfEventsEndsOnce() {
        var random = SeededGenerator.forTest()
        for _ in 0..<2000 {
            var sequence = HTTP1Sequence(Self.limits, now: Self.at(0))
            var now = 0.0
            var finishes = 0
            var refusals = 0
            func perform(_ step: HTTP1Sequence.Step?, _ sequence: inout HTTP1Sequence) {
                switch step {
                case .finish(let time)?:
                    finishes += 1
                    #expect(!sequence.takesInput)
                    let succeeded = Bool.random(using: &random)
                    perform(sequence.lastWritten(succeeded: succeeded, lingersFor: time, now: Self.at(now)), &sequence)
                case .close?:
                    let isFirst = sequence.closed()
                    #expect(isFirst)
                case .linger?: #expect(!sequence.isOpen && !sequence.inputIsClosed)
                case .probe?: #expect(sequence.isOpen && sequence.inputIsClosed)
                case nil: break
                }
            }
            for _ in 0..<40 {
                switch Int.random(in: 0..<9, using: &random) {
                case 0 where sequence.takesInput: sequence.requestArrived(now: Self.at(now), Self.limits)
                case 1 where sequence.takesInput: refusals += sequence.refuse() ? 1 : 0
                case 2 where !sequence.inputIsClosed:
                    let isIdle = Bool.random(using: &random)
                    perform(sequence.inputClosed(isIdle: isIdle, now: Self.at(now), Self.limits), &sequence)
                case 3: perform(sequence.finish(lingersFor: .seconds(2)), &sequence)
                case 4: sequence.beginShutdown(now: Self.at(now), Self.limits)
                case 5: _ = sequence.refuse()
                default:
                    now += Double.random(in: 0...10, using: &random)
                    let isIdle = Bool.random(using: &random)
                    perform(sequence.check(now: Self.at(now), isIdle: isIdle, Self.limits), &sequence)
                }
                if sequence.phase == .closed { break }
            }
            // An idle connection closes in the end.
            for _ in 0..<40 where sequence.phase != .closed {
                now += 10
                perform(sequence.check(now: Self.at(now), isIdle: true, Self.limits), &sequence)
            }
            #expect(sequence.phase == .closed)
            #expect(finishes <= 1 && refusals <= 1)
            #expect(sequence.check(now: Self.at(now + 1000), isIdle: true, Self.limits) == nil)
            #expect(sequence.finish(lingersFor: nil) == nil)
            let isFirst = sequence.closed()
            #expect(!isFirst)
        }
    }
}
