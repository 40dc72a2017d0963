import NIOCore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// How long a WebSocket lives, and how it ends.
@Suite struct WebSocketLifecycleTests {
    private static let limits = HTTPLimits(bodyTime: .seconds(60), bodyWindow: .seconds(10))
    private let limits = WebSocketLifecycleTests.limits
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func lifecycle(isAuthenticated: Bool = true) -> WebSocketLifecycle {
        WebSocketLifecycle(limits, isAuthenticated: isAuthenticated, now: start)
    }

    @Test func aClientThatSaysNothingIsAskedAndThenLeft() {
        var lifecycle = lifecycle()
        var actions: [Int64: WebSocketLifecycle.Action] = [:]
        for second: Int64 in 1...70 {
            let now = start + .seconds(second)
            actions[second] = lifecycle.check(now: now, partial: nil, isReadHeldBack: false, limits)
        }
        #expect(
            actions == [
                25: .ping, 50: .ping, 60: .sendClose(.silent), 62: .end, 63: .end, 64: .end, 65: .end, 66: .end,
                67: .end, 68: .end, 69: .end, 70: .end,
            ]
        )
    }

    @Test func aClientThatAnswersStays() {
        var lifecycle = lifecycle()
        var pings = 0
        for second: Int64 in 1...600 {
            let now = start + .seconds(second)
            guard let action = lifecycle.check(now: now, partial: nil, isReadHeldBack: false, limits) else { continue }
            #expect(action == .ping)
            pings += 1
            lifecycle.heard(now: now)
        }
        #expect(pings == 24)
    }

    @Test(arguments: [(9, false, nil), (10, false, SocketClosure.notAuthenticated), (10, true, nil)])
    func credentialsHaveTenSeconds(seconds: Int64, comeInTime: Bool, closure: SocketClosure?) {
        var lifecycle = lifecycle(isAuthenticated: false)
        if comeInTime { lifecycle.authenticated() }
        let action = lifecycle.check(now: start + .seconds(seconds), partial: nil, isReadHeldBack: false, limits)
        #expect(action == closure.map { .sendClose($0) })
    }

    /// Of a message, a kilobyte a second has to arrive, and all of it within a minute; the next one begins anew.
    @Test func aMessageMayBeNoSlowerThanABody() {
        struct Row {
            let bytesASecond: Int
            let changes: Bool
            let isHeldBack: Bool
            let end: Int64?
        }
        let rows = [
            Row(bytesASecond: 0, changes: false, isHeldBack: false, end: 11),
            Row(bytesASecond: 500, changes: false, isHeldBack: false, end: 11),
            Row(bytesASecond: 2000, changes: false, isHeldBack: false, end: 61),
            Row(bytesASecond: 2000, changes: true, isHeldBack: false, end: nil),
            Row(bytesASecond: 0, changes: false, isHeldBack: true, end: nil),
        ]
        for row in rows {
            var lifecycle = lifecycle()
            var end: Int64?
            for second: Int64 in 1...100 where end == nil {
                let now = start + .seconds(second)
                lifecycle.heard(now: now)
                let partial = PartialMessage(
                    number: row.changes ? UInt64(second) : 1,
                    bytes: 1 + Int(second) * row.bytesASecond
                )
                let action = lifecycle.check(now: now, partial: partial, isReadHeldBack: row.isHeldBack, limits)
                if action == .sendClose(.slowMessage) { end = second }
            }
            #expect(end == row.end, "\(row)")
        }
    }

    @Test func whatWasTakenIsFinishedBeforeTheEnd() {
        var lifecycle = lifecycle()
        let restart = SocketClosure.restarting(retryAfter: .milliseconds(4200))
        #expect(restart.reason == #"{"retry_after":4.2}"#)
        #expect(lifecycle.finish(restart, isIdle: false, within: .seconds(30), now: start, limits.live) == nil)
        #expect(!lifecycle.isOpen)
        #expect(lifecycle.check(now: start + .seconds(29), partial: nil, isReadHeldBack: false, limits) == nil)
        #expect(lifecycle.becameIdle(now: start + .seconds(29), limits.live) == .sendClose(restart))
        #expect(lifecycle.becameIdle(now: start + .seconds(29), limits.live) == nil)
        #expect(lifecycle.receivedClose(1012) == .end)
    }

    @Test func whatIsNotFinishedInTimeIsGivenUp() {
        var lifecycle = lifecycle()
        #expect(lifecycle.finish(.normal, isIdle: false, within: .seconds(30), now: start, limits.live) == nil)
        let action = lifecycle.check(now: start + .seconds(30), partial: nil, isReadHeldBack: false, limits)
        #expect(action == .sendClose(.normal))
    }

    @Test func aCloseIsConfirmedOnce() {
        var lifecycle = lifecycle()
        #expect(lifecycle.receivedClose(1001) == .confirmClose(1001))
        #expect(lifecycle.close(.tooSlow, now: start, limits.live) == nil)
        lifecycle.confirmed(now: start + .seconds(2))
        #expect(lifecycle.check(now: start + .seconds(2), partial: nil, isReadHeldBack: false, limits) == .end)
        let ends = [lifecycle.closed(), lifecycle.closed()]
        #expect(ends == [true, false])
        #expect(lifecycle.receivedClose(1000) == nil)
    }

    @Test func everyReasonFitsACloseFrame() {
        let closures: [SocketClosure] = [
            .normal, .unmasked, .reservedBits, .unknownOpcode, .misplacedFragment, .interruptedMessage,
            .malformedControl, .malformedClose, .binary, .invalidText, .controlFlood, .fragmentFlood, .slowMessage,
            .tooLarge, .failed, .noMemory, .silent, .notAuthenticated, .sessionEnded, .tooSlow, .tooMany,
            .shareExceeded, .restarting(within: .seconds(10)),
        ]
        for closure in closures {
            #expect(closure.payload.readableBytes <= 125)
            #expect(SocketClosure.mayBeSent(closure.code))
        }
    }
}
