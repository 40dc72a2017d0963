import SkyrowModel
import Testing

@testable import SkyrowClient

/// Which subscriptions a stream has, as a value.
@Suite struct LiveStreamPlanTests {
    private func change(_ name: String, _ id: String) throws -> LiveNotice.Change {
        LiveNotice.Change(subscription: name, content: .event(.deleted(try RecordID("task/\(id)"))), byteCount: 10)
    }

    private func plan(_ names: [String]) -> (plan: LiveStreamPlan, opening: LiveStreamPlan.Opening?) {
        var plan = LiveStreamPlan()
        for name in names { #expect(plan.attach(name, .anew) == true) }
        let opening = plan.open()
        return (plan, opening)
    }

    @Test func oneStreamHasAllSubscriptions() throws {
        var (plan, opening) = plan(["a", "b"])
        #expect(opening?.entries.map(\.name) == ["a", "b"])
        #expect(opening?.entries.map(\.start) == [.anew, .anew])
        #expect(opening?.restarted == [])
        _ = plan.take(.checkpoint(tokens: ["a": "t"], isReady: true), of: 1)
        #expect(plan.attach("c", .since("u")) == true)
        let next = plan.open()
        #expect(next?.entries.map(\.start) == [.since("t"), .anew, .since("u")])
        // b had begun, and begins again.
        #expect(next?.restarted == ["b"])
    }

    @Test func aCommitIsHandedOutAsAWhole() throws {
        var (plan, _) = plan(["a", "b"])
        let items = plan.take(
            .changes([try change("a", "1"), try change("b", "2"), try change("a", "3")], wholeOf: nil),
            of: 1
        )
        #expect(items.map(\.name) == ["a", "b"])
        #expect(items.map(\.byteCount) == [20, 10])
        #expect(items.first?.item == .changes([.deleted(try RecordID("task/1")), .deleted(try RecordID("task/3"))]))
    }

    @Test func aWholeResultMayBeEmpty() {
        var (plan, _) = plan(["a", "b"])
        #expect(plan.take(.changes([], wholeOf: "a"), of: 1).map(\.item) == [.result([], isWhole: true)])
        #expect(plan.take(.changes([], wholeOf: "c"), of: 1).isEmpty)
        #expect(plan.take(.changes([], wholeOf: nil), of: 1).isEmpty)
        let counted = LiveNotice.Change(subscription: "b", content: .result(.counted(3, nil)), byteCount: 7)
        let items = plan.take(.changes([counted], wholeOf: nil), of: 1)
        #expect(items.map(\.item) == [.result([.counted(3, nil)], isWhole: false)])
        #expect(items.map(\.byteCount) == [7])
    }

    @Test func anOlderStreamSaysNothingMore() throws {
        var (plan, _) = plan(["a"])
        _ = plan.open()
        #expect(plan.take(.changes([try change("a", "1")], wholeOf: nil), of: 1).isEmpty)
        #expect(plan.take(.changes([try change("a", "1")], wholeOf: nil), of: 2).count == 1)
        // What waits for a stream hears nothing of the present one.
        #expect(plan.attach("a", .since("t")) == true)
        #expect(plan.take(.changes([try change("a", "1")], wholeOf: nil), of: 2).isEmpty)
    }

    @Test func resetsAndRefusalsTakeASubscriptionOut() throws {
        var (plan, opening) = plan(["a", "b"])
        let reset = plan.take(.reset(subscription: "a", .access, token: nil, pause: nil), of: 1)
        #expect(reset.map(\.item) == [.reset(.access, token: nil, pause: nil)])
        #expect(plan.take(.changes([try change("a", "1")], wholeOf: nil), of: 1).isEmpty)
        let error = SkyrowError(.permissionDenied, "No.")
        let id = try #require(opening?.entries.first { $0.name == "b" }?.id)
        #expect(plan.take(.response(id: id, error), of: 1).map(\.item) == [.refused(.refused(error))])
        #expect(plan.take(.response(id: id, error), of: 1).isEmpty)
        #expect(plan.take(.response(id: 99, error), of: 1).isEmpty)
        #expect(plan.open() == nil)
    }

    @Test func whatEndsHereIsLeftInTheStream() throws {
        var (plan, _) = plan(["a", "b"])
        plan.remove("a")
        #expect(plan.hasLeftovers && !plan.isEmpty)
        #expect(plan.open()?.entries.map(\.name) == ["b"])
        #expect(!plan.hasLeftovers)
        plan.remove("b")
        #expect(plan.isEmpty)
    }

    @Test func aClientHasAHundredSubscriptions() {
        var plan = LiveStreamPlan()
        for number in 1...100 { #expect(plan.attach("\(number)", .anew) == true) }
        #expect(plan.attach("101", .anew) == false)
        #expect(plan.attach("100", .since("t")) == true)
        #expect(plan.open()?.entries.count == 100)
        #expect(plan.refuseAll(of: 1).count == 100)
        #expect(plan.isEmpty)
    }

    @Test func pausesGrowAndDiffer() {
        let longest = (1...8).map { LivePauses.before(attempt: $0, asked: nil, share: 1) }
        #expect(longest == [0.5, 1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
        #expect(LivePauses.before(attempt: 1, asked: nil, share: 0) == .milliseconds(250))
        #expect(LivePauses.before(attempt: 1, asked: .seconds(7), share: 0) == .seconds(7))
        #expect(LivePauses.before(attempt: 1, asked: .seconds(7), share: 1) == .seconds(10.5))
        #expect(LivePauses.before(attempt: 1, asked: .seconds(50), share: 0) == .seconds(50))
        // Clients differ, however long they wait.
        #expect(LivePauses.before(attempt: 1, asked: .seconds(7000), share: 0) == .seconds(60))
        #expect(LivePauses.before(attempt: 1, asked: .seconds(7000), share: 1) == .seconds(90))
        #expect(LivePauses.before(attempt: 1_000_000, asked: nil, share: 0) == .seconds(15))
    }
}
