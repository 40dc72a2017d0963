import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Indexes on a server: what is asked for is built, whatever happens meanwhile.
@Suite(.timeLimit(.minutes(60))) struct IndexStoreTests {
    private func builder(_ fixture: RecordsFixture) -> IndexBuilder {
        IndexBuilder(
            client: fixture.client,
            logger: .quiet,
            interval: .milliseconds(200),
            pause: .milliseconds(50)
        ) { ["app"] }
    }

    /// Does all that is to be done.
    private func build(_ fixture: RecordsFixture) async throws {
        let isDone = try await builder(fixture).pass()
        #expect(isDone)
    }

    private func definition(
        _ fields: [IndexField],
        _ kind: IndexKind = .order,
        unique: Bool = false,
        nulls: Bool = false
    ) -> IndexDefinition {
        IndexDefinition(of: type("note"), fields, kind: kind, isUnique: unique, treatsNullsAsEqual: nulls)
    }

    @discardableResult
    private func create(_ fixture: RecordsFixture, _ definition: IndexDefinition) async throws -> RecordIndex {
        try await fixture.store.createIndex(definition)
    }

    private func list(_ fixture: RecordsFixture) async throws -> [RecordIndex] {
        try await fixture.store.indexes(of: type("note"))
    }

    private func index(_ fixture: RecordsFixture, _ name: String) async throws -> RecordIndex? {
        try await list(fixture).first { $0.name == name }
    }

    private func invalid(_ fixture: RecordsFixture) async throws -> String {
        try await fixture.psql("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
    }

    // MARK: Building and deleting

    @Test func anIndexIsBuiltListedAndDeleted() async throws {
        try await withRecords { f in
            let wanted = definition([IndexField("due", .descending), IndexField("title")])
            let asked = try await create(f, wanted)
            #expect(
                asked
                    == RecordIndex(
                        name: "note_due_title_idx",
                        type: type("note"),
                        state: .building,
                        definition: wanted,
                        isValid: false
                    )
            )
            // Asked again it is the same.
            let again = try await create(f, wanted)
            #expect(again.name == asked.name && again.state == .building)
            try await build(f)
            let ready = try #require(try await index(f, asked.name))
            #expect(ready.state == .ready && ready.attempts == 1 && ready.definition == wanted && ready.isValid)
            #expect(ready.bytes ?? 0 > 0 && ready.progress == nil && ready.failure == nil)
            let third = try await create(f, wanted)
            #expect(third.state == .ready)
            #expect(
                try await f.psql("SELECT pg_get_indexdef('note_due_title_idx'::regclass)")
                    == #"CREATE INDEX note_due_title_idx ON app.note USING btree (due DESC, title COLLATE "C", _id)"#
            )

            let gone = try await f.store.deleteIndex(IndexDeletion(name: asked.name))
            #expect(gone.state == .deleting)
            #expect(try await index(f, asked.name)?.state == .deleting)
            try await build(f)
            #expect(try await index(f, asked.name) == nil)
            #expect(try await f.psql("SELECT to_regclass('note_due_title_idx') IS NULL, count(*) FROM _index") == "t|0")
        }
    }

    /// What every table has is in no list and stays; what psql made is listed and goes only when it is forced.
    @Test func whatOthersMadeIsForeign() async throws {
        try await withRecords { f in
            try await f.psql("ALTER TABLE note ADD CONSTRAINT one UNIQUE (score)")
            let names = try await list(f).map(\.name)
            #expect(names == ["note_stars_idx", "one"])
            let foreign = try #require(try await index(f, "note_stars_idx"))
            #expect(foreign.state == .foreign && foreign.statement?.contains("(stars)") == true && foreign.isValid)

            let rows: [(name: String, forces: Bool, code: ErrorCode?)] = [
                ("note_pkey", true, .invalidArgument), ("note__database__created_at_idx", true, .invalidArgument),
                ("note__owner__created_at_idx", true, .invalidArgument), ("one", true, .invalidArgument),
                ("_login_key_username", true, .invalidArgument), ("nothing", true, .resourceNotFound),
                ("note_stars_idx", false, .invalidArgument), ("note_stars_idx", true, nil),
            ]
            for row in rows {
                do {
                    _ = try await f.store.deleteIndex(IndexDeletion(name: row.name, forces: row.forces))
                    #expect(row.code == nil, "\(row.name)")
                } catch let error as SkyrowError {
                    #expect(error.code == row.code, "\(row.name)")
                }
            }
            try await build(f)
            #expect(try await list(f).map(\.name) == ["one"])
            // Of references and sequences.
            try await f.store.createMissingSchema(for: [
                draft("pen/1", ["note": .reference(id("note/1")), "n": .sequence])
            ])
            for name in ["pen_note_idx", "pen_n_idx"] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.deleteIndex(IndexDeletion(name: name, forces: true))
                }
                #expect(error?.code == .invalidArgument, "\(name)")
            }
        }
    }

    @Test func aNameThatPsqlWasFasterWithIsLeftAlone() async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")]))
            try await f.psql("CREATE INDEX note_due_idx ON note (title)")
            try await build(f)
            #expect(try await index(f, asked.name)?.failure == IndexFailure(.nameTaken))
            #expect(try await f.psql("SELECT pg_get_indexdef('note_due_idx'::regclass)").contains("(title)"))
            // The next attempt finds another name.
            let again = try await create(f, definition([IndexField("due")]))
            #expect(again.name == "note_due_idx1" && again.state == .building)
            try await build(f)
            #expect(
                try await list(f).map { "\($0.name) \($0.state.rawValue)" } == [
                    "note_due_idx foreign", "note_due_idx1 ready", "note_stars_idx foreign",
                ]
            )
        }
    }

    @Test func aFieldTakesItsIndexesAlongAndARenamedOneKeepsThem() async throws {
        try await withRecords { f in
            let kept = try await create(
                f,
                definition([IndexField("due"), IndexField("title", .descending, isFolded: true)])
            )
            let lost = try await create(f, definition([IndexField("score")]))
            try await build(f)
            _ = try await f.store.renameField(
                FieldRename(type: type("note"), field: field("title"), newName: field("name"))
            )
            _ = try await f.store.deleteField(FieldDeletion(type: type("note"), field: field("score")))
            #expect(try await index(f, lost.name) == nil)
            let fields = [IndexField("due"), IndexField("name", .descending, isFolded: true)]
            #expect(try await index(f, kept.name)?.definition?.fields == fields)
            let again = try await create(f, definition(fields))
            #expect(again.state == .ready)
            try await build(f)
            #expect(try await f.psql("SELECT string_agg(name, ' ') FROM _index") == kept.name)
        }
    }

    // MARK: Unique values

    @Test func aUniqueValueIsRefusedWithTheNamesOfItsFields() async throws {
        try await withRecords { f in
            let wanted = definition([IndexField("title"), IndexField("stars")], unique: true)
            let asked = try await create(f, wanted)
            #expect(asked.name == "note_title_stars_key")
            try await build(f)
            let mine: [String: RecordValue] = ["title": .string("a"), "stars": .integer(1)]
            try await f.save("note/1", mine)
            let expected = ErrorInfo.list([.string("title"), .string("stars")])

            // One record, a batch, where the others are saved, and an atomic one, where none is.
            let alone = try await f.store.save(
                [.draft(draft("note/2", mine))],
                in: .everyone,
                caller: .bob,
                atomic: false
            )
            #expect(alone[0].error?.code == .duplicated && alone[0].error?.info == ["arguments": expected])
            let others = (0..<20).map { draft("note/b\($0)", ["title": .string("b\($0)"), "stars": .integer(1)]) }
            let batch = others + [draft("note/3", mine), draft("category/1", ["name": .string("x")])]
            let outcomes = try await f.store.save(batch.map { .draft($0) }, in: .everyone, caller: .bob, atomic: false)
            #expect(outcomes.filter { $0.error != nil }.count == 1)
            #expect(outcomes[20].error?.code == .duplicated && outcomes[20].error?.info == ["arguments": expected])
            let failure = await #expect(throws: SkyrowError.self) {
                try await f.store.save(
                    [.draft(draft("note/4", ["title": .string("new")])), .draft(draft("note/5", mine))],
                    in: .everyone,
                    caller: .bob,
                    atomic: true
                )
            }
            guard case .error(let inner)? = failure?.info["note/5"] else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(failure?.code == .atomicOperationFailure && inner.info == ["arguments": expected])
            #expect("\(inner)".contains("note/1") == false)
            #expect(try await f.fetch("note/4") == nil)

            // A merge of one field meets the stored value of the other.
            try await f.save("note/6", ["title": .string("a"), "stars": .integer(6)])
            let merged = try await f.store.save(
                [.draft(draft("note/6", ["stars": .integer(1)]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(merged[0].error?.info == ["arguments": expected])
            // Records without a value do not collide.
            try await f.save("note/7", ["title": .string("a")])
            try await f.save("note/8", ["title": .string("a")])
        }
    }

    @Test func privateValuesNeitherCollideNorBetrayEachOther() async throws {
        try await withRecords { f in
            try await create(f, definition([IndexField("title")], unique: true, nulls: true))
            try await build(f)
            try await f.save("note/1", ["title": .string("x")])
            for user in ["ann", "bob"] {
                let (caller, scope) = (Caller(kind: .user(UserID(user))), DatabaseScope.user(UserID(user)))
                try await f.save("note/p", ["title": .string("x")], caller, in: scope)
                let again = try await f.store.save(
                    [.draft(draft("note/q", ["title": .string("x")]))],
                    in: scope,
                    caller: caller,
                    atomic: false
                )
                #expect(again[0].error?.code == .duplicated)
            }
            // With "nulls": "equal" two records without a value have the same one.
            try await f.save("note/2")
            let second = try await f.store.save([.draft(draft("note/3"))], in: .everyone, caller: .ann, atomic: false)
            #expect(second[0].error?.info == ["arguments": .list([.string("title")])])
        }
    }

    /// What psql made unique is named alike, before this process has read of the index.
    @Test func anIndexThatIsNewToTheProcessIsNamedToo() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["score": .number(1)])
            try await f.psql("CREATE UNIQUE INDEX ON note (score)")
            let outcomes = try await f.store.save(
                [.draft(draft("note/2", ["score": .number(1)]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes[0].error?.code == .duplicated)
            #expect(outcomes[0].error?.info == ["arguments": .list([.string("score")])])
        }
    }

    @Test func aUniqueIndexOfDuplicatesFailsWithTheirNumber() async throws {
        try await withRecords { f in
            for number in 0..<6 { try await f.save("note/\(number)", ["title": .string("\(number / 2)")]) }
            try await f.save("note/single", ["title": .string("single")])
            let wanted = definition([IndexField("title")], unique: true)
            let asked = try await create(f, wanted)
            try await build(f)
            let failed = try #require(try await index(f, asked.name))
            #expect(failed.state == .failed && failed.failure == IndexFailure(.duplicate, duplicates: 3))
            #expect(failed.bytes == nil && failed.attempts == 1)
            #expect(try await invalid(f) == "0")
            // Failed, it keeps nothing from being saved, and it can be asked for again.
            try await f.save("note/more", ["title": .string("single")])
            try await f.psql("UPDATE note SET title = _id")
            let again = try await create(f, wanted)
            #expect(again.state == .building)
            try await build(f)
            #expect(try await index(f, asked.name)?.state == .ready)
        }
    }

    // MARK: Long texts

    @Test func aTextInAnIndexHasABound() async throws {
        try await withRecords { f in
            try await create(f, definition([IndexField("title")]))
            try await build(f)
            try await f.store.cache.reload()
            let rows: [(length: Int, code: ErrorCode?)] = [
                (TableIndex.maximumValueBytes, nil), (TableIndex.maximumValueBytes + 1, .invalidArgument),
            ]
            for row in rows {
                let outcome = try await f.store.save(
                    [.draft(draft("note/1", ["title": .string(noise(row.length))]))],
                    in: .everyone,
                    caller: .ann,
                    atomic: false
                )[0]
                #expect(outcome.error?.code == row.code, "\(row.length)")
                if row.code != nil {
                    #expect(outcome.error?.info["arguments"] == .list([.string("title")]))
                    #expect(outcome.error?.path == "records[0].title")
                }
            }
            // Without an index there is no such bound.
            try await f.psql("ALTER TABLE note ADD text text")
            try await f.store.cache.reload()
            try await f.save("note/2", ["text": .string(noise(100_000))])
        }
    }

    /// Two texts that are too long together, and an index that this process has not read of.
    @Test func whatAnIndexHasNoRoomForNamesItsTexts() async throws {
        try await withRecords { f in
            let fields: [String: RecordValue] = ["title": .string(noise(2000)), "text": .string(noise(2000))]
            try await f.psql("ALTER TABLE note ADD text text")
            try await f.store.cache.reload()
            try await f.psql("CREATE INDEX ON note (title, stars, text)")
            let outcome = try await f.store.save(
                [.draft(draft("note/1", fields))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )[0]
            #expect(outcome.error?.code == .invalidArgument)
            #expect(outcome.error?.info == ["arguments": .list([.string("title"), .string("text")])])
        }
    }

    @Test func aStoredTextThatIsTooLongFailsTheBuild() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string(noise(5000))])
            let asked = try await create(f, definition([IndexField("title")]))
            try await build(f)
            #expect(try await index(f, asked.name)?.failure == IndexFailure(.tooLong))
            #expect(try await invalid(f) == "0")
        }
    }

    /// A text that PostgreSQL cannot compress.
    private func noise(_ length: Int) -> String {
        var random = SeededGenerator(seed: UInt64(length))
        return String((0..<length).map { _ in Character(UnicodeScalar(UInt8.random(in: 33...126, using: &random))) })
    }

    // MARK: Whatever happens meanwhile

    /// What keeps a build in a phase for as long as a test wants.
    enum Phase: String, CaseIterable, Sendable {
        case writers = "waiting for writers before build"
        case snapshots = "waiting for old snapshots"
    }

    /// Runs `body` while the build of an index waits in a phase.
    private func withBuild(in phase: Phase, _ f: RecordsFixture, _ body: () async throws -> Void) async throws {
        try await f.client.withTransaction(isolation: phase == .writers ? .readCommitted : .repeatableRead, retries: 0)
        {
            switch phase {
            case .writers: try await $0.execute("INSERT INTO app.note DEFAULT VALUES")
            case .snapshots: _ = try await $0.query("SELECT 1")
            }
            try await body()
        }
    }

    private func waitForPhase(_ phase: Phase, _ f: RecordsFixture) async throws {
        try await waiting(until: "the build waits") {
            try await f.psql("SELECT phase FROM pg_stat_progress_create_index WHERE datname = current_database()")
                == phase.rawValue
        }
    }

    @Test(arguments: Phase.allCases) func aKilledBackendIsFollowedByAnother(_ phase: Phase) async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")], unique: true))
            let builder = self.builder(f)
            try await withRunning {
                await builder.run()
            } while: {
                try await withBuild(in: phase, f) {
                    try await waitForPhase(phase, f)
                    let building = try #require(try await index(f, asked.name))
                    #expect(building.state == .building && building.progress?.phase == phase.rawValue)
                    try await kill(f)
                }
                try await waiting(until: "the index is ready") { try await index(f, asked.name)?.state == .ready }
            }
            #expect(try await index(f, asked.name)?.attempts == 2)
            #expect(try await invalid(f) == "0")
        }
    }

    @Test func aThirdKilledBackendIsTheLast() async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")]))
            let builder = self.builder(f)
            try await withRunning {
                await builder.run()
            } while: {
                // A snapshot keeps no remains from being dropped.
                try await withBuild(in: .snapshots, f) {
                    for attempt in 1...IndexRecord.maximumAttempts {
                        try await waiting(until: "the attempt waits") {
                            try await f.psql(
                                """
                                SELECT phase, (SELECT attempts FROM _index) FROM pg_stat_progress_create_index
                                WHERE datname = current_database()
                                """
                            ) == "\(Phase.snapshots.rawValue)|\(attempt)"
                        }
                        try await kill(f)
                    }
                }
                try await waiting(until: "it has failed") { try await index(f, asked.name)?.state == .failed }
            }
            #expect(try await index(f, asked.name)?.failure == IndexFailure(.serverStopped))
            #expect(try await invalid(f) == "0")
        }
    }

    private func kill(_ f: RecordsFixture) async throws {
        let killed = try await f.psql(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_progress_create_index WHERE datname = current_database()
            """
        )
        #expect(killed == "1")
    }

    @Test func aBuildThatSomebodyCancelsIsNotBegunAgain() async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")]))
            let builder = self.builder(f)
            try await withRunning {
                await builder.run()
            } while: {
                try await withBuild(in: .snapshots, f) {
                    try await waitForPhase(.snapshots, f)
                    try await f.psql(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_progress_create_index WHERE datname = current_database()"
                    )
                    try await waiting(until: "it has failed") { try await index(f, asked.name)?.state == .failed }
                }
                try await waiting(until: "nothing invalid is left") { try await invalid(f) == "0" }
            }
            #expect(try await index(f, asked.name)?.failure == IndexFailure(.cancelled))
        }
    }

    @Test func aBuildThatIsNoLongerWantedIsCancelled() async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")]))
            let builder = self.builder(f)
            try await withRunning {
                await builder.run()
            } while: {
                try await withBuild(in: .snapshots, f) {
                    try await waitForPhase(.snapshots, f)
                    _ = try await f.store.deleteIndex(IndexDeletion(name: asked.name))
                    try await waiting(until: "no index is built") {
                        try await f.psql(
                            "SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()"
                        ) == "0"
                    }
                }
                try await waiting(until: "it is gone") { try await f.psql("SELECT count(*) FROM _index") == "0" }
            }
            #expect(try await f.psql("SELECT to_regclass('note_due_idx') IS NULL") == "t")
        }
    }

    /// A service that shuts down stops its build at once, and the next takes it up; the attempt does not count.
    @Test(arguments: Phase.allCases) func aShutdownStopsABuildAndTheNextServiceTakesItUp(_ phase: Phase) async throws {
        try await withRecords { f in
            let asked = try await create(f, definition([IndexField("due")]))
            try await withBuild(in: phase, f) {
                let builder = self.builder(f)
                let service = Task { await builder.run() }
                try await waitForPhase(phase, f)
                service.cancel()
                try await waiting(for: "the builder to end") { await service.value }
                let stopped = try #require(try await index(f, asked.name))
                #expect(stopped.state == .building && stopped.attempts == 0)
                let backends = try await f.psql(
                    "SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()"
                )
                #expect(backends == "0")
            }
            try await build(f)
            #expect(try await index(f, asked.name)?.state == .ready)
            #expect(try await index(f, asked.name)?.attempts == 1)
        }
    }

    // MARK: Several builders

    @Test func oneProcessBuildsAtATimeAndTheOtherWaitsWithoutHoldingItUp() async throws {
        try await withRecords { f in
            try await create(f, definition([IndexField("due")]))
            try await create(f, definition([IndexField("score")], unique: true))
            try await f.client.withSession { session in
                // Another process builds.
                _ = try await session.query("BEGIN")
                _ = try await session.query("LOCK TABLE app_internal._index IN SHARE UPDATE EXCLUSIVE MODE")
                let isDone = try await self.builder(f).pass()
                #expect(!isDone)
                #expect(try await list(f).filter { $0.state == .building && $0.attempts == 0 }.count == 2)
            }
            let builder = self.builder(f)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await waiting(until: "all is built") { try await builder.pass() }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await list(f).filter { $0.state == .ready && $0.attempts == 1 }.count == 2)
        }
    }

    @Test func theIndexesOfEveryApplicationAreBuilt() async throws {
        try await withRecords { f in
            _ = try await MigrationRun(client: f.client, schema: "shop", logger: .quiet)()
            let shop = RecordStore(client: f.client, schema: "shop", mode: .development, logger: .quiet)
            try await shop.prepare()
            try await shop.createMissingSchema(for: [draft("note/1", ["title": .string("x")])])
            let wanted = definition([IndexField("title")])
            _ = try await shop.createIndex(wanted)
            try await create(f, wanted)
            let both = IndexBuilder(client: f.client, logger: .quiet) { ["app", "shop", "nowhere"] }
            let isDone = try await both.pass()
            #expect(isDone)
            #expect(try await index(f, "note_title_idx")?.state == .ready)
            #expect(try await shop.indexes().map(\.state) == [.ready])
        }
    }

    /// The types of an application that has no field yet, or not this one.
    @Test func whatDoesNotExistIsRefused() async throws {
        try await withRecords { f in
            let rows: [(definition: IndexDefinition, code: ErrorCode)] = [
                (IndexDefinition(of: type("nothing"), [IndexField("due")]), .resourceNotFound),
                (definition([IndexField("nothing")]), .invalidArgument),
                (definition([IndexField("tags")]), .invalidArgument),
            ]
            for row in rows {
                let error = await #expect(throws: SkyrowError.self) { try await create(f, row.definition) }
                #expect(error?.code == row.code)
            }
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.indexes(of: type("nothing"))
            }
            #expect(error?.code == .resourceNotFound)
            let count = try await f.psql("SELECT count(*) FROM _index")
            #expect(count == "0")
        }
    }
}
