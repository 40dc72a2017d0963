import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// F-16: a change stands and is acknowledged, also when the hook after it fails or never answers.
@Suite(.timeLimit(.minutes(60))) struct AfterHookTests {
    @Test(
        arguments: [ErrorCode.pluginUnavailable, .pluginInitializing, .pluginTimeout, .unexpectedError],
        [false, true]
    )
    func aHookThatFailsChangesNothing(code: ErrorCode, isAtomic: Bool) async throws {
        let hooks = [HookTrigger.afterSave, .afterDelete].map { trigger in
            TestHook.records(trigger.rawValue, trigger) { _ throws(SkyrowError) in throw SkyrowError(code, "Away.") }
        }
        try await withHooks(hooks) { hooked in
            for _ in 0..<2 {
                let (first, second) = (draft("note/1", ["title": "x"]), draft("note/2"))
                let outcomes = try await hooked.save(first, second, atomic: isAtomic, key: "k")
                #expect(outcomes.map(\.summary) == ["saved", "saved"])
            }
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _id IN ('1', '2')") == "2")
            let ids = ["note/1", "note/2"]
            let deleted = try await hooked.service.delete(ids, atomic: isAtomic, by: hooked.ann).summaries
            #expect(deleted == ["deleted", "deleted"])
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _id IN ('1', '2')") == "0")
            // A retry with the key runs no hook.
            #expect(hooked.runner.calls == ["afterSave(note/1,note/2)", "afterDelete(note/1,note/2)"])
            for trigger in [HookTrigger.afterSave, .afterDelete] {
                let failure = Observation.hookFailed(trigger, name: trigger.rawValue, code)
                #expect(hooked.plain.observations.count { $0 == failure } == 1)
            }
        }
    }

    /// The end of a service cancels the request while its hook runs. The hook does not run again for a retry at another process.
    @Test(arguments: [nil, "k"] as [String?])
    func aSaveStandsWhoseServiceStopsBeforeTheHookHasRun(key: String?) async throws {
        let began = Counter()
        let silent = TestHook.records("after", .afterSave) { _ throws(SkyrowError) in
            began.increment()
            await Deferred<Void>().value(ifCancelled: ())
            throw SkyrowError(.pluginUnavailable, "The service shuts down.")
        }
        try await withHooks([silent]) { hooked in
            let request = Task { try await hooked.save(draft("note/1", ["title": "x"]), key: key).map(\.summary) }
            try await waiting(until: "the hook has begun", hearing: [began]) { began.value == 1 }
            // Others see the record while the hook runs.
            #expect(try await hooked.psql("SELECT title FROM note WHERE _id = '1'") == "x")
            request.cancel()
            let summaries = try await request.value
            #expect(summaries == ["saved"])
            #expect(try await hooked.psql("SELECT title FROM note WHERE _id = '1'") == "x")
            let other = hooked.further([TestHook.records("after", .afterSave) { _ in .unchanged }])
            let again = try await other.save(draft("note/1", ["title": "x"]), key: key)
            #expect(again.map(\.summary) == ["saved"])
            #expect(other.runner.calls == (key == nil ? ["after(note/1)"] : []))
        }
    }

    @Test func aHookThatNeverAnswersHoldsNoRequestThatDoesNotWaitForIt() async throws {
        let isOver = Deferred<Void>()
        let hook = TestHook.records("after", .afterSave, isAsync: true) { _ in
            await isOver.value()
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            for number in 0..<10 {
                let outcomes = try await hooked.save(draft("note/\(number)", ["title": "x"]))
                #expect(outcomes.map(\.summary) == ["saved"])
            }
            let deleted = try await hooked.service.delete(["note/0"], by: hooked.ann).summaries
            #expect(deleted == ["deleted"])
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE title = 'x'") == "10")
            isOver.settle()
        }
    }
}
