import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Entries of access lists about what users are to the owner of a record.
@Suite(.timeLimit(.minutes(60))) struct AccessRelationTests {
    /// ann owns the records. bob is a friend; carl has only asked; dave follows her, and she follows eve.
    private static let edges = """
        INSERT INTO "user" (_id) VALUES ('ann'), ('bob'), ('carl'), ('dave'), ('eve'), ('fay') ON CONFLICT DO NOTHING;
        INSERT INTO _user (id) VALUES ('ann'), ('bob'), ('carl'), ('dave'), ('eve'), ('fay') ON CONFLICT DO NOTHING;
        INSERT INTO _relation (user_id, name, other_id) VALUES ('ann', 'friend', 'bob'), ('bob', 'friend', 'ann'),
            ('carl', 'friend', 'ann'), ('dave', 'follow', 'ann'), ('ann', 'follow', 'eve');
        SELECT _create_type('opinion'); ALTER TABLE opinion ADD title text;
        """

    private func access(_ name: String) -> RecordAccess {
        let caller = name.isEmpty ? Caller.anonymous : Caller(kind: .user(UserID(name)))
        return RecordAccess(in: .everyone, for: .writing, by: caller)
    }

    /// A record of ann's with a list.
    private func item(_ id: String, _ entries: AccessEntry...) -> SaveRequest.Item {
        .draft(
            RecordDraft(
                id: SkyrowTestSupport.id(id),
                access: AccessList(entries),
                fields: [(field("title"), .string("x"))]
            )
        )
    }

    private func asked(_ f: RecordsFixture, _ name: String = "opinion") -> [Subject.Relation] {
        f.store.cache.current[type(name)]?.rules.classes?.askedRelations ?? []
    }

    private func reads(_ f: RecordsFixture, _ name: String, _ record: String) async throws -> Bool {
        let outcome = try await f.store.fetch([id(record)], with: access(name))[0]
        return (try? outcome.record) != nil
    }

    @Test func anEntryAdmitsThoseWhoAreThatToTheOwner() async throws {
        try await withRecords { f in
            try await f.psql(Self.edges)
            try await f.store.cache.reload()
            #expect(asked(f) == [])
            let rows: [(Subject.Relation, AccessLevel, admitted: String)] = [
                (.friend, .read, "bob"), (.follower, .update, "dave"), (.followed, .delete, "eve"),
                (.friend, .write, "bob"),
            ]
            // This process asks for them from the first save on, and waits for no notice; for those that lists name alone.
            let known: [[Subject.Relation]] = [
                [.friend], [.friend, .follower], [.friend, .follower, .followed], [.friend, .follower, .followed],
            ]
            for (place, row) in rows.enumerated() {
                let entry = AccessEntry(.relation(row.0), row.1)
                for outcome in try await f.store.save(
                    [item("opinion/\(place)", entry)],
                    with: access("ann"),
                    atomic: false
                ) {
                    #expect(try outcome.record.access == AccessList([entry]))
                }
                #expect(asked(f) == known[place])
            }
            for (place, row) in rows.enumerated() {
                let record = "opinion/\(place)"
                for name in ["", "ann", "bob", "carl", "dave", "eve", "fay"] {
                    let isAdmitted = name == row.admitted
                    #expect(try await reads(f, name, record) == (isAdmitted || name == "ann"), "\(row) \(name)")
                    guard !name.isEmpty, name != "ann" else { continue }
                    let change = SaveRequest.Item.draft(draft(record, ["title": .string(name)]))
                    let saved = try await f.store.save([change], with: access(name), atomic: false)[0]
                    #expect(((try? saved.record) != nil) == (isAdmitted && row.1.allows(.update)), "\(row) \(name)")
                }
                for name in ["fay", "bob", "dave", "eve"] {
                    let outcome = try await f.store.delete([id(record)], with: access(name), atomic: false)[0]
                    #expect(outcome.isDeleted == (name == row.admitted && row.1.allows(.delete)), "\(row) \(name)")
                }
            }
        }
    }

    @Test func aTransactionAsksForRelationsOnceItIsCommitted() async throws {
        try await withRecords { f in
            try await f.psql(Self.edges)
            try await f.store.cache.reload()
            let friends = AccessEntry(.relation(.friend), .read)
            _ = try await f.store.save(
                [item("opinion/1", friends), item("opinion/2", friends)],
                with: access("ann"),
                atomic: true
            )
            #expect(asked(f) == [.friend])
            #expect(try await reads(f, "bob", "opinion/2"))
            // A list of another type says nothing of this one.
            #expect(asked(f, "note") == [])
        }
    }

    @Test func whatPsqlWritesCountsToo() async throws {
        try await withRecords { f in
            try await f.psql(
                Self.edges + """
                    INSERT INTO opinion (_id, _owner, _access) VALUES ('1', 'ann', '{"user:fay": "read"}'), ('2', NULL, NULL);
                    """
            )
            #expect(try await f.psql("SELECT count(*) FROM _class_option") == "0")
            let version = try await f.psql("SELECT value FROM _version WHERE name = 'rules'")
            try await f.psql("UPDATE opinion SET _access = '{\"relation:friend\": \"read\"}'")
            #expect(try await f.psql("SELECT type, relations FROM _class_option") == "opinion|{friend}")
            // Processes that hear no notices read the number.
            #expect(try await f.psql("SELECT value FROM _version WHERE name = 'rules'") != version)
            try await f.store.cache.reload()
            for (name, isAdmitted) in [("bob", true), ("carl", false), ("fay", false)] {
                #expect(try await reads(f, name, "opinion/1") == isAdmitted, "\(name)")
                // Who owns nothing has no friends.
                #expect(try await reads(f, name, "opinion/2") == false, "\(name)")
            }
            // One who parts is no friend at once: relations are part of no session.
            try await f.psql("DELETE FROM _relation WHERE user_id = 'ann'")
            #expect(try await reads(f, "bob", "opinion/1") == false)
        }
    }

    @Test func blocksEndWhatEntriesAdmit() async throws {
        try await withRecords { f in
            try await f.psql(Self.edges)
            try await f.store.cache.reload()
            let entries = Subject.Relation.allCases.map { AccessEntry(.relation($0), .read) }
            _ = try await f.store.save(
                [item("opinion/1", entries[0], entries[1], entries[2])],
                with: access("ann"),
                atomic: false
            )
            let everyone = ["bob", "dave", "eve"]
            for name in everyone { #expect(try await reads(f, name, "opinion/1"), "\(name)") }
            // From either side.
            _ = try await f.store.relations.block(["bob", "dave"], by: "ann")
            _ = try await f.store.relations.block(["ann"], by: "eve")
            for name in everyone { #expect(try await reads(f, name, "opinion/1") == false, "\(name)") }
            // A record for all says nothing of relations, and a block says nothing of the record.
            _ = try await f.store.save(
                [item("opinion/2", AccessEntry(.users, .read))],
                with: access("ann"),
                atomic: false
            )
            for name in everyone { #expect(try await reads(f, name, "opinion/2"), "\(name)") }
        }
    }

    @Test func aListThatATypeGivesCountsToo() async throws {
        try await withRecords { f in
            try await f.psql(Self.edges)
            try await f.store.cache.reload()
            var change = ClassAccessChange(type: type("opinion"))
            change.defaultAccess = AccessList([AccessEntry(.relation(.follower), .read)])
            _ = try await f.store.classAccess.change(change)
            let plain = SaveRequest.Item.draft(draft("opinion/1", ["title": .string("x")]))
            _ = try await f.store.save([plain], with: access("ann"), atomic: false)
            #expect(asked(f) == [.follower])
            #expect(try await reads(f, "dave", "opinion/1"))
            #expect(try await reads(f, "bob", "opinion/1") == false)
            // Other rules leave that as it is.
            change.defaultAccess = .some(nil)
            change.rules[.update] = ClassRule([.users])
            _ = try await f.store.classAccess.change(change)
            #expect(asked(f) == [.follower])
            #expect(try await reads(f, "dave", "opinion/1"))
        }
    }

    /// Lists with relations are sent as others are, from the bytes of the row.
    @Test(arguments: [
        (
            #"{"relation:friend": "read", "public": "read"}"#,
            #"[{"public":true,"level":"read"},{"relation":"friend","level":"read"}]"#
        ),
        (
            #"{"relation:follower": "update", "relation:followed": "delete"}"#,
            #"[{"relation":"followed","level":"delete"},{"relation":"follower","level":"update"}]"#
        ),
        (#"{"relation:foe": "read"}"#, "[]"),
        (#"{"relation:": "read", "users": "read"}"#, #"[{"users":true,"level":"read"}]"#),
    ])
    func aStoredListIsSentAsEntries(_ stored: String, _ sent: String) {
        var text = ""
        stored.utf8.withContiguousStorageIfAvailable { bytes in
            AccessList.withEmitted(storedJSON: UnsafeRawBufferPointer(bytes)) {
                text = String(decoding: $0, as: UTF8.self)
            }
        }
        #expect(text == sent)
    }

    /// A caller without relations looks for them once a statement, whatever the number of records, and one who is not logged in
    /// never does.
    @Test func relationsAreLookedForOnceByThoseWhoHaveNone() async throws {
        try await withRecords { f in
            try await f.psql(
                Self.edges + """
                    INSERT INTO opinion (_id, _owner, _access)
                    SELECT 'o' || i, 'ann', '{"relation:friend": "read", "relation:follower": "read"}' FROM generate_series(1, 500) AS i;
                    ANALYZE opinion; ANALYZE _relation
                    """
            )
            try await f.store.cache.reload()
            let rules = try #require(f.store.cache.current[type("opinion")]?.rules)
            func probes(_ name: String) async throws -> (found: Int, perRow: Int) {
                let condition = access(name).of(rules).read.condition(on: "r")
                let result = try await f.client.read(
                    "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT \"r\".\"_id\" FROM app.opinion AS \"r\" WHERE \(condition)"
                )
                let plan = try #require(PlanRuns(try result.decode(row: 0, column: 0)))
                return (plan.rows, plan.runs(ofKind: "SubPlan"))
            }
            let fay = try await probes("fay")
            #expect(fay.found == 0 && fay.perRow == 0)
            let nameless = try await probes("")
            #expect(nameless.found == 0 && nameless.perRow == 0)
            // dave, who follows ann, is looked up for each record.
            let dave = try await probes("dave")
            #expect(dave.found == 500 && dave.perRow == 500)
        }
    }
}

/// How often the parts of a plan ran.
private struct PlanRuns {
    let rows: Int
    private let parts: [(kind: String, runs: Int)]

    init?(_ text: String) {
        let parsed = try? JSONDocument(Array(text.utf8), depthLimit: 100).withRoot { root -> (Int, [(String, Int)])? in
            guard let plan = root.firstElement?["Plan"], let rows = Self.integer(plan["Actual Rows"]) else {
                return nil
            }
            var parts: [(String, Int)] = []
            Self.collect(plan, into: &parts)
            return (rows, parts)
        }
        guard let (rows, parts) = parsed ?? nil else { return nil }
        self.rows = rows
        self.parts = parts.map { (kind: $0.0, runs: $0.1) }
    }

    func runs(ofKind kind: String) -> Int {
        parts.filter { $0.kind == kind }.reduce(0) { $0 + $1.runs }
    }

    private static func integer(_ json: JSONView?) -> Int? {
        guard case .integer(let value)? = json?.number else { return nil }
        return Int(value)
    }

    private static func collect(_ plan: JSONView, into parts: inout [(String, Int)]) {
        parts.append((plan["Parent Relationship"]?.string ?? "", integer(plan["Actual Loops"]) ?? 0))
        for part in plan["Plans"]?.elements.map({ $0 }) ?? [] { collect(part, into: &parts) }
    }
}
