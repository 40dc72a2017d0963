import SkyrowTestSupport
import Testing

@testable import SkyrowConcurrency

@Suite struct EventQueueTests {
    private enum Step: Hashable {
        case offer(Int)
        /// The task of the first reader begins.
        case read
        case cancel
        case finish
    }

    /// The first reader reads until it is cancelled or at the end, and a second one what is left.
    @Test func inEveryOrderTheReadersGetEachEventOnceAndInOrder() {
        let scripts: [[Step]] = [[.offer(1), .offer(2), .finish], [.read], [.cancel]]
        for schedule in interleavings(scripts) {
            var queue = EventQueueState<Int, Int>()
            var (events, readers, ends) = ([Int](), 0, 0)
            var (isCancelled, hasBegun) = (false, false)
            var waits = false

            func read() {
                while true {
                    let step = queue.next(isCancelled: isCancelled) {
                        readers += 1
                        return readers
                    }
                    switch step {
                    case .event(let event):
                        events.append(event)
                    case .over:
                        ends += 1
                        return
                    case .waits:
                        waits = true
                        return
                    }
                }
            }
            func resume(_ reader: Int?) {
                guard reader != nil else { return }
                #expect(waits, "\(schedule)")
                waits = false
                read()
            }

            for step in schedule {
                switch step {
                case .offer(let event):
                    let (isTaken, reader) = queue.offer { buffer in
                        buffer.append(event)
                        return true
                    }
                    #expect(isTaken)
                    resume(reader)
                case .read:
                    hasBegun = true
                    read()
                case .cancel:
                    isCancelled = true
                    // Only a task that waits hears of it; others ask.
                    if waits { resume(queue.wake()) }
                case .finish:
                    resume(queue.finish(dropping: false))
                }
            }
            #expect(hasBegun && ends == 1 && !waits, "\(schedule)")
            isCancelled = false
            read()
            #expect(events == [1, 2] && ends == 2, "\(schedule)")
        }
    }

    @Test func aBufferAgreesWithAList() {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(20) {
            var buffer = EventBuffer<Int>()
            var model: [(event: Int, weight: Int)] = []
            let mostAdded = Int.random(in: 2...8, using: &random)
            for number in 0..<2000 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<mostAdded:
                    let weight = Int.random(in: 0...9, using: &random)
                    buffer.append(number, weight: weight)
                    model.append((number, weight))
                case 9 where Int.random(in: 0..<100, using: &random) == 0:
                    buffer.removeAll()
                    model = []
                case 9:
                    buffer.removeLast()
                    _ = model.popLast()
                default:
                    let event = buffer.removeFirst()
                    #expect(event == model.first?.event)
                    if !model.isEmpty { model.removeFirst() }
                }
                #expect(buffer.last == model.last?.event && buffer.isEmpty == model.isEmpty)
                #expect(buffer.weight == model.reduce(0) { $0 + $1.weight })
            }
        }
    }

    @Test func aReaderGetsWhatComesFromOtherThreads() async throws {
        let queue = EventQueue<Int>()
        let count = 1000
        let writer = Task {
            for number in 0..<count {
                let isTaken = queue.offer { events in
                    events.append(number)
                    return true
                }
                #expect(isTaken)
                if number.isMultiple(of: 7) { await Task.yield() }
            }
            queue.finish()
        }
        let events = try await waiting(for: "the events") {
            var events: [Int] = []
            while let event = await queue.next() { events.append(event) }
            return events
        }
        await writer.value
        #expect(events == Array(0..<count))
        #expect(queue.offer { _ in false })
        #expect(await queue.next() == nil)
    }

    @Test func aCancelledReaderLeavesTheEventsToTheNext() async throws {
        let queue = EventQueue<Int>()
        for number in 0..<100 {
            let reader = Task { await queue.next() }
            async let offered = queue.offer { events in
                events.append(number)
                return true
            }
            reader.cancel()
            #expect(await offered)
            let read = try await waiting(for: "the cancelled reader") { await reader.value }
            if read == nil { #expect(await queue.next() == number) } else { #expect(read == number) }
        }
        queue.finish(dropping: true)
    }
}
