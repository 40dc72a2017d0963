import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct SaveTests {
    @Test func everyTypeOfValueComesBackAsItWasSaved() async throws {
        try await withRecords { f in
            try await f.save("category/home", ["name": .string("Home")])
            for attempt in 1...2 {
                let saved = try await f.save("note/\(attempt)", RecordsFixture.everyValue)
                #expect(
                    saved.fields == Dictionary(uniqueKeysWithValues: RecordsFixture.everyValue.map { (field($0), $1) })
                )
                #expect(try await f.fetch("note/\(attempt)") == saved)
            }
            let batch = try await f.save((3...6).map { draft("note/\($0)", RecordsFixture.everyValue) })
            #expect(batch.map(\.id.id) == ["3", "4", "5", "6"])
            for record in batch {
                #expect(
                    record.fields == Dictionary(uniqueKeysWithValues: RecordsFixture.everyValue.map { (field($0), $1) })
                )
            }
        }
    }

    @Test func aNewRecordBelongsToItsMakerAndSaysWhen() async throws {
        try await withRecords { f in
            let saved = try await f.save("note/1", ["title": .string("x")])
            #expect(saved.owner == "ann")
            #expect(saved.createdBy == "ann")
            #expect(saved.updatedBy == "ann")
            #expect(saved.createdAt != nil && saved.createdAt == saved.updatedAt)
            #expect(saved.access == nil)
            #expect(saved.revision != nil)
            #expect(saved.fields[field("serial")] == .integer(1))
        }
    }

    @Test func aSaveMergesFieldByFieldAndKeepsOwnerAndCreation() async throws {
        try await withRecords { f in
            let first = try await f.save(
                "note/1",
                ["title": .string("x"), "stars": .integer(1)],
                access: AccessList([AccessEntry(.user("bob"), .write)])
            )
            let second = try await f.save("note/1", ["stars": .integer(2), "done": .boolean(true)], .bob)
            #expect(second.fields[field("title")] == .string("x"))
            #expect(second.fields[field("stars")] == .integer(2))
            #expect(second.fields[field("done")] == .boolean(true))
            #expect(second.owner == "ann")
            #expect(second.createdAt == first.createdAt)
            #expect(second.createdBy == "ann")
            #expect(second.updatedBy == "bob")
            // Bob may not change the list, so he is sent what it says to all.
            #expect(second.access == AccessList([]))
            #expect(try await f.fetch("note/1")?.access == first.access)
            let (older, newer) = (try #require(first.revision), try #require(second.revision))
            #expect(newer > older)
            let third = try await f.save("note/1", ["title": .null], access: AccessList([]))
            #expect(third.fields[field("title")] == nil)
            #expect(third.access == AccessList([]))
            #expect(try await f.fetch("note/1", .bob) == nil)
        }
    }

    @Test func aRecordThatMayBeReadOnlyIsNotWritten() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("x")])
            let outcomes = try await f.store.save(
                [.draft(draft("note/1", ["title": .string("y")])), .draft(draft("note/2", ["title": .string("y")]))],
                in: .everyone,
                caller: .bob,
                atomic: false
            )
            #expect(outcomes[0].error?.code == .permissionDenied)
            #expect(try outcomes[1].record.owner == "bob")
            #expect(try await f.fetch("note/1")?.fields[field("title")] == .string("x"))
        }
    }

    @Test func anUnreadableRecordIsNotWrittenAndShowsNothing() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("secret")], access: AccessList([]))
            for precondition in [nil, .isNew] as [SavePrecondition?] {
                let outcome = try await f.store.save(
                    [.draft(draft("note/1", ["title": .string("y")], precondition: precondition))],
                    in: .everyone,
                    caller: .bob,
                    atomic: false
                )[0]
                #expect(outcome.error?.code == .permissionDenied)
                #expect(outcome.error?.info.isEmpty == true)
            }
            // With a revision nothing at all tells it from a record that is not there.
            let outcomes = try await f.store.save(
                [
                    .draft(draft("note/1", precondition: .revision(1))),
                    .draft(draft("note/404", precondition: .revision(1))),
                ],
                in: .everyone,
                caller: .bob,
                atomic: false
            )
            #expect(outcomes[0].error != nil && outcomes[0].error == outcomes[1].error)
            #expect(try await f.query(nil, .master) == ["1"])
        }
    }

    @Test func preconditionsAreKeptAndTellTheCurrentRecord() async throws {
        try await withRecords { f in
            func save(_ precondition: SavePrecondition?, _ title: String) async throws -> RecordOutcome {
                try await f.store.save(
                    [.draft(draft("note/1", ["title": .string(title)], precondition: precondition))],
                    in: .everyone,
                    caller: .ann,
                    atomic: false
                )[0]
            }
            #expect(try await save(.revision(1), "a").error?.code == .conflict)
            #expect(try await f.fetch("note/1") == nil)
            let first = try await save(.isNew, "b").record
            let again = try await save(.isNew, "c").error
            #expect(again?.code == .conflict)
            #expect(again?.info["record"] == .record(first))
            let second = try await save(.revision(try #require(first.revision)), "d").record
            #expect(second.fields[field("title")] == .string("d"))
            let (older, newer) = (try #require(first.revision), try #require(second.revision))
            #expect(newer > older)
            let stale = try await save(.revision(try #require(first.revision)), "e").error
            #expect(stale?.code == .conflict)
            #expect(stale?.info["record"] == .record(second))
        }
    }

    /// PostgreSQL judges the row of an insertion before it finds that the record is there.
    @Test func rulesOfPsqlJudgeTheRecordThatASaveOfSomeFieldsLeaves() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                ALTER TABLE note ALTER title SET NOT NULL, ADD CONSTRAINT paired CHECK (stars IS NULL OR score IS NOT NULL);
                ALTER TABLE category ALTER name SET NOT NULL
                """
            )
            try await f.store.cache.reload()
            func errors(_ drafts: [RecordDraft], atomic: Bool = false) async throws -> [ErrorCode?] {
                try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: atomic).map(
                    \.error?.code
                )
            }
            try await f.save("note/1", ["title": "a", "score": 1.5])
            #expect(try await errors([draft("note/1", ["done": true])]) == [nil])
            #expect(try await errors([draft("note/1", ["stars": 3])]) == [nil])
            #expect(try await f.fetch("note/1")?.fields[field("title")] == .string("a"))
            // What the record would become is refused, and a new record without the field.
            #expect(try await errors([draft("note/1", ["title": .null])]) == [.invalidArgument])
            #expect(try await errors([draft("note/1", ["score": .null])]) == [.constraintViolated])
            #expect(try await errors([draft("note/new", ["done": true])]) == [.invalidArgument])
            #expect(try await errors([draft("note/1", ["done": true], precondition: .isNew)]) == [.invalidArgument])
            // A record of another is not told apart from one that breaks a rule.
            try await f.save("note/theirs", ["title": "b"], .bob)
            #expect(try await errors([draft("note/theirs", ["done": true])]) == [.permissionDenied])
            // Of several each is judged for itself, new ones and such that refer to each other among them.
            try await f.save((0..<60).map { draft("note/m\($0)", ["title": "m"]) })
            let several = (0..<70).map { draft("note/m\($0)", ["done": .boolean($0 > 3)]) }
            #expect(try await errors(several) == (0..<70).map { $0 < 60 ? nil : .invalidArgument })
            let linked = [
                draft("note/m1", ["category": .reference(id("category/fresh"))]),
                draft("category/fresh", ["name": "x"]),
                draft("note/m2", ["next": .reference(id("note/m61"))]), draft("note/m61", ["title": "y"]),
            ]
            #expect(try await errors(linked) == [nil, nil, nil, nil])
            #expect(
                try await errors([draft("note/twice", ["title": "t"]), draft("note/twice", ["done": true])]) == [
                    nil, nil,
                ]
            )
            #expect(
                try await errors([draft("note/m3", ["done": false]), draft("note/m4", ["score": 1])], atomic: true) == [
                    nil, nil,
                ]
            )
        }
    }

    @Test func aSaveThatOnlyUpdatesCreatesNothing() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "a"])
            try await f.save("note/theirs", ["title": "b"], access: AccessList([]), .bob)
            try await f.save("note/shown", ["title": "c"], access: AccessList([AccessEntry(.everyone, .read)]), .bob)
            let outcomes = try await f.store.save(
                ["1", "2", "theirs", "shown"].enumerated().map { number, name in
                    .draft(draft("note/\(name)", ["title": .string("t\(number)")], precondition: .exists))
                },
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map(\.error?.code) == [nil, .resourceNotFound, .resourceNotFound, .permissionDenied])
            #expect(try outcomes[0].record.fields[field("title")] == .string("t0"))
            #expect(outcomes[1].error == outcomes[2].error)
            #expect(try await f.fetch("note/2") == nil)
            // Nor is a type made for it.
            let refusals = try await f.store.refusals(
                saving: [draft("fresh/1", ["x": 1], precondition: .exists)],
                with: RecordAccess(.ann, in: .everyone, for: .writing)
            )
            #expect(refusals[0]?.code == .resourceNotFound)
        }
    }

    @Test func oneBadRecordOfABatchFailsAlone() async throws {
        try await withRecords { f in
            try await f.psql(
                "ALTER TABLE note ADD CONSTRAINT few CHECK (stars < 1000); CREATE UNIQUE INDEX ON note (title)"
            )
            try await f.store.cache.reload()
            var drafts = (0..<200).map {
                draft("note/\($0)", ["title": .string("t\($0)"), "stars": .integer(1), "category": .null])
            }
            drafts[17] = draft(
                "note/17",
                ["title": .string("t17"), "stars": .integer(1), "category": .reference(id("category/404"))]
            )
            drafts[90] = draft("note/90", ["title": .string("t90"), "stars": .integer(5000), "category": .null])
            drafts[91] = draft("note/91", ["title": .string("t17"), "stars": .integer(1), "category": .null])
            drafts[92] = draft("note/92", ["title": .string("t92"), "stars": .number(1.5), "category": .null])
            drafts[150] = draft("note/150", ["title": .string("t17"), "stars": .integer(1), "category": .null])
            let outcomes = try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: false)
            #expect(outcomes[17].error?.code == .invalidArgument)
            #expect(outcomes[17].error?.info["arguments"] == .list([.string("category")]))
            #expect(outcomes[90].error?.code == .constraintViolated)
            #expect(outcomes[92].error?.code == .invalidArgument)
            #expect([outcomes[91].error?.code, outcomes[150].error?.code].filter { $0 == .duplicated }.count == 1)
            #expect(outcomes.filter { $0.error != nil }.count == 4)
            #expect(try await f.psql("SELECT count(*) FROM note") == "196")
        }
    }

    @Test func recordsOfOneRequestHaveOneTime() async throws {
        try await withRecords { f in
            let saved = try await f.save([
                draft("note/1", ["title": .string("x")]), draft("note/2", ["stars": .integer(1)]),
                draft("category/1"), draft("note/1", ["stars": .integer(3)]),
            ])
            #expect(Set(saved.map(\.updatedAt)).count == 1)
        }
    }

    @Test func recordsWithOneIDAreAppliedInOrder() async throws {
        try await withRecords { f in
            let saved = try await f.save((1...5).map { draft("note/1", ["stars": .integer($0)]) })
            #expect(saved.map { $0.fields[field("stars")] } == (1...5).map { .integer($0) })
            #expect(try await f.fetch("note/1")?.fields[field("stars")] == .integer(5))
        }
    }

    @Test func temporaryIDsAndReferencesInAnyOrder() async throws {
        try await withRecords { f in
            let saved = try await f.save([
                draft("note/$a", ["category": .reference(id("category/$c")), "next": .reference(id("note/$b"))]),
                draft("note/$b", ["title": .string("b"), "next": .reference(id("note/$a"))]),
                draft("category/$c", ["name": .string("c")]),
            ])
            #expect(saved[0].fields[field("next")] == .reference(saved[1].id))
            #expect(saved[1].fields[field("next")] == .reference(saved[0].id))
            #expect(saved[0].fields[field("category")] == .reference(saved[2].id))
            #expect(saved.allSatisfy { $0.id.id.utf8.count == 36 })
        }
    }

    @Test func aBrokenCycleFailsAndTheRestIsSaved() async throws {
        try await withRecords { f in
            let outcomes = try await f.store.save(
                [
                    .draft(draft("note/1", ["next": .reference(id("note/2"))])),
                    .draft(
                        draft(
                            "note/2",
                            [
                                "title": .string("x"), "next": .reference(id("note/1")),
                                "category": .reference(id("category/404")),
                            ]
                        )
                    ),
                    .draft(draft("note/3", ["next": .reference(id("note/4"))])),
                    .draft(
                        draft("note/4", ["title": .string("x"), "next": .reference(id("note/3")), "category": .null])
                    ),
                ],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map { $0.error?.code } == [.invalidArgument, .invalidArgument, nil, nil])
            #expect(try await f.query() == ["3", "4"])
        }
    }

    @Test func anAtomicSaveIsAllOrNothingAndNamesTheRecords() async throws {
        try await withRecords { f in
            try await f.save("note/theirs", ["title": .string("x")], .bob)
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.save(
                    [
                        .draft(draft("note/1", ["title": .string("a"), "category": .null])),
                        .draft(draft("note/2", ["title": .string("b"), "category": .reference(id("category/404"))])),
                        .draft(draft("note/theirs", ["title": .string("c"), "category": .null])),
                        .draft(draft("category/1")),
                    ],
                    in: .everyone,
                    caller: .ann,
                    atomic: true
                )
            }
            #expect(error?.code == .atomicOperationFailure)
            #expect(error?.info.keys.sorted() == ["note/2", "note/theirs"])
            #expect(try await f.query() == ["theirs"])
            #expect(try await f.query(type: "category").isEmpty)
            let saved = try await f.store.save(
                [.draft(draft("note/1", ["category": .reference(id("category/1"))])), .draft(draft("category/1"))],
                in: .everyone,
                caller: .ann,
                atomic: true
            )
            #expect(saved.allSatisfy { $0.error == nil })
        }
    }

    @Test func anAtomicSaveWithAnUnreadableItemSavesNothing() async throws {
        try await withRecords { f in
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.save(
                    [.draft(draft("note/1")), .failure(.invalidArgument("No.", "id"), id: "x")],
                    in: .everyone,
                    caller: .ann,
                    atomic: true
                )
            }
            #expect(error?.code == .invalidArgument)
            let left = try await f.query()
            #expect(left.isEmpty)
        }
    }

    @Test func writingNeedsAUserAndNeverGoesToTheUnion() async throws {
        try await withRecords { f in
            for (scope, caller, code) in [
                (DatabaseScope.everyone, Caller.anonymous, ErrorCode.notAuthenticated),
                (.union, .master, .notSupported), (.user("ann"), .bob, .permissionDenied),
            ] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.save([.draft(draft("note/1"))], in: scope, caller: caller, atomic: false)
                }
                #expect(error?.code == code)
            }
            let reading = RecordAccess(.ann, for: .reading)
            for atomic in [false, true] {
                await #expect(throws: SkyrowError.writeDenied) {
                    try await f.store.save([.draft(draft("note/1"))], with: reading, atomic: atomic)
                }
            }
            #expect(try await f.query() == [])
            let saved = try await f.save("note/1", [:], .master)
            #expect(saved.owner == nil)
        }
    }

    @Test func refusalsAreKnownBeforeAnythingIsCreated() async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], .bob)
            try await f.save("note/2", [:], access: AccessList([]), .bob)
            try await f.save("note/3", [:], .ann)
            var drafts = ["note/1", "note/2", "note/3", "note/404", "note/$1", "nothing/1"].map { draft($0) }
            // Hidden and missing: the same.
            drafts += ["note/2", "note/404"].map { draft($0, precondition: .revision(1)) }
            let refusals = try await f.store.refusals(saving: drafts, in: .everyone, caller: .ann)
            #expect(
                refusals.mapValues(\.code) == [0: .permissionDenied, 1: .permissionDenied, 6: .conflict, 7: .conflict]
            )
            #expect(try await f.store.refusals(saving: Array(drafts.prefix(6)), in: .everyone, caller: .master).isEmpty)
        }
    }

    @Test func aProfileIsChangedByItsUserAndNeverMade() async throws {
        try await withRecords { f in
            let saved = try await f.save("user/ann", ["username": .string("annie")])
            #expect(saved.fields[field("username")] == .string("annie"))
            let outcomes = try await f.store.save(
                [
                    .draft(draft("user/bob", ["username": .string("x")])),
                    .draft(draft("user/carl", ["username": .string("x")])),
                ],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map { $0.error?.code } == [.permissionDenied, .permissionDenied])
            let taken = try await f.store.save(
                [.draft(draft("user/ann", ["username": .string("BOB")]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(taken[0].error?.code == .duplicated)
        }
    }

    @Test func privateRecordsHaveIDsOfTheirOwn() async throws {
        try await withRecords { f in
            for (scope, caller) in [(DatabaseScope.user("ann"), Caller.ann), (.user("bob"), .bob), (.everyone, .ann)] {
                let saved = try await f.save("note/main", ["title": .string("\(scope)")], caller, in: scope)
                #expect(saved.id == id("note/main"))
            }
            #expect(
                try await f.psql("SELECT _id, _database FROM note ORDER BY _id COLLATE \"C\"")
                    == "main|_public\n~ann/main|ann\n~bob/main|bob"
            )
            #expect(
                try await f.fetch("note/main", .ann, in: .user("ann"))?.fields[field("title")]
                    == .string("\(DatabaseScope.user("ann"))")
            )
            #expect(try await f.fetch("note/main", .ann)?.fields[field("title")] == .string("everyone"))
            #expect(try await f.query(nil, .ann, in: .user("ann")) == ["main"])
            #expect(try await f.query(nil, .master, in: .union) == ["main", "main", "main"])
        }
    }

    @Test func aPrivateReferenceMeansTheOwnRecordElseThePublicOne() async throws {
        try await withRecords { f in
            try await f.save([draft("category/1"), draft("category/2")], .bob)
            try await f.save("category/1", [:], .ann, in: .user("ann"))
            try await f.save("category/3", [:], .bob, in: .user("bob"))
            let saved = try await f.save(
                [
                    draft("note/1", ["category": .reference(id("category/1"))]),
                    draft("note/2", ["category": .reference(id("category/2"))]),
                    draft("note/3", ["category": .reference(id("category/9"))]),
                    draft("category/9"),
                ],
                .ann,
                in: .user("ann")
            )
            #expect(saved[0].fields[field("category")] == .reference(id("category/1")))
            #expect(
                try await f.psql("SELECT category FROM note ORDER BY _id COLLATE \"C\"")
                    == "~ann/1\n2\n~ann/9"
            )
            let outcome = try await f.store.save(
                [.draft(draft("note/4", ["category": .reference(id("category/3"))]))],
                in: .user("ann"),
                caller: .ann,
                atomic: false
            )
            #expect(outcome[0].error?.code == .invalidArgument)
            let outside = try await f.store.save(
                [.draft(draft("note/5", ["category": .reference(id("category/9"))]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outside[0].error?.code == .invalidArgument)
        }
    }

    @Test func aReferenceToAnUnreadableRecordIsAsToAMissingOne() async throws {
        try await withRecords { f in
            try await f.save("category/secret", [:], access: AccessList([]), .bob)
            let outcomes = try await f.store.save(
                [
                    .draft(draft("note/1", ["category": .reference(id("category/secret"))])),
                    .draft(draft("note/2", ["category": .reference(id("category/404"))])),
                ],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes[0].error != nil && outcomes[0].error == outcomes[1].error)
            // Whoever may write a record may send back the references it has.
            try await f.save(
                "note/3",
                ["category": .reference(id("category/secret"))],
                access: AccessList([AccessEntry(.user("ann"), .write)]),
                .bob
            )
            let saved = try await f.save(
                "note/3",
                ["category": .reference(id("category/secret")), "title": .string("x")],
                .ann
            )
            #expect(saved.fields[field("category")] == .reference(id("category/secret")))
        }
    }
}
