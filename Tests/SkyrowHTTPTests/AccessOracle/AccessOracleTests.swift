import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

/// The service and the oracle decide the same about every record, on every way to it.
@Suite(.timeLimit(.minutes(60))) struct AccessOracleTests {
    @Test func theServiceDecidesAsTheOracleDoes() async throws {
        // Changes that are asked for come without old values, and on a busy machine the stream may begin after these.
        let storage = try TestFileStorage()
        let files = FileConfiguration(storage: storage, urlPrefix: TestUpload.prefix)
        let live = LiveConfiguration(source: .logical)
        let hooks = try OracleHooks.runner()
        try await withService(
            live: live,
            files: files,
            functions: (hooks, OracleHooks.registration()),
            on: TemporaryCluster.streaming()
        ) { service in
            var random = SeededGenerator.forTest()
            let world = try await OracleWorld(service, &random)
            storage.insert(world.files.map(\.name))
            try await world.makeFunctions()
            try await world.makePacts()
            var run = OracleRun(world: world, seed: random.seed)
            run.types = ["card", "pact"]
            // A live query takes as long as all the rest together. In a quick run fewer callers have one: with and without a
            // user, a key, a name and a proved address.
            let isQuick = seededCases(1) == 1
            for (place, caller) in world.callers.enumerated() {
                try await run.reads(of: caller)
                try await run.feed(of: caller)
                if !isQuick || [0, 3].contains(place % 5) { try await run.live(of: caller, hasPrevious: true) }
                try await run.privateReads(of: caller)
                try await run.files(of: caller)
                try await run.saves(of: caller)
                try await run.changes(of: caller)
                try await run.functions(of: caller)
                try await run.hooks(of: caller, hooks)
            }
            for (number, rules) in OracleWorld.rules.enumerated() {
                // Live queries judge the records before by what they have kept of them, where the log has keys alone.
                let identity = number.isMultiple(of: 2) ? "FULL" : "DEFAULT"
                _ = try await service.database.psql("ALTER TABLE app.card REPLICA IDENTITY \(identity)")
                try await run.set(rules, listReaders: OracleWorld.listReaders[number % 3])
                let callers = world.callers.shuffled(using: &random).prefix(5) + world.callers.prefix(1)
                for (place, caller) in callers.enumerated() {
                    try await run.reads(of: caller)
                    try await run.feed(of: caller)
                    if place < (isQuick ? 1 : 2) {
                        try await run.live(of: caller, hasPrevious: number.isMultiple(of: 2))
                    }
                    try await run.privateReads(of: caller)
                    try await run.files(of: caller)
                    try await run.saves(of: caller)
                    try await run.changes(of: caller)
                    try await run.functions(of: caller)
                    try await run.hooks(of: caller, hooks)
                }
                for (place, caller) in world.scoped.enumerated()
                where !isQuick || (number + place).isMultiple(of: 2) {
                    try await run.files(of: caller)
                    try await run.scopedFunctions(of: caller)
                }
            }
            run.requireFilesOfAllKinds()
            run.requireHooksOfAllKinds()
            try await run.set([:])
            var rest = world.leaves
            for caller in world.callers.shuffled(using: &random) where !caller.subject.isMaster {
                rest = try await run.deletes(of: caller, rest)
            }
            #expect(run.cases >= 100_000, "\(run.cases)")
            run.requireSubjectsThatCount()
            #expect(rest.count < world.leaves.count)
            for readers in OracleWorld.listReaders {
                for isWhole in [true, false] {
                    let count = run.lists[OracleRun.ListCase(readers: readers, isWhole: isWhole)] ?? 0
                    #expect(count > 100 || readers == "read" && !isWhole, "\(readers), \(isWhole): \(count)")
                }
            }
            // Each row of the table that there is has been asked, with each of its answers.
            let expected: [(Int, [OracleAnswer])] = [
                (1, [.yes, .missing]), (2, [.yes]), (3, [.missing]), (4, [.yes, .missing, .logIn]),
                (5, [.missing, .denied]), (6, [.yes]), (7, [.missing, .denied]), (8, [.missing, .denied]), (9, [.yes]),
                (10, [.yes, .missing, .denied]), (11, [.yes]), (12, [.yes]), (13, [.missing]), (14, [.yes]),
                (15, [.missing, .denied]),
            ]
            for (row, answers) in expected {
                for answer in answers {
                    let count = run.asked[OracleDecision(row: row, answer: answer)] ?? 0
                    #expect(count > 0, "row \(row), \(answer)")
                }
            }
            #expect(
                Set(run.asked.keys)
                    == Set(
                        expected.flatMap { row, answers in
                            answers.map { OracleDecision(row: row, answer: $0) }
                        }
                    )
            )
        }
    }

    @Test(
        arguments: [
            (OracleCaller(), OracleAction.read, nil, OracleAnswer.yes), (OracleCaller(), .update, nil, .logIn),
            (OracleCaller(user: "ann"), .delete, [:], .yes), (OracleCaller(user: "bob"), .read, [:], .missing),
            (OracleCaller(user: "bob"), .update, nil, .denied),
            (OracleCaller(user: "bob"), .update, ["user:bob": "delete"], .denied),
            (OracleCaller(user: "bob"), .delete, ["user:bob": "delete"], .yes),
            (OracleCaller(user: "bob", roles: ["a"]), .update, ["role:a": "update", "public": "read"], .yes),
            (OracleCaller(user: "bob"), .update, ["public": "write"], .yes),
            (OracleCaller(), .read, ["public": "write"], .yes), (OracleCaller(), .read, ["users": "write"], .missing),
            (OracleCaller(user: "bob"), .read, ["owner": "write", "group:bob": "write"], .missing),
            (OracleCaller(isMaster: true), .delete, [:], .yes),
            (OracleCaller(user: "bob", roles: ["inner"]), .update, ["role:outer": "write"], .yes),
            (OracleCaller(user: "bob", roles: ["outer"]), .read, ["role:inner": "write"], .missing),
            (OracleCaller(user: "bob", groups: ["golf"]), .delete, ["group:golf": "delete"], .yes),
            (OracleCaller(user: "bob", groups: ["golf"]), .update, ["group:golf": "delete"], .denied),
            (OracleCaller(groups: ["golf"]), .read, ["group:golf": "read"], .missing),
            (OracleCaller(user: "bob", keyName: "tablet"), .update, ["key:tablet": "update"], .yes),
            (OracleCaller(user: "bob", keyName: "tablet"), .delete, ["key:tablet": "update"], .denied),
            (OracleCaller(user: "bob", keyName: "phone"), .read, ["key:tablet": "write"], .missing),
            (OracleCaller(user: "bob"), .read, ["key:tablet": "write"], .missing),
            (OracleCaller(keyName: "tablet"), .read, ["key:tablet": "read"], .yes),
            (OracleCaller(keyName: "tablet"), .update, ["key:tablet": "write"], .logIn),
            (OracleCaller(user: "bob"), .update, ["relation:friend": "update"], .yes),
            (OracleCaller(user: "bob"), .delete, ["relation:friend": "update"], .denied),
            (OracleCaller(user: "carl"), .read, ["relation:friend": "write"], .missing),
            (OracleCaller(user: "carl"), .read, ["relation:follower": "read"], .yes),
            (OracleCaller(user: "bob"), .read, ["relation:follower": "read"], .missing),
            (OracleCaller(user: "dave"), .delete, ["relation:followed": "write"], .yes),
            (OracleCaller(user: "carl"), .read, ["relation:followed": "write"], .missing),
            (OracleCaller(), .read, ["relation:follower": "read"], .missing),
            (OracleCaller(user: "bob"), .read, ["registered": "read"], .yes),
            (OracleCaller(user: "bob", isAnonymous: true), .read, ["registered": "read"], .missing),
            (OracleCaller(user: "bob", isVerified: true), .update, ["verified": "update"], .yes),
            (OracleCaller(user: "bob", isVerified: true), .delete, ["verified": "update"], .denied),
            (OracleCaller(user: "bob"), .read, ["verified": "read"], .missing),
            (OracleCaller(isVerified: true), .read, ["verified": "read"], .missing),
        ] as [(OracleCaller, OracleAction, [String: String]?, OracleAnswer)]
    )
    func theOracleKnowsTheTable(
        _ caller: OracleCaller,
        _ action: OracleAction,
        _ list: [String: String]?,
        _ answer: OracleAnswer
    ) {
        let oracle = AccessOracle(
            users: ["ann", "bob"],
            roles: ["a", "inner", "middle", "outer"],
            groups: ["golf"],
            nesting: [("middle", "outer"), ("inner", "middle")],
            friends: [
                OracleEdge(from: "ann", to: "bob"), OracleEdge(from: "bob", to: "ann"),
                OracleEdge(from: "carl", to: "ann"),
            ],
            follows: [OracleEdge(from: "carl", to: "ann"), OracleEdge(from: "ann", to: "dave")]
        )
        let record = OracleRecord(id: "1", owner: "ann", list: list)
        #expect(oracle.decide(caller, action, record).answer == answer)
    }
}

