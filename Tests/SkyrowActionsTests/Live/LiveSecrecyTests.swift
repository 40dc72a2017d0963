import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Two databases that differ in nothing but what a caller cannot read give it the same answers and the same events.
@Suite(.timeLimit(.minutes(60))) struct LiveSecrecyTests {
    /// What one transaction does, and what a reader is sent of it who sees nothing of what is hidden.
    private static let transactions: [(statements: [String], events: [String])] = [
        (["INSERT INTO note (_id, title) VALUES ('1', 'x')", "UPDATE note SET _access = '{}' WHERE _id = '1'"], []),
        (["INSERT INTO note (_id, title) VALUES ('1', 'x')", "DELETE FROM note WHERE _id = '1'"], []),
        (
            ["INSERT INTO note (_id, title) VALUES ('1', 'x')", "UPDATE note SET title = 'y' WHERE _id = '1'"],
            ["created note/1 y"]
        ),
        (
            ["UPDATE note SET title = 'secret' WHERE _id = '0'", "UPDATE note SET title = 'y' WHERE _id = '0'"],
            ["updated note/0 y"]
        ),
        (
            ["UPDATE note SET title = 'secret' WHERE _id = '0'", "UPDATE note SET _access = '{}' WHERE _id = '0'"],
            ["deleted note/0 "]
        ),
        (
            ["DELETE FROM note WHERE _id = '0'", "INSERT INTO note (_id, title) VALUES ('0', 'new')"],
            ["deleted note/0 ", "created note/0 new"]
        ),
        (
            [
                "UPDATE note SET title = 'secret' WHERE _id = '0'", "DELETE FROM note WHERE _id = '0'",
                "INSERT INTO note (_id, title) VALUES ('0', 'secret')", "DELETE FROM note WHERE _id = '0'",
                "INSERT INTO note (_id, title) VALUES ('0', 'new')", "UPDATE note SET title = 'newer' WHERE _id = '0'",
            ],
            ["deleted note/0 ", "created note/0 newer"]
        ),
        (
            [
                "INSERT INTO note (_id, title) VALUES ('1', 'x'), ('2', 'x')",
                "DELETE FROM note WHERE _id IN ('0', '1')",
            ],
            ["deleted note/0 ", "created note/2 x"]
        ),
    ]

    /// What a transaction has undone before its commit, no one outside has ever seen.
    @Test(arguments: [LiveConfiguration.Source.logical, .polling])
    func nothingOfWhatATransactionUndoesIsSent(_ source: LiveConfiguration.Source) async throws {
        try await withLiveService(source) { fixture in
            for (place, row) in Self.transactions.enumerated() {
                try await fixture.change("DELETE FROM note", "INSERT INTO note (_id, title) VALUES ('0', 'old')")
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                for (name, of) in [("s", "note"), ("marks", "category")] {
                    let request = LiveSubscribeRequest(
                        name: name,
                        type: type(of),
                        predicate: nil,
                        sendsInitial: name == "s"
                    )
                    try await session.subscribe(request, as: .anonymous)
                    try await outlet.waitUntilReady(name)
                }
                // Polling would report what came before and the transaction as one change.
                try await fixture.change("INSERT INTO category (_id) VALUES ('before\(place)')")
                try await waiting(until: "everything before has arrived", hearing: [outlet]) {
                    outlet.held("marks")["category/before\(place)"] != nil
                }
                outlet.clear()
                try await fixture.service.store.client.withTransaction { transaction in
                    try await transaction.executeScript("SET LOCAL search_path = app, app_internal, pg_temp")
                    for statement in row.statements { try await transaction.execute(SQL(trustedText: statement)) }
                }
                try await fixture.change("INSERT INTO category (_id) VALUES ('mark\(place)')")
                try await waiting(until: "the mark arrives", hearing: [outlet]) {
                    outlet.held("marks")["category/mark\(place)"] != nil
                }
                let events = outlet.events.filter { $0.subscription == "s" }
                    .map { "\($0.event) \($0.id) \($0.record["title"] ?? "")" }
                #expect(events.sorted() == row.events.sorted(), "\(row.statements)")
                #expect(outlet.faults == [])
                session.end()
            }
        }
    }

    /// What happens in both databases, each with its own form where they differ.
    private struct Step {
        var plain: String
        var secret: String
    }

    /// A caller in one of the databases, and what it asked for last.
    private struct Reader {
        let user: LiveUser
        let predicate: RecordPredicate?
        let outlet = MemoryOutlet()
        var session: LiveSession?
        var position = ChangesRequest.Position.start
    }

    /// One of the two databases.
    private struct World {
        let fixture: ServiceFixture
        /// The ids of the users, by their names.
        let users: [String: LiveUser]
        var readers: [Reader]

        init(_ fixture: ServiceFixture) async throws {
            self.fixture = fixture
            var users: [String: LiveUser] = [:]
            for name in ["ann", "bob"] { users[name] = try await fixture.user(name) }
            self.users = users
            let title = RecordPredicate.comparison(.eq, .keyPath(FieldPath(unchecked: "title")), .value(.string("a")))
            readers = [users["ann"], .anonymous].compactMap(\.self).flatMap { user in
                [nil, title].map { Reader(user: user, predicate: $0) }
            }
            for place in readers.indices {
                let session = LiveSession(of: fixture.service, outlet: readers[place].outlet)
                readers[place].session = session
                try await session.subscribe(
                    LiveSubscribeRequest(
                        name: "s",
                        type: type("note"),
                        predicate: readers[place].predicate,
                        sendsInitial: true
                    ),
                    as: readers[place].user
                )
                try await session.subscribe(LiveSubscribeRequest(name: "marks", type: type("category")), as: .anonymous)
                for name in ["s", "marks"] { try await readers[place].outlet.waitUntilReady(name) }
            }
        }

        /// A text with the ids of this database's users in the place of their names.
        private func local(_ text: String) -> String {
            users.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value.caller.userID?.rawValue ?? "") }
        }

        /// A text with the names of users in the place of their ids.
        private func global(_ text: String) -> String {
            users.reduce(text) { $0.replacing($1.value.caller.userID?.rawValue ?? "?", with: "{\($1.key)}") }
        }

        /// Commits, and waits until all readers were sent what it means to them.
        func commit(_ statements: String, _ number: Int) async throws {
            if !statements.isEmpty { try await fixture.change(local(statements)) }
            try await fixture.change("INSERT INTO category (_id) VALUES ('mark\(number)')")
            for reader in readers {
                try await waiting(until: "the mark \(number) arrives", hearing: [reader.outlet]) {
                    reader.outlet.held("marks")["category/mark\(number)"] != nil
                }
            }
        }

        /// The events of a reader since the last time.
        func events(of place: Int) -> [String] {
            defer { readers[place].outlet.clear() }
            return readers[place].outlet.events.filter { $0.subscription == "s" }
                .map { event in
                    // The text of a list has its members in any order.
                    let record = event.record.filter { $0.key != "_access" }.map { "\($0.key)=\($0.value)" }.sorted()
                    return global("\(event.phase) \(event.event) \(event.id) \(record)")
                }
                .sorted()
        }

        private func request(_ place: Int, _ position: ChangesRequest.Position) -> ChangesRequest {
            ChangesRequest(
                database: .everyone,
                query: ChangeQuery(type: type("note"), predicate: readers[place].predicate),
                position: position,
                limit: 3
            )
        }

        /// All pages of a pass through the feed.
        mutating func feed(of place: Int) async throws -> [String] {
            var pages: [String] = []
            while true {
                let page = try await fixture.service.run(
                    Actions.changesFetch,
                    request(place, readers[place].position),
                    Call(by: readers[place].user.caller)
                )
                let changed = page.changed.compactMap { $0.collected() }.map { record in
                    let fields = record.fields.map { "\($0.key)=\($0.value)" }.sorted()
                    return "\(record.id) \(record.access.map { "\($0)" } ?? "") \(fields)"
                }
                pages.append(
                    global("\(changed) \(page.removed) \(String(describing: page.reset)) \(page.cursor != nil)")
                )
                if let token = page.token { readers[place].position = .since(token) }
                guard let cursor = page.cursor else { return pages }
                readers[place].position = .cursor(cursor)
            }
        }

        /// All pages of a comparison.
        func comparison(of place: Int) async throws -> [String] {
            var pages: [String] = []
            var position = ChangesRequest.Position.start
            while true {
                let page = try await fixture.service.run(
                    Actions.changesCompare,
                    request(place, position),
                    Call(by: readers[place].user.caller)
                )
                pages.append("\(page.pairs.map(\.id)) \(page.cursor != nil)")
                guard let cursor = page.cursor else { return pages }
                position = .cursor(cursor)
            }
        }
    }

    @Test(arguments: LiveQueryTests.sources)
    func whatCannotBeReadMakesNoDifference(_ source: LiveConfiguration.Source) async throws {
        let seed = SeededGenerator.forTest().seed
        try await withLiveService(source) { first in
            try await withLiveService(source) { second in
                var random = SeededGenerator(seed: seed)
                var (plain, secret) = (try await World(first), try await World(second))
                var vanished: Set<Int> = []
                var differences = 0
                for number in 0..<seededCases(60) {
                    let step = Self.step(number, &vanished, &random)
                    if step.plain != step.secret { differences += 1 }
                    try await plain.commit(step.plain, number)
                    try await secret.commit(step.secret, number)
                    for place in plain.readers.indices {
                        #expect(
                            plain.events(of: place) == secret.events(of: place),
                            "seed \(seed), step \(number), reader \(place), \(source): \(step)"
                        )
                    }
                    guard number.isMultiple(of: 5) else { continue }
                    for place in plain.readers.indices {
                        let (left, right) = (try await plain.feed(of: place), try await secret.feed(of: place))
                        #expect(left == right, "seed \(seed), step \(number), reader \(place): \(step)")
                        let compared = (try await plain.comparison(of: place), try await secret.comparison(of: place))
                        #expect(compared.0 == compared.1, "seed \(seed), step \(number), reader \(place)")
                    }
                }
                #expect(differences > seededCases(15))
                #expect(vanished.count > 1)
                let held = plain.readers.map { $0.outlet.held("s").count }
                #expect(held[0] > 0 && held[2] > 0 && held[0] != held[2])
                for reader in plain.readers + secret.readers {
                    #expect(reader.outlet.faults == [])
                    #expect(reader.outlet.reset("s") == nil)
                    reader.session?.end()
                }
            }
        }
    }

    /// Something that both callers or one may see, and beside it, in one of the databases, what neither may.
    private static func step(_ number: Int, _ vanished: inout Set<Int>, _ random: inout SeededGenerator) -> Step {
        var step = Step(plain: "", secret: "")
        let title = ["'a'", "'b'", "NULL"].randomElement(using: &random) ?? "NULL"
        let id = Int.random(in: 0..<30, using: &random)
        if !vanished.contains(id) {
            let both: String
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                let list =
                    ["NULL", "'{\"user:{ann}\": \"read\"}'", "'{\"users\": \"read\"}'"]
                    .randomElement(using: &random) ?? "NULL"
                both = """
                    INSERT INTO note (_id, title, n, _access) VALUES ('v\(id)', \(title), \(number), \(list))
                    ON CONFLICT (_id) DO UPDATE SET title = EXCLUDED.title, n = EXCLUDED.n;
                    """
            case 3, 4: both = "UPDATE note SET title = \(title) WHERE _id = 'v\(id)';"
            case 5: both = "DELETE FROM note WHERE _id = 'v\(id)';"
            default: both = ""
            }
            step = Step(plain: both, secret: both)
            if both.isEmpty {
                // Deleted in one, hidden from both in the other.
                vanished.insert(id)
                step.plain = "DELETE FROM note WHERE _id = 'v\(id)';"
                step.secret = "UPDATE note SET _access = '{}' WHERE _id = 'v\(id)';"
            }
        }
        let hidden = "h\(Int.random(in: 0..<30, using: &random))"
        let list =
            ["'{}'", "'{\"user:{bob}\": \"write\"}'", "'{\"role:none\": \"read\"}'"].randomElement(using: &random)
            ?? "'{}'"
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2:
            step.secret += """
                INSERT INTO note (_id, title, n, _access, _owner) VALUES ('\(hidden)', \(title), \(number), \(list), '{bob}')
                ON CONFLICT (_id) DO UPDATE SET title = EXCLUDED.title, _access = EXCLUDED._access;
                """
        case 3: step.secret = "UPDATE note SET title = \(title), n = \(number) WHERE _id ~ '^h';" + step.secret
        case 4: step.secret += "DELETE FROM note WHERE _id = '\(hidden)';"
        case 5:
            step.secret += """
                INSERT INTO note (_id, _database, _owner, title) VALUES ('~{bob}/p\(number)', '{bob}', '{bob}', \(title));
                """
        default: break
        }
        return step
    }
}
