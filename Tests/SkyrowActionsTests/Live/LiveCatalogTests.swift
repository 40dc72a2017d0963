import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Rules and tables that change while no record does: what clients hold is what a query finds, however quiet it is.
@Suite(.timeLimit(.minutes(60))) struct LiveCatalogTests {
    typealias Source = LiveConfiguration.Source

    private static let members = ["title", "n"]

    private static let columns = "ADD title text COLLATE \"C\", ADD n bigint"

    /// A client that begins anew whenever it is told to.
    private final class View {
        let user: LiveUser
        private(set) var outlet = MemoryOutlet()
        private var session: LiveSession?
        private(set) var resets: [String] = []

        init(_ user: LiveUser) {
            self.user = user
        }

        /// Begins where it has not, or was told to; it holds nothing where there is no such type.
        func follow(_ service: ActionService) async throws {
            if let reset = outlet.reset("s") {
                resets.append(reset["reason"] ?? "")
                end()
            }
            guard session == nil else { return }
            outlet = MemoryOutlet()
            let next = LiveSession(of: service, outlet: outlet)
            do throws(SkyrowError) {
                try await next.subscribe(
                    LiveSubscribeRequest(name: "s", type: type("note"), sendsInitial: true),
                    as: user
                )
                session = next
            } catch {
                next.end()
                guard error.code == .resourceNotFound || error.code == .permissionDenied else { throw error }
            }
        }

        /// What a query of the same user finds.
        func queried(_ service: ActionService) async throws -> Set<String> {
            do throws(SkyrowError) {
                let request = QueryRequest(database: .everyone, query: RecordQuery(type: type("note")))
                let records = try await service.query(request, by: user.caller).records.compactMap { $0.collected() }
                return Set(
                    records.map { record in
                        let values = LiveCatalogTests.members.map { Self.text(record.fields[field($0)]) }
                        return ([record.id.description] + values).joined(separator: " ")
                    }
                )
            } catch {
                guard error.code == .resourceNotFound || error.code == .permissionDenied else { throw error }
                return []
            }
        }

        /// Begins anew as long as it is told to, until it holds what a query finds; throws what differs where that never comes.
        func waitUntilSame(_ service: ActionService, _ moment: String) async throws {
            do {
                try await waiting(until: "\(moment): it holds what is there") {
                    try await follow(service)
                    // Those of a subscription that began anew arrive a moment later.
                    let queried = try await queried(service)
                    return held == queried && outlet.reset("s") == nil
                }
            } catch {
                Issue.record(
                    "\(moment): holds \(held), there is \(try await queried(service)), subscribed: \(session != nil), resets: \(resets)"
                )
                throw error
            }
        }

        private static func text(_ value: RecordValue?) -> String {
            switch value {
            case .string(let text)?: text
            case .integer(let integer)?: "\(integer)"
            default: "-"
            }
        }

        var held: Set<String> { session == nil ? [] : outlet.texts("s", LiveCatalogTests.members) }

        func end() {
            session?.end()
            session = nil
        }
    }

    /// What psql does in one transaction, and why a live query of notes ends; nil where it goes on.
    private static let changes: [(statements: String, reason: String?)] = [
        ("INSERT INTO _class_rule VALUES ('note', 'read', '{users}', 'require')", "access"),
        ("INSERT INTO _field_rule VALUES ('note', 'secret', 'read', '{role:editor}')", "access"),
        ("INSERT INTO note (_id, _access) VALUES ('new', '{\"relation:friend\": \"read\"}')", "access"),
        ("ALTER TABLE note DROP n", "schema"),
        ("ALTER TABLE note DROP n; ALTER TABLE note ADD n bigint", "schema"),
        ("ALTER TABLE note RENAME n TO m", "schema"),
        ("ALTER TABLE note ADD filled text COLLATE \"C\" DEFAULT 'x'", "schema"),
        ("DROP TABLE note", "schema"),
        ("ALTER TABLE note RENAME TO parked", "schema"),
        (
            "CREATE TABLE copy (LIKE note INCLUDING ALL); DROP TABLE note; ALTER TABLE copy RENAME TO note",
            "schema"
        ),
        ("ALTER TABLE note ADD empty text COLLATE \"C\"", nil),
        ("CREATE INDEX ON note (n)", nil),
        (
            "INSERT INTO note (_id, _access) VALUES ('new', '{\"role:editor\": \"read\", \"group:golf\": \"read\"}')",
            nil
        ),
    ]

    /// Failed once: nothing was said before the next record changed.
    @Test(arguments: LiveQueryTests.sources, [true, false])
    func endsAreSentThoughNoRecordChanges(_ source: Source, hearsNotices: Bool) async throws {
        for (place, row) in Self.changes.enumerated() {
            // Without notices the database is asked now and then, which takes longer.
            if !hearsNotices, place % 4 != 0 { continue }
            try await withLiveService(source, hearsNotices: hearsNotices, schemaCheckInterval: .milliseconds(100)) {
                fixture in
                try await fixture.change("INSERT INTO note (_id, title, n) VALUES ('1', 'a', 1)")
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                let other = LiveSubscribeRequest(name: "other", type: type("category"))
                try await session.subscribe(LiveSubscribeRequest(name: "s", type: type("note")), as: .anonymous)
                try await session.subscribe(other, as: .anonymous)
                for name in ["s", "other"] { try await outlet.waitUntilReady(name) }
                try await fixture.change(row.statements)
                if let reason = row.reason {
                    try await waiting(until: "\(row.statements): it ends", hearing: [outlet]) {
                        outlet.reset("s") != nil
                    }
                    #expect(outlet.reset("s")?["reason"] == reason, "\(row.statements)")
                } else {
                    let version = fixture.service.store.cache.current.version
                    try await fixture.service.store.cache.reload()
                    try await Self.waitForLooks(fixture)
                    #expect(fixture.service.store.cache.current.version > version)
                    #expect(outlet.reset("s") == nil, "\(row.statements)")
                }
                #expect(outlet.reset("other") == nil, "\(row.statements)")
                // Changes of other types go on to come.
                try await fixture.change("INSERT INTO category (_id) VALUES ('after')")
                try await waiting(until: "the change arrives", hearing: [outlet]) {
                    outlet.held("other")["category/after"] != nil
                }
                session.end()
            }
        }
    }

    /// Failed once: a subscription to a type that was dropped in that moment said that the service may not publish it.
    @Test func aTypeThatIsDroppedMeanwhileIsMissing() async throws {
        try await withLiveService(.logical) { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(LiveSubscribeRequest(name: "s", type: type("category")), as: .anonymous)
            try await outlet.waitUntilReady("s")
            try await fixture.service.live.requirePublished(type("note"))
            try await fixture.change("DROP TABLE note")
            let error = await #expect(throws: SkyrowError.self) {
                try await fixture.service.live.requirePublished(type("note"))
            }
            #expect(error?.code == .resourceNotFound)
            session.end()
        }
    }

    /// Waits until rights and rules were looked at twice.
    static func waitForLooks(_ fixture: ServiceFixture) async throws {
        for _ in 0..<2 {
            try await waiting(for: "a look at the rights") { await fixture.service.live.rightsLookedAt() }
        }
    }

    /// Generated changes of rules and tables, with writes between them and nothing after them.
    @Test(arguments: LiveQueryTests.sources)
    func whatIsHeldIsWhatIsThereAfterEveryChange(_ source: Source) async throws {
        var random = SeededGenerator.forTest()
        let seed = random.seed
        try await withLiveService(source, schemaCheckInterval: .milliseconds(100)) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            let ids = [ann, bob].map { $0.caller.userID?.rawValue ?? "" }
            try await fixture.psql(
                """
                INSERT INTO _role (name) VALUES ('editor');
                INSERT INTO _user_role (user_id, role) VALUES ('\(ids[0])', 'editor');
                INSERT INTO _relation (user_id, name, other_id) VALUES ('\(ids[0])', 'friend', '\(ids[1])'),
                    ('\(ids[1])', 'friend', '\(ids[0])'), ('\(ids[0])', 'follow', '\(ids[1])');
                """
            )
            fixture.service.forget(.all)
            let editor = LiveUser(
                caller: try await fixture.service.authenticate(ann.credentials, for: .user),
                credentials: ann.credentials
            )
            let views = [editor, bob, .anonymous].map(View.init)
            for view in views { try await view.follow(fixture.service) }
            var isThere = true
            var hasParked = false
            for step in 0..<30 {
                let statements = Self.step(ids, &isThere, &hasParked, &random)
                // As a process of the service does; psql does not, and then the database is asked, by others too.
                let isAnnounced = Int.random(in: 0..<4, using: &random) > 0
                try await fixture.change(statements + (isAnnounced ? "; SELECT app._notify('schema', '')" : ""))
                // A query goes by what it finds from then on.
                if !isAnnounced { try await fixture.service.store.cache.reload() }
                for (place, view) in views.enumerated() {
                    try await view.waitUntilSame(
                        fixture.service,
                        "seed \(seed), step \(step), view \(place), \(statements)"
                    )
                }
            }
            // What was found the same may only just have been: no reset comes any more either.
            try await fixture.service.store.cache.reload()
            try await Self.waitForLooks(fixture)
            for (place, view) in views.enumerated() {
                try await view.waitUntilSame(fixture.service, "seed \(seed), the end, view \(place)")
                #expect(!view.resets.isEmpty && view.resets.allSatisfy { ["access", "schema", "bulk"].contains($0) })
                view.end()
            }
        }
    }

    private static func step(
        _ users: [String],
        _ isThere: inout Bool,
        _ hasParked: inout Bool,
        _ random: inout SeededGenerator
    ) -> String {
        func write() -> String {
            let lists = [
                "NULL", "'{}'", "'{\"public\": \"read\"}'", "'{\"role:editor\": \"read\"}'",
                "'{\"relation:friend\": \"read\"}'",
                "'{\"relation:followed\": \"read\"}'", "'{\"user:\(users[1])\": \"read\"}'",
            ]
            let id = Int.random(in: 0..<6, using: &random)
            let owner = users.randomElement(using: &random) ?? ""
            return """
                INSERT INTO note (_id, title, n, _owner, _access)
                VALUES ('\(id)', '\(["a", "b"].randomElement(using: &random) ?? "")', \(id), '\(owner)',
                    \(lists.randomElement(using: &random) ?? "NULL"))
                ON CONFLICT (_id) DO UPDATE SET title = EXCLUDED.title, _access = EXCLUDED._access
                """
        }
        let made = "SELECT _create_type('note'); ALTER TABLE note \(columns)"
        guard isThere else {
            isThere = true
            if hasParked, Bool.random(using: &random) {
                hasParked = false
                return "ALTER TABLE parked RENAME TO note"
            }
            return "\(made); \(write())"
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: return write()
        case 2: return "DELETE FROM note WHERE _id = '\(Int.random(in: 0..<6, using: &random))'"
        case 3:
            let mode = ["default", "require", "override"].randomElement(using: &random) ?? ""
            let allow = ["public", "users", "owner", "role:editor"].randomElement(using: &random) ?? ""
            return "DELETE FROM _class_rule; INSERT INTO _class_rule VALUES ('note', 'read', '{\(allow)}', '\(mode)')"
        case 4: return "DELETE FROM _class_rule"
        case 5:
            let allow = ["role:editor", "owner", "users"].randomElement(using: &random) ?? ""
            return
                "DELETE FROM _field_rule; INSERT INTO _field_rule VALUES ('note', 'title', 'read', '{\(allow)}'); \(write())"
        case 6: return "DELETE FROM _field_rule"
        case 7: return "ALTER TABLE note DROP title; ALTER TABLE note ADD title text COLLATE \"C\""
        case 8: return "ALTER TABLE note DROP n; ALTER TABLE note ADD n bigint DEFAULT 7"
        case 9: return "DROP TABLE note; \(made)" + (Bool.random(using: &random) ? "; \(write())" : "")
        case 10:
            isThere = false
            return "DROP TABLE note"
        default:
            isThere = false
            defer { hasParked = true }
            return (hasParked ? "DROP TABLE parked; " : "") + "ALTER TABLE note RENAME TO parked"
        }
    }
}
