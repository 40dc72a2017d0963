import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Who changes the access list of a record.
@Suite(.timeLimit(.minutes(60))) struct AccessListChangeTests {
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

    /// What bob is shown of the list where he does not see all of it.
    static let part = AccessList([AccessEntry(.everyone, .read)])

    /// The same where bob sees what the list says of everyone alone: he sends that back, and does not learn that he guessed the rest.
    static let rowsOfPart: [Row] =
        [
            Row(testDescription: "what he is shown", list: part, isChange: false),
            Row(
                testDescription: "what he is shown, and the owner",
                list: AccessList(part.entries + [AccessEntry(.owner, .write)]),
                isChange: false
            ),
            Row(testDescription: "none", list: nil, isChange: false),
        ]
        + rows.filter { $0.list != nil }.map {
            Row(testDescription: $0.testDescription, list: $0.list, isChange: true)
        }

    static let sent: [(row: Row, readers: ClassAccess.ListReaders)] =
        rows.map { (row: $0, readers: .read) } + rowsOfPart.map { (row: $0, readers: .owner) }

    @Test(arguments: sent)
    func aWriterWhoIsNotTheOwnerLeavesTheListAsItIs(_ sent: (row: Row, readers: ClassAccess.ListReaders)) async throws {
        let (row, readers) = sent
        try await withRecords { f in
            let store = RecordStore(
                client: f.client,
                schema: "app",
                mode: .production,
                accessListReaders: readers,
                logger: .silent
            )
            try await store.prepare()
            for (id, withRevision) in [("note/1", false), ("note/2", true)] {
                let before = try await f.save(id, ["title": .string("a")], access: Self.editors)
                let changed = draft(
                    id,
                    ["title": .string("b")],
                    access: row.list,
                    precondition: withRevision ? .revision(try #require(before.revision)) : nil
                )
                let outcome = try await store.save([.draft(changed)], in: .everyone, caller: Self.bob, atomic: false)[0]
                let after = try #require(try await f.fetch(id))
                #expect(after.access == before.access, "\(id)")
                if row.isChange {
                    #expect(outcome.error == .accessDenied, "\(id)")
                    #expect(after == before, "\(id)")
                } else {
                    #expect(outcome.error == nil, "\(id)")
                    #expect(after.fields[field("title")] == .string("b"), "\(id)")
                }
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

    /// One who sees a part of a list sends that part back, and nothing of the list is lost; a guess at the rest is refused like any other
    /// list.
    @Test(arguments: [nil, .owner, .update, .read] as [ClassAccess.ListReaders?])
    func theDatabaseAndTheMemoryAdmitTheSameChanges(_ readers: ClassAccess.ListReaders?) async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let store = RecordStore(
                client: f.client,
                schema: "app",
                mode: .production,
                accessListReaders: readers,
                logger: .silent
            )
            try await store.prepare()
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
            var (changed, kept, refused, guesses) = (0, 0, 0, 0)
            for number in 0..<seededCases(150) {
                let stored = Bool.random(using: &random) ? list(&random) : nil
                var sent =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: list(&random)
                    case 1: stored?.shownToAll ?? list(&random)
                    default: stored ?? list(&random)
                    }
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
                let isOwner = owner == caller.userID
                let mayUpdate = AccessScope(caller: caller, action: .update, database: .everyone)
                    .admits(database: .everyone, owner: owner, access: stored)
                let seesWhole =
                    switch readers {
                    case nil, .owner: isOwner
                    case .update: isOwner || mayUpdate
                    case .read: true
                    }
                let shown = seesWhole ? stored : stored?.shownToAll
                let isKept = shown?.isSame(as: sent) ?? false
                let expected: SkyrowError? =
                    if !mayUpdate { .writeDenied } else if isOwner || isKept { nil } else { .accessDenied }
                let outcome = try await store.save(
                    [.draft(draft("note/\(number)", access: sent))],
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )[0]
                #expect(outcome.error == expected, "seed \(random.seed), \(number): \(caller) \(sent)")
                let saved = try #require(try await f.fetch("note/\(number)", .master))
                let remains = isOwner && mayUpdate ? sent : stored
                #expect(
                    saved.access.map { list in remains.map { list.isSame(as: $0) } ?? false } ?? (remains == nil),
                    "seed \(random.seed), \(number): \(String(describing: saved.access))"
                )
                if expected == nil {
                    let sentBack = try outcome.record
                    let back = seesWhole ? saved.access : saved.access?.shownToAll
                    #expect(sentBack.access == back, "seed \(random.seed), \(number)")
                }
                switch expected {
                case nil where isOwner: changed += 1
                case nil: kept += 1
                default: refused += 1
                }
                if expected == .accessDenied, stored?.isSame(as: sent) == true { guesses += 1 }
            }
            #expect(changed > 10 && kept > 2 && refused > 15, "\(changed), \(kept), \(refused)")
            #expect((guesses > 0) == (readers == nil || readers == .owner), "\(guesses)")
        }
    }
}