/// Asks the service about all records at once, on one way after the other, and compares each with the oracle.
struct OracleRun {
    let world: OracleWorld
    private(set) var oracle: AccessOracle
    let seed: UInt64
    private(set) var cases = 0
    /// How often each row gave each answer.
    private(set) var asked: [OracleDecision: Int] = [:]
    /// How often lists that name someone were shown whole and in part.
    private(set) var lists: [ListCase: Int] = [:]

    /// Samples files and records, without a change to the numbers of the test.
    var chance: SeededGenerator
    /// How often a file was open and closed to a caller.
    var fileCases: [FileCase: Int] = [:]
    /// How many records hooks got.
    var hookedRecords: [HookTrigger: Int] = [:]
    /// The types that get the rules.
    var types = ["card"]

    struct FileCase: Hashable {
        let exit: String
        let isOpen: Bool
    }

    struct ListCase: Hashable {
        let readers: String
        let isWhole: Bool
    }

    init(world: OracleWorld, seed: UInt64) {
        self.world = world
        self.seed = seed
        oracle = world.oracle
        chance = SeededGenerator(seed: seed &+ 2)
    }

    /// Expects of each kind of relation, of being registered or verified, and of a key, that it is what opens some records to some callers, and of each
    /// of those records that it is closed to others.
    func requireSubjectsThatCount() {
        let callers = world.callers.filter { $0.subject.user != nil }.map(\.subject)
        func decisions(_ records: [OracleRecord], _ action: OracleAction) -> [OracleAnswer] {
            records.flatMap { record in callers.map { oracle.decide($0, action, record).answer } }
        }
        for key in OracleWorld.counted {
            for action in OracleAction.allCases {
                let named = world.cards.filter { $0.list?[key] != nil }
                let without = named.map { record in
                    var record = record
                    record.list?[key] = nil
                    return record
                }
                let answers = decisions(named, action)
                let opened = zip(answers, decisions(without, action)).filter { $0.0 == .yes && $0.1 != .yes }.count
                let closed = answers.filter { $0 != .yes }.count
                #expect(opened > 0 && closed > 0, "\(key) \(action): \(opened), \(closed)")
            }
        }
    }

