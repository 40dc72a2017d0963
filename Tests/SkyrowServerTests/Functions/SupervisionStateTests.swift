import SkyrowActions
import Testing

@testable import SkyrowServer

/// When processes are started, replaced and ended, without processes.
@Suite struct SupervisionStateTests {
    private static let start = ContinuousClock.now

    /// A supervision with a clock that a test moves.
    private struct Course {
        var state = SupervisionState(drain: .seconds(10))
        var now = SupervisionStateTests.start

        mutating func happens(_ event: SupervisionState.Event, after pause: Duration = .zero) -> [SupervisionState
            .Order]
        {
            now += pause
            return state.handle(event, at: now)
        }

        /// Moves the clock to the next time at which something is due.
        mutating func expires() -> (after: Duration, orders: [SupervisionState.Order])? {
            guard let time = state.nextTime else { return nil }
            let pause = now.duration(to: time)
            now = time
            return (pause, state.expire(at: now))
        }
    }

    /// A course with process 1 that serves.
    private func serving() -> Course {
        var course = Course()
        let begun = course.happens(.begin)
        #expect(begun == [.show(.starting), .launch(1)])
        let launched = course.happens(.launched(1))
        #expect(launched == [])
        let initialized = course.happens(.initialized(1))
        #expect(initialized == [.use(1)])
        #expect(course.state.nextTime == nil)
        return course
    }

