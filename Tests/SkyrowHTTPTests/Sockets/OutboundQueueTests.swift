import NIOCore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What a connection does with the messages that its client does not take.
@Suite struct OutboundQueueTests {
    private static let limits = LiveLimits(buffer: 1000, lagging: .seconds(30), falls: 3, fallsWithin: .seconds(60))
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func queue(live sizes: [Int], at now: NIODeadline) -> (OutboundQueue<Int>, [OutboundQueue<Int>.Action?]) {
        var queue = OutboundQueue<Int>()
        let actions = sizes.enumerated().map { index, bytes in
            queue.add(index, bytes: bytes, isLive: true, now: now, OutboundQueueTests.limits)
        }
        return (queue, actions)
    }

    @Test func messagesLeaveInTheOrderInWhichTheyCame() {
        var queue = OutboundQueue<Int>()
        for index in 0..<4 {
            _ = queue.add(index, bytes: 10, isLive: index.isMultiple(of: 2), now: start, OutboundQueueTests.limits)
        }
        #expect((0..<4).map { _ in queue.next()?.message } == [0, 1, 2, 3])
        #expect(queue.isEmpty)
        #expect(queue.leavingBytes == 40)
        #expect(queue.liveBytes == 20)
        #expect(queue.left(40, live: 20) == nil)
        #expect(queue.liveBytes == 0)
    }

    @Test func oneMessageOfAnyLengthIsTakenAndTheNextIsTheOneTooMany() {
        var (queue, actions) = queue(live: [5000, 1], at: start)
        #expect(actions == [nil, .fellBehind])
        #expect(queue.isLagging)
        // What waited is gone, and what comes is dropped.
        #expect(queue.next() == nil)
        #expect(queue.add(9, bytes: 1, isLive: true, now: start, OutboundQueueTests.limits) == nil)
        #expect(queue.isEmpty)
    }

    @Test func responsesAreKeptWhileItLags() {
        var (queue, _) = queue(live: [600, 600], at: start)
        #expect(queue.add(7, bytes: 9000, isLive: false, now: start, OutboundQueueTests.limits) == nil)
        #expect(queue.next()?.message == 7)
        #expect(queue.left(9000, live: 0) == .caughtUp)
        #expect(!queue.isLagging)
        #expect(queue.add(8, bytes: 10, isLive: true, now: start, OutboundQueueTests.limits) == nil)
        #expect(queue.next()?.message == 8)
    }

    @Test func itHasCaughtUpWhenEverythingHasLeftAndNotBefore() {
        var (queue, _) = queue(live: [400, 400], at: start)
        #expect(queue.next()?.bytes == 400)
        #expect(queue.next()?.bytes == 400)
        #expect(queue.add(3, bytes: 400, isLive: true, now: start, OutboundQueueTests.limits) == .fellBehind)
        #expect(queue.left(400, live: 400) == nil)
        #expect(queue.isLagging)
        #expect(queue.left(400, live: 400) == .caughtUp)
    }

    @Test func nothingOfItIsLeftToWaitForWhenAllOfItWasDropped() {
        var (queue, _) = queue(live: [600, 600], at: start)
        #expect(queue.check(now: start, OutboundQueueTests.limits) == .caughtUp)
    }

    @Test func laggingForHalfAMinuteEndsIt() {
        var (queue, _) = queue(live: [600], at: start)
        _ = queue.next()
        #expect(queue.add(1, bytes: 600, isLive: true, now: start, OutboundQueueTests.limits) == .fellBehind)
        #expect(queue.check(now: start + .milliseconds(29_999), OutboundQueueTests.limits) == nil)
        #expect(queue.check(now: start + .seconds(30), OutboundQueueTests.limits) == .close)
        #expect(queue.phase == .closing)
        #expect(queue.check(now: start + .seconds(40), OutboundQueueTests.limits) == nil)
    }

    @Test(arguments: [(29, true), (30, false), (31, false)])
    func threeTimesAMinuteEndsIt(seconds: Int64, isTooOften: Bool) {
        var queue = OutboundQueue<Int>()
        var now = start
        for round in 1...2 {
            #expect(queue.fallBehind(now: now, OutboundQueueTests.limits) == .fellBehind, "\(round)")
            #expect(queue.check(now: now, OutboundQueueTests.limits) == .caughtUp)
            now = now + .seconds(seconds)
        }
        #expect(queue.fallBehind(now: now, OutboundQueueTests.limits) == (isTooOften ? .close : .fellBehind))
    }

    /// A client that reads by fits and starts: what is held stays within the limit, responses arrive all and in order, and so
    /// do live messages but for those that a fall dropped.
    @Test func generatedSchedulesKeepThePromises() {
        var seeds = SeededGenerator.forTest()
        for _ in 0..<2000 {
            let seed = seeds.next()
            var schedule = Schedule(seed: seed)
            for _ in 0..<200 where schedule.fault == nil { schedule.step() }
            schedule.settle()
            #expect(schedule.fault == nil, "seed \(seed): \(schedule.fault ?? "")\n\(schedule.history)")
        }
    }

