import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Who changes the access list of a record.
@Suite(.timeLimit(.minutes(10))) struct AccessListChangeTests {
    static let editors = AccessList([
        AccessEntry(.role("editor"), .write), AccessEntry(.user("bob"), .write), AccessEntry(.everyone, .read),
    ])
    static let bob = Caller(kind: .user("bob"), roles: ["editor"])

    /// A list that bob, who may write the record, sends.
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var list: AccessList?
        var isChange: Bool
    }

    static let rows: [Row] = [
        Row(testDescription: "none", list: nil, isChange: false),
        Row(testDescription: "the same", list: editors, isChange: false),
        Row(testDescription: "another order", list: AccessList(editors.entries.reversed()), isChange: false),
        Row(
            testDescription: "entries twice, and the owner",
            list: AccessList(
                editors.entries + editors.entries
                    + [AccessEntry(.owner, .read), AccessEntry(.role("editor"), .read)]
            ),
            isChange: false
        ),
        Row(testDescription: "fewer", list: AccessList(Array(editors.entries.dropLast())), isChange: true),
        Row(
            testDescription: "more",
            list: AccessList(editors.entries + [AccessEntry(.user("eve"), .read)]),
            isChange: true
        ),
        Row(
            testDescription: "another level",
            list: AccessList(editors.entries.map { AccessEntry($0.subject, .write) }),
            isChange: true
        ),
        Row(testDescription: "empty", list: AccessList([]), isChange: true),
    ]

    @Test(arguments: rows, [false, true])
    func aWriterWhoIsNotTheOwnerLeavesTheListAsItIs(_ row: Row, withRevision: Bool) async throws {
        try await withRecords { f in
            let before = try await f.save("note/1", ["title": .string("a")], access: Self.editors)
            let sent = draft(
                "note/1",
                ["title": .string("b")],
                access: row.list,
                precondition: withRevision ? .revision(try #require(before.revision)) : nil
            )
            let outcome = try await f.store.save([.draft(sent)], in: .everyone, caller: Self.bob, atomic: false)[0]
            let after = try #require(try await f.fetch("note/1"))
            #expect(after.access == before.access)
            if row.isChange {
                #expect(outcome.error == .accessDenied)
                #expect(after == before)
            } else {
                #expect(outcome.error == nil)
                #expect(after.fields[field("title")] == .string("b"))
            }
        }
    }

    @Test func aRefusedListSavesNothingOfAnAtomicRequest() async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], access: Self.editors)
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.save(
                    [.draft(draft("note/2")), .draft(draft("note/1", access: AccessList([])))],
                    in: .everyone,
                    caller: Self.bob,
                    atomic: true
                )
            }
            #expect(error?.info["note/1"] == .error(.accessDenied))
            #expect(try await f.fetch("note/2", .bob) == nil)
        }
    }

    @Test(arguments: [Caller.ann, .master, Caller(kind: .master(actingAs: "bob"))])
    func theOwnerAndTheMasterKeyChangeIt(_ caller: Caller) async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], access: Self.editors)
            #expect(try await f.save("note/1", [:], access: AccessList([]), caller).access == AccessList([]))
        }
    }

    @Test func anAdministratorIsAWriterLikeOthers() async throws {
        try await withRecords { f in
            try await f.save("note/1", [:], access: Self.editors)
            let administrator = Caller(kind: .user("bob"), roles: ["editor"], isAdministrator: true)
            let outcome = try await f.store.save(
                [.draft(draft("note/1", access: AccessList([])))],
                in: .everyone,
                caller: administrator,
                atomic: false
            )[0]
            #expect(outcome.error == .accessDenied)
        }
    }

    @Test func everyWriterChangesTheListsOfTypesThatAreSaidToBeShared() async throws {
        try await withRecords { f in
            let store = RecordStore(
                client: f.client,
                schema: "app",
                mode: .production,
                sharedAccessLists: [type("note")],
                logger: .silent
            )
            try await store.prepare()
            for name in ["note/1", "category/1"] { try await f.save(name, [:], access: Self.editors) }
            let outcomes = try await store.save(
                ["note/1", "category/1"].map { .draft(draft($0, access: AccessList([]))) },
                in: .everyone,
                caller: Self.bob,
                atomic: false
            )
            #expect(outcomes.map(\.error) == [nil, .accessDenied])
        }
    }

    @Test func theDatabaseAndTheMemoryAdmitTheSameChanges() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let subjects: [Subject] = [
                .everyone, .owner, .user("ann"), .user("bob"), .user("caf\u{E9}"), .user("cafe\u{301}"), .role("a"),
                .role("b"),
            ]
            func list(_ random: inout SeededGenerator) -> AccessList {
                AccessList(
                    (0..<Int.random(in: 0..<5, using: &random)).map { _ in
                        AccessEntry(
                            subjects.randomElement(using: &random)!,
                            AccessLevel.allCases.randomElement(using: &random)!
                        )
                    }
                )
            }
            let rules = FieldRules.none
            var (changed, refused) = (0, 0)
            for number in 0..<300 {
                let stored = Bool.random(using: &random) ? list(&random) : nil
                var sent = Int.random(in: 0..<3, using: &random) == 0 ? list(&random) : stored ?? list(&random)
                if Bool.random(using: &random) { sent = AccessList(sent.entries.shuffled(using: &random)) }
                let owner = ([UserID("ann"), "bob", nil] as [UserID?]).randomElement(using: &random)!
                let caller = Caller(
                    kind: .user(["ann", "bob", "caf\u{E9}"].randomElement(using: &random)!),
                    roles: ["a", "b"].filter { _ in Bool.random(using: &random) }
                )
                _ = try await f.client.write(
                    """
                    INSERT INTO app.note (_id, _owner, _access) VALUES \
                    (\("\(number)"), \(owner as UserID?), \(stored.map { PostgresJSONB($0.storedJSON) } as PostgresJSONB?))
                    """
                )
                var record = Record(id: id("note/\(number)"))
                record.owner = owner
                record.access = stored
                let scope = AccessScope(caller: caller, action: .update, database: .everyone)
                let expected: SkyrowError? =
                    if !scope.admits(database: .everyone, owner: owner, access: stored) {
                        .writeDenied
                    } else if rules.mayReplaceAccess(of: record, by: FieldAccess(caller))
                        || stored?.isSame(as: sent) ?? false
                    {
                        nil
                    } else {
                        .accessDenied
                    }
                let outcome = try await f.store.save(
                    [.draft(draft("note/\(number)", access: sent))],
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )[0]
                #expect(outcome.error == expected, "seed \(random.seed), \(number): \(caller) \(sent)")
                if expected == nil { changed += 1 } else { refused += 1 }
            }
            #expect(changed > 30 && refused > 30)
        }
    }
}