    @Test func aServerThatEndsIsRestartedWithGrowingPauses() {
        var course = Course()
        _ = course.happens(.begin)
        for (number, pause) in [(1, 0.5), (2, 1), (3, 2), (4, 4), (5, 8), (6, 16), (7, 30), (8, 30)] as [(Int, Double)]
        {
            let orders = course.happens(.ended(number, "exit code 1"), after: .milliseconds(10))
            #expect(
                orders == [
                    .show(.down("it ended: exit code 1")), .report(.ended("exit code 1", restartsIn: .seconds(pause))),
                ]
            )
            let next = course.expires()
            #expect(next?.after == .seconds(pause))
            #expect(next?.orders == [.show(.starting), .launch(number + 1)])
        }
    }

    @Test(arguments: [(59, 1.0), (60, 0.5)]) func aMinuteOfHealthResetsThePause(_ seconds: Int, _ pause: Double) {
        var course = Course()
        _ = course.happens(.begin)
        _ = course.happens(.ended(1, "exit code 1"))
        _ = course.expires()
        _ = course.happens(.initialized(2))
        let orders = course.happens(.ended(2, "signal 9"), after: .seconds(seconds))
        #expect(orders.contains(.report(.ended("signal 9", restartsIn: .seconds(pause)))))
    }

    @Test func aServerThatDoesNotAnswerIsShownAsDownAndGoesOn() {
        var course = Course()
        _ = course.happens(.begin)
        let late = course.expires()
        #expect(late?.after == .seconds(30))
        #expect(late?.orders == [.show(.down("it has not answered init for 30 s"))])
        #expect(course.state.nextTime == nil)
        let initialized = course.happens(.initialized(1), after: .seconds(60))
        #expect(initialized == [.use(1)])
    }

    @Test func aRefusedServerIsShownAndMayBeAcceptedLater() {
        var course = Course()
        _ = course.happens(.begin)
        let refused = course.happens(.refused(1, "the function a is another's"))
        #expect(refused == [.show(.refused("the function a is another's"))])
        #expect(course.state.nextTime == nil)
        let initialized = course.happens(.initialized(1))
        #expect(initialized == [.use(1)])
    }

    @Test func aReplacementTakesOverWhenItIsInitialized() {
        var course = serving()
        let begun = course.happens(.reload("SIGHUP"))
        #expect(begun == [.report(.reloads("SIGHUP")), .launch(2)])
        let taken = course.happens(.initialized(2), after: .seconds(3))
        #expect(taken == [.use(2), .retire(1), .report(.reloaded)])
        // Its calls are finished before their time is over.
        let drained = course.happens(.drained(1), after: .seconds(2))
        #expect(drained == [.terminate(1)])
        let ended = course.happens(.ended(1, "exit code 0"))
        #expect(ended == [])
        #expect(course.state.nextTime == nil)
    }

    @Test func aReplacedServerIsEndedWhenItsCallsTakeTooLong() {
        var course = serving()
        _ = course.happens(.reload("SIGHUP"))
        _ = course.happens(.initialized(2))
        let late = course.expires()
        #expect(late?.after == .seconds(10) && late?.orders == [.terminate(1)])
        let insists = course.expires()
        #expect(insists?.after == SupervisionState.grace && insists?.orders == [.kill(1)])
        #expect(course.state.nextTime == nil)
        let drained = course.happens(.drained(1))
        #expect(drained == [])
    }

    @Test(arguments: ["ends", "refused", "late"]) func aBrokenReplacementChangesNothing(_ way: String) {
        var course = serving()
        _ = course.happens(.reload("SIGHUP"))
        switch way {
        case "ends":
            let orders = course.happens(.ended(2, "exit code 1"))
            #expect(orders == [.report(.reloadFailed("it ended: exit code 1"))])
        case "refused":
            let orders = course.happens(.refused(2, "no"))
            #expect(orders == [.report(.reloadFailed("no")), .terminate(2)])
        default:
            let late = course.expires()
            #expect(late?.after == SupervisionState.startTime)
            #expect(late?.orders == [.report(.reloadFailed("it has not answered init for 30 s")), .terminate(2)])
        }
        // What it says later does not count.
        let initialized = course.happens(.initialized(2))
        #expect(initialized == [])
        let again = way == "ends" ? [] : course.happens(.ended(2, "signal 15"))
        #expect(again == [])
        let next = course.happens(.reload("SIGHUP"))
        #expect(next == [.report(.reloads("SIGHUP")), .launch(3)])
    }

    @Test func aChangeDuringAStartStartsAgain() {
        var course = serving()
        _ = course.happens(.reload("a"))
        let changed = course.happens(.reload("b"))
        #expect(changed == [.terminate(2)])
        let more = course.happens(.reload("c"))
        #expect(more == [])
        let ended = course.happens(.ended(2, "signal 15"))
        #expect(ended == [.report(.reloads("c")), .launch(3)])
    }

    @Test func aReplacementWaitsForTheEndOfTheOneBefore() {
        var course = serving()
        _ = course.happens(.reload("a"))
        _ = course.happens(.initialized(2))
        let waits = course.happens(.reload("b"))
        #expect(waits == [])
        let drained = course.happens(.drained(1))
        #expect(drained == [.terminate(1)])
        let ended = course.happens(.ended(1, "exit code 0"))
        #expect(ended == [.report(.reloads("b")), .launch(3)])
    }

    @Test func aReloadOfAServerThatIsDownStartsItAtOnce() {
        var course = Course()
        _ = course.happens(.begin)
        _ = course.happens(.ended(1, "exit code 1"))
        let orders = course.happens(.reload("its files have changed"))
        #expect(orders == [.report(.reloads("its files have changed")), .show(.starting), .launch(2)])
        let next = course.expires()
        #expect(next?.after == SupervisionState.startTime)
    }

    @Test func aServerThatEndsWhileItIsReplacedIsNotRestarted() {
        var course = serving()
        _ = course.happens(.reload("SIGHUP"))
        let ended = course.happens(.ended(1, "signal 9"))
        #expect(ended == [.show(.starting)])
        let initialized = course.happens(.initialized(2))
        #expect(initialized == [.use(2)])
    }

    @Test func tooMuchMemoryReplacesAndThenKills() {
        var course = serving()
        let limited = course.happens(.overMemory(1))
        #expect(limited == [.report(.reloads("it takes too much memory")), .launch(2)])
        let again = course.happens(.overMemory(1), after: .seconds(2))
        #expect(again == [])
        // A replacement has no time.
        let other = course.happens(.overMemory(2))
        #expect(other == [.kill(2)])
        let killed = course.expires()
        #expect(killed?.after == .seconds(8) && killed?.orders == [.kill(1)])
        let ended = course.happens(.ended(1, "signal 9"))
        #expect(ended == [.show(.starting)])
    }

    @Test func theOldProcessIsKilledInTimeAlsoWhenItIsReplaced() {
        var course = serving()
        _ = course.happens(.overMemory(1))
        _ = course.happens(.initialized(2), after: .seconds(1))
        let killed = course.expires()
        #expect(killed?.after == .seconds(9))
        #expect(killed?.orders == [.kill(1)])
    }

    @Test func stoppingEndsAllProcesses() {
        var course = serving()
        _ = course.happens(.reload("SIGHUP"))
        let stopped = course.happens(.stop)
        #expect(stopped == [.terminate(1), .terminate(2)])
        #expect(!course.state.isOver)
        // Nothing starts any more.
        for event in [.reload("SIGHUP"), .initialized(2), .overMemory(1), .ended(2, "signal 15")]
            as [SupervisionState.Event]
        {
            let orders = course.happens(event)
            #expect(orders == [], "\(event)")
        }
        let insists = course.expires()
        #expect(insists?.after == SupervisionState.grace && insists?.orders == [.kill(1)])
        let ended = course.happens(.ended(1, "signal 9"))
        #expect(ended == [])
        #expect(course.state.isOver)
    }

    @Test func aProcessThatIsStartedWhileStoppingIsEnded() {
        var course = Course()
        _ = course.happens(.begin)
        let stopped = course.happens(.stop)
        #expect(stopped == [.terminate(1)])
        // The signal came before the process.
        let launched = course.happens(.launched(1))
        #expect(launched == [.terminate(1)])
    }
}
