import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct IdempotencyTests {
    static let countNotes = "SELECT count(*) FROM note"

    @Test func aRetryGetsTheFirstAnswerAndHasNoEffect() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            // Saved twice, the second would be refused as not new.
            var note = draft("note/1", ["title": .string("x")])
            note.precondition = .isNew
            let request = SaveRequest(note, key: "k")
            let first = try await fixture.service.save(request, by: caller)
            let second = try await fixture.service.save(request, by: caller)
            guard case .encoded(let bytes, isReplay: false) = first, case .encoded(bytes, isReplay: true) = second
            else {
                Issue.record("\(first), \(second)")
                return
            }
            #expect(first.summaries == ["saved"] && !bytes.isEmpty)
        }
    }

    @Test func twentyRacingRetriesHaveOneEffect() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            var note = draft("note/1", ["title": .string("x")])
            note.precondition = .isNew
            let request = SaveRequest(note, key: "k")
            let results = try await withThrowingTaskGroup(of: WriteResult<[RecordOutcome]>.self) { group in
                for _ in 0..<20 { group.addTask { try await fixture.service.save(request, by: caller) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.allSatisfy { $0.summaries == ["saved"] })
            let replays = results.count { if case .encoded(_, isReplay: true) = $0 { true } else { false } }
            #expect(replays == 19)
            #expect(try await fixture.psql(Self.countNotes) == "1")
        }
    }

    @Test func anOperatorIsAppliedOnceForAllRetries() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            var note = draft("note/1")
            note.operators = [(field("stars"), .increment(by: 1))]
            for key in ["k", "k", "other", "k"] {
                _ = try await fixture.service.save(SaveRequest(note, key: key), by: caller)
            }
            #expect(try await fixture.psql("SELECT stars FROM note") == "2")
        }
    }

    @Test(arguments: [nil, "k"]) func whatIsReturnedOfARecordMayBeWhatOperatorsChanged(_ key: String?) async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            var note = draft("note/1", ["title": .string("x")])
            note.operators = [(field("stars"), .increment(by: 1))]
            var request = SaveRequest(database: .everyone, items: [.draft(note), .draft(draft("note/2"))])
            request.idempotencyKey = key
            request.returnedMembers = .changed
            let records = try await fixture.service.save(request, by: caller).outcomes.map(\.savedRecord)
            #expect(records.map { $0?.id } == [id("note/1"), id("note/2")])
            #expect(records.map { $0?.fields } == [[field("stars"): 1], [:]])
            #expect(records[0]?.revision != nil && records[0]?.owner == nil && records[0]?.createdAt == nil)
        }
    }

    @Test func anotherRequestWithTheSameKeyIsRefused() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            let note = draft("note/1", ["title": .string("x")])
            _ = try await fixture.service.save(SaveRequest(note, key: "k"), by: caller)
            let others = [
                SaveRequest(draft("note/2", ["title": .string("x")]), key: "k"),
                SaveRequest(draft("note/1", ["title": .string("y")]), key: "k"),
                SaveRequest(note, atomic: true, key: "k"),
                SaveRequest(note, database: .own, key: "k"),
                // Also where it would change the schema.
                SaveRequest(draft("fresh/2", ["title": .string("x")]), key: "k"),
            ]
            for other in others {
                try await expectError(.idempotencyKeyReused) { try await fixture.service.save(other, by: caller) }
            }
            try await expectError(.idempotencyKeyReused) {
                try await fixture.service.delete(["note/1"], key: "k", by: caller)
            }
            #expect(try await fixture.psql(Self.countNotes) == "1")
            #expect(try await fixture.psql("SELECT to_regclass('app.fresh') IS NULL") == "t")
        }
    }

    @Test func anotherCallersKeyIsAnotherKey() async throws {
        try await withService { fixture in
            let (ann, annCaller) = try await fixture.service.signUp("ann")
            let bob = try await fixture.service.signUp("bob").caller
            let callers = [
                annCaller, bob, ServiceFixture.masterCaller, Caller(kind: .master(actingAs: ann.userID)),
            ]
            for (number, caller) in callers.enumerated() {
                let request = SaveRequest(draft("note/\(number)", ["title": .string("x")]), key: "k")
                guard case .encoded(_, isReplay: false) = try await fixture.service.save(request, by: caller) else {
                    Issue.record("The key of \(caller) was taken.")
                    return
                }
            }
            #expect(try await fixture.psql(Self.countNotes) == "4")
        }
    }

    @Test func aRequestThatFailedAsAWholeLeavesNoClaim() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").caller
            let bob = try await fixture.service.signUp("bob").caller
            _ = try await fixture.service.save(SaveRequest(draft("note/ann", ["title": .string("x")])), by: ann)
            let drafts = (draft("note/ann", ["title": .string("y")]), draft("note/bob", ["title": .string("y")]))
            try await expectError(.atomicOperationFailure) {
                try await fixture.service.save(SaveRequest(drafts.0, drafts.1, atomic: true, key: "k"), by: bob)
            }
            #expect(try await fixture.psql(Self.countNotes) == "1")
            // The key is free, for another request too.
            let result = try await fixture.service.save(SaveRequest(drafts.1, key: "k"), by: bob)
            #expect(result.summaries == ["saved"])
        }
    }

    @Test func whatFailedAloneIsPartOfTheAnswer() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").caller
            let bob = try await fixture.service.signUp("bob").caller
            _ = try await fixture.service.save(SaveRequest(draft("note/ann", ["title": .string("x")])), by: ann)
            let request = SaveRequest(
                draft("note/ann", ["title": .string("y")]),
                draft("note/bob", ["title": .string("y")]),
                key: "k"
            )
            for _ in 0..<2 {
                #expect(try await fixture.service.save(request, by: bob).summaries == ["PermissionDenied", "saved"])
            }
            #expect(try await fixture.psql("SELECT _id, title FROM note ORDER BY 1") == "ann|x\nbob|y")
        }
    }

    @Test func aRepeatedDeletionIsAnsweredAsTheFirst() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").caller
            _ = try await fixture.service.save(SaveRequest(draft("note/1", ["title": .string("x")])), by: ann)
            for _ in 0..<2 {
                #expect(
                    try await fixture.service.delete(["note/1", "note/2"], key: "k", by: ann).summaries
                        == ["deleted", "ResourceNotFound"]
                )
            }
            #expect(try await fixture.service.delete(["note/1"], by: ann).summaries == ["ResourceNotFound"])
        }
    }

    @Test func aKeyIsForgottenAfterADay() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").caller
            _ = try await fixture.service.save(SaveRequest(draft("note/1", ["title": .string("x")]), key: "k"), by: ann)
            try await fixture.psql("UPDATE _idempotency SET created_at = created_at - interval '25 hours'")
            let result = try await fixture.service.save(
                SaveRequest(draft("note/2", ["title": .string("x")]), key: "k"),
                by: ann
            )
            guard case .encoded(_, isReplay: false) = result else {
                Issue.record("\(result)")
                return
            }
        }
    }
}

extension RecordOutcome {
    fileprivate var savedRecord: Record? {
        if case .record(let source) = self { source.collected() } else { nil }
    }
}