    /// Gives the types other rules.
    ///
    /// - Parameter listReaders: who sees whole lists.
    mutating func set(_ rules: [OracleAction: OracleRule], listReaders: String = "owner") async throws {
        oracle.rules = rules
        oracle.listReaders = listReaders
        let members = [("read", OracleAction.read), ("update", .update), ("delete", .delete)].map { name, action in
            guard let rule = rules[action] else { return "\"\(name)\":null" }
            let subjects = rule.allow.sorted().map { key in
                let parts = key.split(separator: ":", maxSplits: 1)
                return parts.count == 1 ? "{\"\(key)\":true}" : "{\"\(parts[0])\":\"\(parts[1])\"}"
            }
            return "\"\(name)\":{\"allow\":[\(subjects.joined(separator: ","))],\"mode\":\"\(rule.mode)\"}"
        }
        let rest = "\"list_read_by\":\"\(listReaders)\",\"rules\":{\(members.joined(separator: ","))}"
        for type in types {
            let response = try await world.service.call(
                "schema:access:set",
                "{\"record_type\":\"\(type)\",\(rest)}",
                key: TestService.masterKey
            )
            guard response["error"] == .null else { throw UnexpectedResponse(response: "\(response)") }
        }
    }

    func call(_ client: OracleClient, _ method: String, _ parameters: String) async throws -> JSONValue {
        try await world.service.call(method, parameters, key: client.key, token: client.token)
    }

    /// Counts records of which more was compared than who may do what to them.
    mutating func countCases(_ count: Int) { cases += count }

