import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct RecordActionTests {
    enum Who: String, Sendable, CaseIterable {
        case nobody, ann, bob, master, masterAsAnn
    }

    struct Fixture: Sendable {
        let service: ServiceFixture
        let ann: UserID
        let bob: UserID
        let callers: [Who: Caller]
    }

    /// A service with the users ann and bob, and the note `note/ann` of ann's.
    func withPeople(_ mode: SchemaMode = .development, test: String = #function, _ body: (Fixture) async throws -> Void)
        async throws
    {
        try await withService(mode, test: test) { service in
            let (ann, annCaller) = try await service.service.signUp("ann")
            let (bob, bobCaller) = try await service.service.signUp("bob")
            if mode == .development {
                _ = try await service.service.save(
                    SaveRequest(draft("note/ann", ["title": .string("x")])),
                    by: annCaller
                )
            }
            try await body(
                Fixture(
                    service: service,
                    ann: ann.userID,
                    bob: bob.userID,
                    callers: [
                        .nobody: .anonymous, .ann: annCaller, .bob: bobCaller, .master: ServiceFixture.masterCaller,
                        .masterAsAnn: Caller(kind: .master(actingAs: ann.userID)),
                    ]
                )
            )
        }
    }

    struct SaveRow: Sendable, CustomTestStringConvertible {
        var who: Who
        var id: String
        var database: String = "_public"
        var expected: String
        var testDescription: String { "\(who) saves \(id) in \(database): \(expected)" }
    }

    /// `$ann` and `$bob` stand for the ids of the users.
    static let saveRows: [SaveRow] = [
        SaveRow(who: .nobody, id: "note/new", expected: "!NotAuthenticated"),
        SaveRow(who: .nobody, id: "note/ann", expected: "!NotAuthenticated"),
        SaveRow(who: .ann, id: "note/new", expected: "saved"),
        SaveRow(who: .ann, id: "note/ann", expected: "saved"),
        SaveRow(who: .bob, id: "note/ann", expected: "PermissionDenied"),
        SaveRow(who: .master, id: "note/ann", expected: "saved"),
        // Databases
        SaveRow(who: .ann, id: "note/1", database: "_private", expected: "saved"),
        SaveRow(who: .ann, id: "note/1", database: "$ann", expected: "saved"),
        SaveRow(who: .bob, id: "note/1", database: "$ann", expected: "!PermissionDenied"),
        SaveRow(who: .nobody, id: "note/1", database: "_private", expected: "!NotAuthenticated"),
        SaveRow(who: .master, id: "note/1", database: "$ann", expected: "saved"),
        SaveRow(who: .master, id: "note/1", database: "_private", expected: "!NotAuthenticated"),
        SaveRow(who: .masterAsAnn, id: "note/1", database: "_private", expected: "saved"),
        SaveRow(who: .ann, id: "note/1", database: "_union", expected: "!NotAuthenticated"),
        SaveRow(who: .master, id: "note/1", database: "_union", expected: "!NotSupported"),
        // Profiles
        SaveRow(who: .ann, id: "user/$ann", expected: "saved"),
        SaveRow(who: .bob, id: "user/$ann", expected: "PermissionDenied"),
        SaveRow(who: .master, id: "user/$ann", expected: "saved"),
        SaveRow(who: .ann, id: "user/new", expected: "PermissionDenied"),
        SaveRow(who: .ann, id: "user/$x", expected: "PermissionDenied"),
        SaveRow(who: .master, id: "user/new", expected: "PermissionDenied"),
        SaveRow(who: .ann, id: "user/$ann", database: "_private", expected: "PermissionDenied"),
        SaveRow(who: .master, id: "user/new", database: "$ann", expected: "PermissionDenied"),
    ]

    @Test(arguments: saveRows)
    func whoMaySaveWhat(row: SaveRow) async throws {
        try await withPeople { people in
            func resolved(_ text: String) -> String {
                text.replacing("$ann", with: people.ann.rawValue).replacing("$bob", with: people.bob.rawValue)
            }
            let request = SaveRequest(
                draft(resolved(row.id), ["title": .string("y")]),
                database: try DatabaseName(resolved(row.database))
            )
            let before = try await people.service.psql("SELECT count(*) FROM \"user\"")
            do {
                let result = try await people.service.service.save(request, by: people.callers[row.who]!)
                #expect(result.summaries == [row.expected])
            } catch let error as SkyrowError {
                #expect("!\(error.code.name)" == row.expected)
            }
            if row.expected != "saved" {
                #expect(try await people.service.psql("SELECT count(*) FROM \"user\"") == before)
            }
        }
    }

    @Test func aProfileThatItsOwnerOpenedIsWrittenByOthers() async throws {
        try await withPeople { people in
            var opened = draft("user/\(people.ann)")
            opened.access = AccessList([AccessEntry(.everyone, .write)])
            _ = try await people.service.service.save(SaveRequest(opened), by: people.callers[.ann]!)
            let result = try await people.service.service.save(
                SaveRequest(draft("user/\(people.ann)", ["title": .string("of bob")])),
                by: people.callers[.bob]!
            )
            #expect(result.summaries == ["saved"])
        }
    }

    @Test func oneRefusedProfileDoesNotStopTheOthersUnlessTheRequestIsAtomic() async throws {
        try await withPeople { people in
            let drafts = [draft("note/1", ["title": .string("y")]), draft("user/new", ["title": .string("y")])]
            let service = people.service.service
            let ann = people.callers[.ann]!
            let error = try await expectError(.atomicOperationFailure) {
                try await service.save(SaveRequest(drafts[0], drafts[1], atomic: true), by: ann)
            }
            #expect(error?.info.keys.sorted() == ["user/new"])
            #expect(try await people.service.psql("SELECT count(*) FROM note WHERE _id = '1'") == "0")
            let result = try await service.save(SaveRequest(drafts[0], drafts[1]), by: ann)
            #expect(result.summaries == ["saved", "PermissionDenied"])
        }
    }

    struct DeleteRow: Sendable {
        var who: Who
        var id: String
        var expected: String
    }

    @Test(arguments: [
        DeleteRow(who: .nobody, id: "note/ann", expected: "!NotAuthenticated"),
        DeleteRow(who: .bob, id: "note/ann", expected: "PermissionDenied"),
        DeleteRow(who: .ann, id: "note/ann", expected: "deleted"),
        DeleteRow(who: .master, id: "note/ann", expected: "deleted"),
        DeleteRow(who: .ann, id: "note/none", expected: "ResourceNotFound"),
        DeleteRow(who: .ann, id: "user/$ann", expected: "PermissionDenied"),
        DeleteRow(who: .master, id: "user/$ann", expected: "PermissionDenied"),
    ])
    func whoMayDeleteWhat(row: DeleteRow) async throws {
        try await withPeople { people in
            let id = row.id.replacing("$ann", with: people.ann.rawValue)
            do {
                let result = try await people.service.service.delete([id], by: people.callers[row.who]!)
                #expect(result.summaries == [row.expected])
            } catch let error as SkyrowError {
                #expect("!\(error.code.name)" == row.expected)
            }
            #expect(try await people.service.psql("SELECT count(*) FROM _user") == "2")
        }
    }

    @Test func readingNeedsNobody() async throws {
        try await withPeople { people in
            #expect(
                try await people.service.service.fetch("note/ann", "note/none", by: .anonymous) == [
                    "saved", "ResourceNotFound",
                ]
            )
            let result = try await people.service.service.query(
                QueryRequest(database: .everyone, query: RecordQuery(type: type("note"), countsMatches: true)),
                by: .anonymous
            )
            #expect(result.records.count == 1 && result.count == 1)
            try await expectError(.notAuthenticated) {
                try await people.service.service.fetch("note/ann", in: .own, by: .anonymous)
            }
            try await expectError(.permissionDenied) {
                try await people.service.service.fetch("note/ann", in: .user(people.ann), by: people.callers[.bob]!)
            }
        }
    }

    // MARK: The schema

    struct SchemaRow: Sendable {
        var who: Who
        var drafts: [String]
        var database = "_public"
        /// What was made for them: the type `fresh`, the field `added` of `note`.
        var madeType: Bool
        var madeField: Bool
    }

    @Test(arguments: [
        SchemaRow(who: .ann, drafts: ["fresh/1"], madeType: true, madeField: false),
        SchemaRow(who: .ann, drafts: ["note/ann"], madeType: false, madeField: true),
        SchemaRow(who: .nobody, drafts: ["fresh/1"], madeType: false, madeField: false),
        SchemaRow(who: .bob, drafts: ["note/ann"], madeType: false, madeField: false),
        SchemaRow(who: .bob, drafts: ["note/ann", "fresh/1"], madeType: true, madeField: false),
        SchemaRow(who: .bob, drafts: ["note/ann", "note/bob"], madeType: false, madeField: true),
        SchemaRow(who: .bob, drafts: ["fresh/1"], database: "$ann", madeType: false, madeField: false),
        SchemaRow(who: .master, drafts: ["fresh/1"], database: "_union", madeType: false, madeField: false),
        SchemaRow(who: .ann, drafts: ["user/new"], madeType: false, madeField: false),
    ])
    func nothingIsCreatedForWhoMayNotWrite(row: SchemaRow) async throws {
        try await withPeople { people in
            let request = SaveRequest(
                database: try DatabaseName(row.database.replacing("$ann", with: people.ann.rawValue)),
                items: row.drafts.map { .draft(draft($0, ["added": .string("y")])) }
            )
            _ = try? await people.service.service.save(request, by: people.callers[row.who]!)
            #expect(
                try await people.service.psql("SELECT to_regclass('app.fresh') IS NOT NULL")
                    == (row.madeType ? "t" : "f")
            )
            let columns = """
                SELECT count(*) FROM information_schema.columns
                WHERE column_name = 'added' AND table_name IN ('note', 'user')
                """
            #expect(try await people.service.psql(columns) == (row.madeField ? "1" : "0"))
        }
    }

    @Test func anAtomicRequestOfWhichOneIsRefusedCreatesNothing() async throws {
        try await withPeople { people in
            try await expectError(.atomicOperationFailure) {
                try await people.service.service.save(
                    SaveRequest(draft("note/ann", ["added": .string("y")]), draft("fresh/1"), atomic: true),
                    by: people.callers[.bob]!
                )
            }
            #expect(try await people.service.psql("SELECT to_regclass('app.fresh') IS NULL") == "t")
            let undecodable = SaveRequest(
                database: .everyone,
                items: [.draft(draft("fresh/1")), .failure(.invalidArgument("No."), id: nil)],
                isAtomic: true
            )
            let error = try await expectError(.invalidArgument) {
                try await people.service.service.save(undecodable, by: people.callers[.ann]!)
            }
            #expect(error?.info["errors"] == .list([.error(.invalidArgument("No."))]))
            #expect(try await people.service.psql("SELECT to_regclass('app.fresh') IS NULL") == "t")
        }
    }

    @Test func aHundredClientsWhoMakeOneTypeWithFieldsOfTheirOwnAllSucceed() async throws {
        try await withPeople { people in
            let ann = people.callers[.ann]!
            let summaries = try await withThrowingTaskGroup(of: [String].self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let note = draft("fresh/\(number)", ["field\(number)": .integer(1)])
                        return try await people.service.service.save(SaveRequest(note), by: ann).summaries
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(summaries == Array(repeating: "saved", count: 100))
            let stored = try await people.service.psql("SELECT count(*), count(field0), count(field99) FROM fresh")
            #expect(stored == "100|1|1")
        }
    }

    @Test func productionRefusesWhatIsMissing() async throws {
        try await withPeople(.production) { people in
            for who in [Who.ann, .master] {
                try await expectError(.incompatibleSchema) {
                    try await people.service.service.save(
                        SaveRequest(draft("fresh/1", ["title": .string("x")])),
                        by: people.callers[who]!
                    )
                }
            }
            let schema = try await people.service.service.run(
                Actions.schemaCreate,
                [RecordType(name: type("fresh"), fields: [field("title"): .string])],
                by: ServiceFixture.masterCaller
            )
            #expect(schema.types[type("fresh")]?.fields == [field("title"): .string])
            let result = try await people.service.service.save(
                SaveRequest(draft("fresh/1", ["title": .string("x")])),
                by: people.callers[.ann]!
            )
            #expect(result.summaries == ["saved"])
        }
    }

    @Test func fieldsAreRenamedAndDeleted() async throws {
        try await withPeople { people in
            let service = people.service.service
            let master = ServiceFixture.masterCaller
            _ = try await service.run(
                Actions.schemaRename,
                FieldRename(type: type("note"), field: field("title"), newName: field("name")),
                by: master
            )
            let renamed = try await service.run(Actions.schemaFetch, (), by: master)
            #expect(renamed.types[type("note")]?.fields == [field("name"): .string])
            let deletion = FieldDeletion(type: type("note"), field: field("name"))
            let schema = try await service.run(Actions.schemaDelete, deletion, by: master)
            #expect(schema.types[type("note")]?.fields == [:])
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.schemaDelete, deletion, by: master)
            }
        }
    }
}