    private struct Schedule {
        private var random: SeededGenerator
        private var queue = OutboundQueue<Int>()
        private var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        private var number = 0
        private var lastWritten = -1
        private var owedResponses: [Int] = []
        private var owedLive: [Int] = []
        private var given: [(bytes: Int, isLive: Bool)] = []
        private var falls: [NIODeadline] = []
        private var laggingSince: NIODeadline?
        private var isClosed = false
        private(set) var fault: String?
        private var events: [String] = []

        var history: String { events.suffix(30).joined(separator: "\n") }

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
        }

        mutating func step() {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: add(isLive: true)
            case 4..<6: add(isLive: false)
            case 6..<8: write()
            case 8: leave()
            default: advance()
            }
            check()
        }

        private mutating func add(isLive: Bool) {
            let bytes = Int.random(in: 1...700, using: &random)
            let held = queue.liveBytes
            let action = queue.add(number, bytes: bytes, isLive: isLive, now: now, OutboundQueueTests.limits)
            events.append("add \(number) live \(isLive) \(bytes): \(String(describing: action))")
            if isClosed {
                if action != nil { fault = "a closed queue acts" }
            } else if isLive {
                if laggingSince != nil {
                    if action != nil { fault = "a lagging queue acts on a message" }
                } else if held == 0 || held + bytes <= OutboundQueueTests.limits.buffer {
                    if action != nil { fault = "it falls behind within the limit" }
                    owedLive.append(number)
                } else {
                    if action == nil { fault = "it takes more than the limit" }
                    take(action)
                }
            } else {
                owedResponses.append(number)
            }
            number += 1
        }

        private mutating func write() {
            guard let (message, bytes, isLive) = queue.next() else {
                if !isClosed, !owedResponses.isEmpty { fault = "a response is lost" }
                if !isClosed, !owedLive.isEmpty { fault = "a live message is lost" }
                return
            }
            if message <= lastWritten { fault = "\(message) comes after \(lastWritten)" }
            lastWritten = message
            given.append((bytes, isLive))
            if isLive {
                if owedLive.first != message { fault = "live \(message) was dropped, or comes too early" }
                if !owedLive.isEmpty { owedLive.removeFirst() }
            } else {
                if owedResponses.first != message { fault = "response \(message) comes too early" }
                if !owedResponses.isEmpty { owedResponses.removeFirst() }
            }
        }

        private mutating func leave() {
            guard !given.isEmpty else { return }
            let (bytes, isLive) = given.removeFirst()
            let action = queue.left(bytes, live: isLive ? bytes : 0)
            events.append("left \(bytes): \(String(describing: action))")
            take(action)
        }

        private mutating func advance() {
            now = now + .seconds(Int64.random(in: 0...12, using: &random))
            let action = queue.check(now: now, OutboundQueueTests.limits)
            events.append("check: \(String(describing: action))")
            if let since = laggingSince, now >= since + .seconds(30), !given.isEmpty || !owedResponses.isEmpty,
                action != .close
            {
                fault = "it lags for ever"
            }
            take(action)
        }

        private mutating func take(_ action: OutboundQueue<Int>.Action?) {
            switch action {
            case nil: break
            case .fellBehind:
                falls = falls.filter { $0 + .seconds(60) > now } + [now]
                if falls.count >= 3 { fault = "it falls three times a minute" }
                if laggingSince != nil || isClosed { fault = "it falls twice" }
                laggingSince = now
                owedLive = []
            case .caughtUp:
                if laggingSince == nil { fault = "it catches up twice" }
                if !given.isEmpty || !owedResponses.isEmpty { fault = "it catches up too early" }
                laggingSince = nil
            case .close:
                if isClosed { fault = "it closes twice" }
                isClosed = true
                laggingSince = nil
                owedLive = []
                owedResponses = []
            }
        }

        private mutating func check() {
            if queue.waitingLiveBytes > queue.waitingBytes || queue.waitingLiveBytes < 0 || queue.leavingBytes < 0 {
                fault = "its bytes do not add up"
            }
            if queue.liveBytes > OutboundQueueTests.limits.buffer, given.count + owedLive.count > 1, owedLive.count > 1
            {
                fault = "it holds \(queue.liveBytes) bytes of several live messages"
            }
        }

        /// The client reads everything.
        mutating func settle() {
            while fault == nil, !queue.isEmpty { write() }
            while fault == nil, !given.isEmpty { leave() }
            guard fault == nil else { return }
            if !isClosed, !owedResponses.isEmpty { fault = "responses \(owedResponses) never came" }
            if queue.liveBytes != 0 || queue.waitingBytes != 0 || queue.leavingBytes != 0 {
                fault = "bytes are left over"
            }
        }
    }
}