    /// Compares what was found with what the caller may see of the records.
    mutating func compare(
        _ exit: String,
        _ client: OracleClient,
        _ action: OracleAction,
        _ records: [OracleRecord],
        in database: String = "_public",
        expecting answers: Set<OracleAnswer> = [.yes],
        found: Set<String>
    ) {
        var expected: Set<String> = []
        for record in records {
            let decision = oracle.decide(client.subject, action, record, in: database)
            asked[decision, default: 0] += 1
            cases += 1
            if answers.contains(decision.answer) { expected.insert(record.id) }
        }
        let wrong = expected.symmetricDifference(found).sorted()
        #expect(
            wrong.isEmpty,
            "seed \(seed): \(exit) by \(client.subject): \(wrong.prefix(5)), \(records.filter { wrong.prefix(5).contains($0.id) })"
        )
    }

    /// Compares the lists of cards that are sent to a caller with what the caller may see of them.
    mutating func compareLists(_ exit: String, _ client: OracleClient, _ sent: [JSONValue]) {
        for card in sent where card["_type"].string == "record" {
            guard let id = card["_id"].string?.dropFirst(5), let record = world.cardsByID[String(id)] else { continue }
            let expected = oracle.shownList(client.subject, record)
            let found = Self.list(card["_access"])
            cases += 1
            if record.list?.keys.contains(where: { $0.contains(":") }) == true {
                lists[
                    ListCase(readers: oracle.listReaders, isWhole: found?.keys.contains { $0.contains(":") } == true),
                    default: 0
                ] += 1
            }
            #expect(
                found == expected && (found == nil) == (card["_access"] == .null),
                "seed \(seed): \(exit) by \(client.subject): \(card["_access"]) of \(record)"
            )
        }
    }

    /// A list as psql shows it; nil for null.
    private static func list(_ json: JSONValue) -> [String: String]? {
        guard json != .null else { return nil }
        var list: [String: String] = [:]
        for entry in json.elements {
            let level = entry["level"].string
            for kind in ["public", "users", "registered", "verified", "owner"] where entry[kind] == .boolean(true) {
                list[kind] = level
            }
            for (member, kind) in [
                ("user_id", "user"), ("role", "role"), ("group", "group"), ("key", "key"), ("relation", "relation"),
            ] {
                if let name = entry[member].string { list["\(kind):\(name)"] = level }
            }
        }
        return list
    }

    func ids(_ response: JSONValue, dropping prefix: String) -> Set<String> {
        Set(
            response["result"]["records"].elements.compactMap {
                $0["_id"].string.map { String($0.dropFirst(prefix.count)) }
            }
        )
    }

    private func reference(_ record: OracleRecord, _ type: String) -> String { "\"\(type)/\(record.id)\"" }

    // MARK: Reading

    private static let title = #"{"$type":"keypath","$val":"title"}"#
    static let number = #"{"$type":"keypath","$val":"n"}"#
    static let card = #"{"$type":"keypath","$val":"card"}"#
    static let cardNumber = #"{"$type":"keypath","$val":"card.n"}"#

    mutating func reads(of client: OracleClient) async throws {
        let cards = world.cards
        let open = cards.filter { $0.database == "_public" }
        let names = cards.map { reference($0, "card") }.joined(separator: ",")
        let fetched = try await call(client, "record:fetch", "{\"ids\":[\(names)]}")["result"].elements
        #expect(fetched.count == cards.count)
        let seen = zip(cards, fetched).filter { $1["_type"].string == "record" }.map(\.0.id)
        #expect(fetched.filter { $0["_type"].string == "error" }.allSatisfy { $0["code"].integer == 110 })
        compareLists("fetch", client, fetched)
        compare("fetch", client, .read, cards, found: Set(seen))

        for (exit, query) in [
            ("query", "{\"record_type\":\"card\",\"limit\":1000}"),
            ("match", "{\"record_type\":\"card\",\"limit\":1000,\"predicate\":[\"match\",\(Self.title),\"alpha\"]}"),
            (
                "related_to",
                "{\"record_type\":\"card\",\"limit\":1000,\"predicate\":[\"related_to\",{\"$type\":\"ref\",\"$id\":\"holder/all\"},\"deck\"]}"
            ),
        ] {
            let response = try await call(client, "record:query", query)
            compareLists(exit, client, response["result"]["records"].elements)
            compare(exit, client, .read, cards, found: ids(response, dropping: "card/"))
        }
        let sorted = try await call(
            client,
            "record:query",
            "{\"record_type\":\"card\",\"limit\":1000,\"count\":true,\"sort\":[[\(Self.number),\"desc\"]]}"
        )
        let order = sorted["result"]["records"].elements.compactMap { $0["n"].integer }
        #expect(order == order.sorted(by: >))
        compare("sort", client, .read, cards, found: ids(sorted, dropping: "card/"))
        let readable = open.filter { oracle.decide(client.subject, .read, $0).answer == .yes }
        let numbers = Set(readable.map(\.id))
        let sum = cards.enumerated().filter { numbers.contains($1.id) && $1.database == "_public" }.reduce(0) {
            $0 + $1.offset
        }
        #expect(sorted["result"]["info"]["count"].integer == readable.count)
        cases += cards.count
        let aggregate = try await call(
            client,
            "record:aggregate",
            "{\"record_type\":\"card\",\"aggregates\":{\"count\":[\"count\"],\"sum\":[\"sum\",\(Self.number)]}}"
        )["result"]["groups"][0]
        #expect(aggregate["count"].integer == readable.count && aggregate["sum"].integer ?? 0 == sum)
        cases += cards.count

        let included = try await call(
            client,
            "record:query",
            "{\"record_type\":\"holder\",\"limit\":1000,\"include\":{\"card\":\(Self.card)}}"
        )
        compareIncluded("include", client, included)
        for (exit, predicate) in [
            ("key path", "[\"gte\",\(Self.cardNumber),0]"),
            ("in_query", "[\"in_query\",\(Self.card),{\"record_type\":\"card\"}]"),
        ] {
            let response = try await call(
                client,
                "record:query",
                "{\"record_type\":\"holder\",\"limit\":1000,\"predicate\":\(predicate)}"
            )
            compare(exit, client, .read, open, found: ids(response, dropping: "holder/of-"))
        }
        let missed = try await call(
            client,
            "record:query",
            "{\"record_type\":\"holder\",\"limit\":1000,\"predicate\":[\"not_in_query\",\(Self.card),{\"record_type\":\"card\"}]}"
        )
        compare(
            "not_in_query",
            client,
            .read,
            open,
            expecting: [.missing],
            found: ids(missed, dropping: "holder/of-").filter { !$0.isEmpty }
        )
    }

    /// Compares the cards that come with the holders of all of them.
    mutating func compareIncluded(_ exit: String, _ client: OracleClient, _ response: JSONValue) {
        let open = world.cards.filter { $0.database == "_public" }
        let included = response["result"]["records"].elements.map { $0["_transient"]["card"] }
        #expect(included.count == open.count + 1)
        compareLists(exit, client, included)
        let found = included.compactMap { card in card["_id"].string.map { String($0.dropFirst(5)) } }
        compare(exit, client, .read, open, found: Set(found))
    }

    /// Reads the change feed: all records, their revisions, and what changes when every record does.
    mutating func feed(of client: OracleClient) async throws {
        let cards = world.cards
        let (all, _, token) = try await changes("changes:fetch", of: client)
        compare("changes:fetch", client, .read, cards, found: all)
        let (pairs, _, _) = try await changes("changes:compare", of: client)
        compare("changes:compare", client, .read, cards, found: pairs)
        let touched = try await world.service.call(
            "record:update",
            "{\"record_type\":\"card\",\"set\":{\"title\":\"alpha\"},\"predicate\":[\"and\"],\"at_most\":1000}",
            key: TestService.masterKey
        )
        #expect(touched["error"] == .null, "\(touched)")
        let (changed, removed, _) = try await changes("changes:fetch", of: client, ",\"since\":\"\(token)\"")
        compare("changes:fetch since", client, .read, cards, found: changed)
        // What cannot be read is not even named.
        #expect(removed == [])
    }

    /// The ids of the cards that an action of the change feed lists on all of its pages, those that it says are gone, and the
    /// token at the end.
    private mutating func changes(
        _ method: String,
        of client: OracleClient,
        _ position: String = ""
    ) async throws -> (listed: Set<String>, removed: Set<String>, token: String) {
        var (listed, removed, position) = (Set<String>(), Set<String>(), position)
        func id(_ text: String) -> String { String(text.dropFirst("card/".count)) }
        while true {
            let page = try await call(client, method, "{\"record_type\":\"card\",\"limit\":100\(position)}")["result"]
            #expect(page["reset"].string == nil)
            listed.formUnion(page["changed"].elements.compactMap { $0["_id"].string.map(id) })
            listed.formUnion(page["records"].elements.compactMap { $0[0].string })
            removed.formUnion(page["removed"].elements.compactMap { $0.string.map(id) })
            compareLists(method, client, page["changed"].elements)
            if let token = page["token"].string { return (listed, removed, token) }
            position = ",\"cursor\":\"\(try #require(page["cursor"].string, "\(page)"))\""
        }
    }

    /// Reads the caller's own private database and that of another user.
    mutating func privateReads(of client: OracleClient) async throws {
        let users = world.callers.compactMap(\.subject.user)
        for user in users.prefix(2) + [client.subject.user].compactMap({ $0 }) {
            let response = try await call(
                client,
                "record:query",
                "{\"record_type\":\"card\",\"limit\":1000,\"database_id\":\"\(user)\"}"
            )
            if client.subject.user != user, !client.subject.isMaster {
                #expect(response["error"]["code"].integer == 102)
            }
            compareLists("database", client, response["result"]["records"].elements)
            compare("database", client, .read, world.cards, in: user, found: ids(response, dropping: "card/"))
        }
    }

    // MARK: Writing

    mutating func saves(of client: OracleClient) async throws {
        let open = world.cards.filter { $0.database == "_public" }
        let drafts = open.map { "{\"_id\":\(reference($0, "card")),\"title\":\"alpha\"}" }.joined(separator: ",")
        let response = try await call(client, "record:save", "{\"records\":[\(drafts)]}")
        guard response["error"] == .null else {
            #expect(response["error"]["code"].integer == 101)
            compare("save", client, .update, open, expecting: [.logIn], found: Set(open.map(\.id)))
            return
        }
        let outcomes = response["result"].elements
        #expect(outcomes.count == open.count)
        // A record that the caller may not read is not created, and says no more than one that it may not write.
        #expect(outcomes.filter { $0["_type"].string == "error" }.allSatisfy { $0["code"].integer == 102 })
        compareLists("save", client, outcomes)
        let saved = zip(open, outcomes).filter { $1["_type"].string == "record" }.map(\.0.id)
        compare("save", client, .update, open, found: Set(saved))
    }

    /// Changes by a predicate and by ids, and what a delete would do.
    mutating func changes(of client: OracleClient) async throws {
        let open = world.cards.filter { $0.database == "_public" }
        let names = open.map { reference($0, "card") }.joined(separator: ",")
        let set = "\"set\":{\"title\":\"alpha\"}"
        for (exit, action, method, members, done) in [
            (
                "update by predicate", OracleAction.update, "record:update",
                "\(set),\"predicate\":[\"and\"],\"at_most\":1000", "updated"
            ),
            ("update by ids", .update, "record:update", "\(set),\"ids\":[\(names)],\"dry_run\":true", "updated"),
            (
                "delete by predicate", .delete, "record:delete",
                "\"predicate\":[\"and\"],\"at_most\":1000,\"dry_run\":true",
                "deleted"
            ),
        ] {
            let response = try await call(client, method, "{\"record_type\":\"card\",\(members)}")
            guard response["error"] == .null else {
                #expect(response["error"]["code"].integer == 101, "\(response)")
                compare(exit, client, action, open, expecting: [.logIn], found: Set(open.map(\.id)))
                continue
            }
            func listed(_ name: String) -> Set<String> {
                Set(response["result"][name].elements.compactMap { $0.string.map { String($0.dropFirst(5)) } })
            }
            compare(exit, client, action, open, found: listed(done))
            compare(exit + ", denied", client, action, open, expecting: [.denied], found: listed("no_permission"))
            if exit == "update by ids" {
                compare(exit + ", missing", client, action, open, expecting: [.missing], found: listed("not_found"))
            }
        }
    }

    /// Deletes what the caller may delete of some records, and returns the rest.
    mutating func deletes(of client: OracleClient, _ records: [OracleRecord]) async throws -> [OracleRecord] {
        let names = records.map { reference($0, "leaf") }.joined(separator: ",")
        let response = try await call(client, "record:delete", "{\"ids\":[\(names)]}")
        guard response["error"] == .null else {
            #expect(response["error"]["code"].integer == 101)
            compare("delete", client, .delete, records, expecting: [.logIn], found: Set(records.map(\.id)))
            return records
        }
        let outcomes = Array(zip(records, response["result"].elements))
        #expect(outcomes.count == records.count)
        for (code, answer) in [(nil, OracleAnswer.yes), (102, .denied), (110, .missing)] as [(Int?, OracleAnswer)] {
            let found = outcomes.filter { $1["code"].integer == code }.map(\.0.id)
            compare("delete, \(answer)", client, .delete, records, expecting: [answer], found: Set(found))
        }
        return outcomes.filter { $1["code"].integer != nil }.map(\.0)
    }
}
