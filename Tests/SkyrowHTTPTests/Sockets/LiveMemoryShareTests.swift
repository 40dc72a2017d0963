import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowHTTP

/// The bytes that connections hold and promise, in every order of changes while some of them are chosen to fall behind.
@Suite struct LiveMemoryShareTests {
    private enum Step: Hashable {
        /// The shares are looked at by a thread that is over the limit.
        case look
        /// It has those that it saw promise their bytes.
        case promise
        case set(Int)
        case end
        case otherSets(Int)
        case otherEnds
    }

    @Test func noOrderOfStepsLeavesBytesOrPromises() {
        let scripts: [[Step]] = [
            [.look, .promise], [.set(30), .set(60), .set(0)], [.end], [.otherSets(20), .otherEnds],
        ]
        let schedules = Set(interleavings(scripts))
        #expect(schedules.count == 1680)
        for schedule in schedules {
            let memory = LiveMemory(limit: 50)
            let share = memory.share {}
            let other = memory.share {}
            var seen: [LiveMemory.Share] = []
            share.set(10)
            for step in schedule {
                switch step {
                case .look: seen = memory.unpromised([share, other]).map(\.share)
                case .promise: _ = memory.promise(seen)
                case .set(let count): share.set(count)
                case .end: share.end()
                case .otherSets(let count): other.set(count)
                case .otherEnds: other.end()
                }
                #expect((0...memory.bytes).contains(memory.promisedBytes), "\(step) of \(schedule)")
            }
            #expect(memory.bytes == 0 && memory.promisedBytes == 0, "\(schedule)")
        }
    }

    @Test func oneExcessIsHandledOnce() {
        let memory = LiveMemory(limit: 100)
        let falls = Mutex<[String]>([])
        let (large, small) = (
            memory.share { falls.withLock { $0.append("large") } },
            memory.share { falls.withLock { $0.append("small") } }
        )
        large.set(80)
        small.set(30)
        #expect(falls.withLock { $0 } == ["large"])
        // What is promised no longer counts.
        small.set(90)
        #expect(falls.withLock { $0 } == ["large"] && memory.bytes == 170 && memory.promisedBytes == 80)
        small.set(101)
        #expect(falls.withLock { $0 } == ["large", "small"] && memory.promisedBytes == 181)
        large.set(79)
        small.set(0)
        #expect(memory.bytes == 79 && memory.promisedBytes == 0)
        small.set(30)
        #expect(falls.withLock { $0 } == ["large", "small", "large"])
        large.end()
        small.end()
        // What another thread has still to say counts no more.
        small.set(5)
        #expect(memory.bytes == 0 && memory.promisedBytes == 0)
    }

    @Test func racesLeaveNeitherBytesNorPromises() async {
        for _ in 0..<seededCases(20) {
            let memory = LiveMemory(limit: 50)
            await withTaskGroup(of: Void.self) { group in
                for size in [40, 30] {
                    group.addTask {
                        for _ in 0..<2000 {
                            let share = memory.share {}
                            share.set(size)
                            share.end()
                        }
                    }
                }
            }
            #expect(memory.bytes == 0 && memory.promisedBytes == 0)
        }
    }
}
