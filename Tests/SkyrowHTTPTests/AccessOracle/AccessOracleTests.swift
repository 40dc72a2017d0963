import SkyrowTestSupport
import Testing

/// The service and the oracle decide the same about every record, on every way to it.
@Suite(.timeLimit(.minutes(20))) struct AccessOracleTests {
    @Test func theServiceDecidesAsTheOracleDoes() async throws {
        try await withService { service in
            var random = SeededGenerator.forTest()
            let world = try await OracleWorld(service, &random)
            var run = OracleRun(world: world, seed: random.seed)
            for caller in world.callers {
                try await run.reads(of: caller)
                try await run.privateReads(of: caller)
                try await run.saves(of: caller)
                try await run.changes(of: caller)
            }
            for rules in OracleWorld.rules {
                try await run.set(rules)
                for caller in world.callers.shuffled(using: &random).prefix(5) + world.callers.prefix(1) {
                    try await run.reads(of: caller)
                    try await run.privateReads(of: caller)
                    try await run.saves(of: caller)
                    try await run.changes(of: caller)
                }
            }
            try await run.set([:])
            var rest = world.leaves
            for caller in world.callers.shuffled(using: &random) where !caller.subject.isMaster {
                rest = try await run.deletes(of: caller, rest)
            }
            #expect(run.cases >= 100_000, "\(run.cases)")
            #expect(rest.count < world.leaves.count)
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
            nesting: [("middle", "outer"), ("inner", "middle")]
        )
        let record = OracleRecord(id: "1", owner: "ann", list: list)
        #expect(oracle.decide(caller, action, record).answer == answer)
    }
}

/// A caller and the credentials that it sends.
struct OracleClient {
    var subject: OracleCaller
    var key: String? = TestService.apiKey
    var token: String?
}

/// Records with all kinds of lists, and callers with all kinds of roles and groups.
struct OracleWorld {
    let service: TestService
    let oracle: AccessOracle
    let callers: [OracleClient]
    /// Records that others refer to: never deleted.
    let cards: [OracleRecord]
    /// Records to delete.
    let leaves: [OracleRecord]

    static let roles = (0..<60).map { "role \($0)" }
    static let groups = ["golf", "chess", "bridge", "go"]

    /// Rules of every mode, about every kind of subject.
    static let rules: [[OracleAction: OracleRule]] = [
        [.read: OracleRule(allow: []), .update: OracleRule(allow: ["users"], mode: "override")],
        [
            .read: OracleRule(allow: ["role:role 1", "role:role 2", "role:role 3", "owner"], mode: "override"),
            .update: OracleRule(allow: ["users"], mode: "override"),
            .delete: OracleRule(allow: ["public"], mode: "override"),
        ],
        [
            .read: OracleRule(allow: ["users", "role:role 4"], mode: "require"),
            .update: OracleRule(allow: ["owner", "field:members"], mode: "require"),
            .delete: OracleRule(allow: ["role:role 5", "role:role 6", "role:role 7"], mode: "require"),
        ],
        [
            .read: OracleRule(allow: ["role:role 8", "field:members"]),
            .update: OracleRule(allow: ["role:role 9", "field:members"]), .delete: OracleRule(allow: []),
        ],
        [
            .read: OracleRule(allow: ["public"], mode: "override"), .update: OracleRule(allow: [], mode: "override"),
            .delete: OracleRule(allow: ["field:members"], mode: "override"),
        ],
        [
            .read: OracleRule(allow: ["field:members", "role:role 10"], mode: "require"),
            .update: OracleRule(allow: ["owner", "role:role 11"], mode: "override"),
            .delete: OracleRule(allow: ["public"], mode: "require"),
        ],
        [.read: OracleRule(allow: ["public"], mode: "require"), .update: OracleRule(allow: ["users"])],
    ]
    private static let userCount = 14

    init(_ service: TestService, _ random: inout SeededGenerator) async throws {
        self.service = service
        let types = """
            {"record_types": {
              "card": {"fields": [{"name": "n", "type": "integer"}, {"name": "title", "type": "string"},
                {"name": "members", "type": "array(string)"}]},
              "leaf": {"fields": [{"name": "n", "type": "integer"}]},
              "holder": {"fields": [{"name": "card", "type": "ref(card)"}, {"name": "deck", "type": "relation(card)"},
                {"name": "cards", "type": "array(ref(card))"}]}}}
            """
        let made = try await service.call("schema:create", types, key: TestService.masterKey)
        guard made["error"] == .null else { throw UnexpectedResponse(response: "\(made)") }
        _ = try await service.database.psql(
            "INSERT INTO app._role (name) VALUES " + Self.roles.map { "('\($0)')" }.joined(separator: ", ")
        )
        // A role is put into later ones only, so that there is no circle; a chain of seven and some of chance.
        var nesting: [(inner: String, outer: String)] = (0..<6).map { (Self.roles[$0], Self.roles[$0 + 1]) }
        while nesting.count < 30 {
            let (a, b) = (Int.random(in: 7..<60, using: &random), Int.random(in: 7..<60, using: &random))
            let step = (inner: Self.roles[min(a, b)], outer: Self.roles[max(a, b)])
            if a != b, !nesting.contains(where: { $0 == step }) { nesting.append(step) }
        }
        _ = try await service.database.psql(
            "INSERT INTO app._role_role (member, role) VALUES "
                + nesting.map { "('\($0.inner)', '\($0.outer)')" }.joined(separator: ", ")
        )
        var callers = [
            OracleClient(subject: OracleCaller()),
            OracleClient(subject: OracleCaller(isMaster: true), key: TestService.masterKey),
        ]
        let sizes = [0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 30, 50, 60]
        for number in 0..<Self.userCount {
            let (id, _) = try await service.signUp("user\(number)")
            let roles = Array(Self.roles.shuffled(using: &random).prefix(sizes[number]))
            if !roles.isEmpty {
                _ = try await service.database.psql(
                    "INSERT INTO app._user_role (user_id, role) VALUES "
                        + roles.map { "('\(id)', '\($0)')" }.joined(separator: ", ")
                )
            }
            let groups = Array(Self.groups.shuffled(using: &random).prefix(number % 4))
            if !groups.isEmpty {
                _ = try await service.database.psql(
                    "INSERT INTO app._user_group (user_id, name) VALUES "
                        + groups.map { "('\(id)', '\($0)')" }.joined(separator: ", ")
                )
            }
            // A new session, of which nothing is known from before it had roles.
            let login = try await service.call(
                "auth:login",
                #"{"auth_data":{"username":"user\#(number)"},"password":"a long secret"}"#
            )
            guard let token = login["result"]["access_token"].string else {
                throw UnexpectedResponse(response: "\(login)")
            }
            callers.append(
                OracleClient(subject: OracleCaller(user: id, roles: Set(roles), groups: Set(groups)), token: token)
            )
        }
        self.callers = callers
        let users = callers.compactMap(\.subject.user)
        oracle = AccessOracle(
            users: Set(users),
            roles: Set(Self.roles),
            groups: Set(callers.flatMap(\.subject.groups)),
            nesting: nesting
        )
        cards = (0..<420).map { Self.record("c\($0)", users, privately: $0 % 7 == 0, &random) }
        leaves = (0..<120).map { Self.record("l\($0)", users, privately: false, &random) }
        try await insert(cards, into: "card")
        try await insert(leaves, into: "leaf")
        _ = try await service.database.psql(
            """
            SET search_path = app;
            INSERT INTO holder (_id, card) SELECT 'of-' || _id, _id FROM card WHERE _database = '_public';
            INSERT INTO holder (_id, cards) SELECT 'all', array_agg(_id ORDER BY n) FROM card WHERE _database = '_public';
            INSERT INTO "holder.deck" (_from, _to) SELECT 'all', _id FROM card WHERE _database = '_public';
            ANALYZE card; ANALYZE holder
            """
        )
    }

    private static func record(
        _ id: String,
        _ users: [String],
        privately: Bool,
        _ random: inout SeededGenerator
    ) -> OracleRecord {
        var record = OracleRecord(id: id)
        if privately, let user = users.randomElement(using: &random) { record.database = user }
        if Int.random(in: 0..<5, using: &random) > 0 { record.owner = users.randomElement(using: &random) }
        if Int.random(in: 0..<40, using: &random) == 0 { record.owner = "ghost" }
        record.members = Set(users.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random)))
        guard Int.random(in: 0..<5, using: &random) > 0 else { return record }
        let count = Int.random(in: 0...5, using: &random)
        var list: [String: String] = [:]
        for _ in 0..<count {
            let level = ["read", "read", "update", "delete", "write"].randomElement(using: &random)
            list[subject(users, &random)] = level
        }
        record.list = list
        return record
    }

    private static func subject(_ users: [String], _ random: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1: "public"
        case 2: "users"
        case 3: "owner"
        case 4: ["role:no such role", "user:ghost", "role:", "role:Role 1"].randomElement(using: &random) ?? ""
        case 5: ["group:none", "registered", "verified", "relation:friend", "odd"].randomElement(using: &random) ?? ""
        case 6, 7: "group:" + (groups.randomElement(using: &random) ?? "")
        case 8..<11: "user:" + (users.randomElement(using: &random) ?? "")
        default: "role:" + (roles.randomElement(using: &random) ?? "")
        }
    }

    private func insert(_ records: [OracleRecord], into type: String) async throws {
        let rows = records.enumerated().map { number, record in
            let id = record.database == "_public" ? record.id : "~\(record.database)/\(record.id)"
            let owner = record.owner.map { "'\($0)'" } ?? "NULL"
            let list = record.list.map { list in
                "'{" + list.map { "\"\($0.key)\": \"\($0.value)\"" }.joined(separator: ", ") + "}'"
            }
            return "('\(id)', '\(record.database)', \(owner), \(list ?? "NULL"), \(number))"
        }
        _ = try await service.database.psql(
            """
            INSERT INTO app.\(type) (_id, _database, _owner, _access, n) VALUES \(rows.joined(separator: ",\n"));
            """
        )
        guard type == "card" else { return }
        let members = records.enumerated().map { number, record in
            "(\(number), ARRAY[\(record.members.sorted().map { "'\($0)'" }.joined(separator: ", "))]::text[])"
        }
        _ = try await service.database.psql(
            """
            UPDATE app.card SET title = 'alpha number ' || card.n, members = one.members
            FROM (VALUES \(members.joined(separator: ",\n"))) AS one (n, members) WHERE one.n = card.n
            """
        )
    }
}

/// Asks the service about all records at once, on one way after the other, and compares each with the oracle.
struct OracleRun {
    private let world: OracleWorld
    private var oracle: AccessOracle
    let seed: UInt64
    private(set) var cases = 0
    /// How often each row gave each answer.
    private(set) var asked: [OracleDecision: Int] = [:]

    init(world: OracleWorld, seed: UInt64) {
        self.world = world
        self.seed = seed
        oracle = world.oracle
    }

    /// Gives the cards other rules.
    mutating func set(_ rules: [OracleAction: OracleRule]) async throws {
        oracle.rules = rules
        let members = [("read", OracleAction.read), ("update", .update), ("delete", .delete)].map { name, action in
            guard let rule = rules[action] else { return "\"\(name)\":null" }
            let subjects = rule.allow.sorted().map { key in
                let parts = key.split(separator: ":", maxSplits: 1)
                return parts.count == 1 ? "{\"\(key)\":true}" : "{\"\(parts[0])\":\"\(parts[1])\"}"
            }
            return "\"\(name)\":{\"allow\":[\(subjects.joined(separator: ","))],\"mode\":\"\(rule.mode)\"}"
        }
        let response = try await world.service.call(
            "schema:access:set",
            "{\"record_type\":\"card\",\"rules\":{\(members.joined(separator: ","))}}",
            key: TestService.masterKey
        )
        guard response["error"] == .null else { throw UnexpectedResponse(response: "\(response)") }
    }

    private func call(_ client: OracleClient, _ method: String, _ parameters: String) async throws -> JSONValue {
        try await world.service.call(method, parameters, key: client.key, token: client.token)
    }

    /// Compares what was found with what the caller may see of the records.
    private mutating func compare(
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

    private func ids(_ response: JSONValue, dropping prefix: String) -> Set<String> {
        Set(
            response["result"]["records"].elements.compactMap {
                $0["_id"].string.map { String($0.dropFirst(prefix.count)) }
            }
        )
    }

    private func reference(_ record: OracleRecord, _ type: String) -> String { "\"\(type)/\(record.id)\"" }

    // MARK: Reading

    private static let title = #"{"$type":"keypath","$val":"title"}"#
    private static let number = #"{"$type":"keypath","$val":"n"}"#
    private static let card = #"{"$type":"keypath","$val":"card"}"#
    private static let cardNumber = #"{"$type":"keypath","$val":"card.n"}"#

    mutating func reads(of client: OracleClient) async throws {
        let cards = world.cards
        let open = cards.filter { $0.database == "_public" }
        let names = cards.map { reference($0, "card") }.joined(separator: ",")
        let fetched = try await call(client, "record:fetch", "{\"ids\":[\(names)]}")["result"].elements
        #expect(fetched.count == cards.count)
        let seen = zip(cards, fetched).filter { $1["_type"].string == "record" }.map(\.0.id)
        #expect(fetched.filter { $0["_type"].string == "error" }.allSatisfy { $0["code"].integer == 110 })
        compare("fetch", client, .read, cards, found: Set(seen))

        for (exit, query) in [
            ("query", "{\"record_type\":\"card\",\"limit\":1000}"),
            ("match", "{\"record_type\":\"card\",\"limit\":1000,\"predicate\":[\"match\",\(Self.title),\"alpha\"]}"),
            (
                "related_to",
                "{\"record_type\":\"card\",\"limit\":1000,\"predicate\":[\"related_to\",{\"$type\":\"ref\",\"$id\":\"holder/all\"},\"deck\"]}"
            ),
        ] {
            let found = ids(try await call(client, "record:query", query), dropping: "card/")
            compare(exit, client, .read, cards, found: found)
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
        let holders = included["result"]["records"].elements
        #expect(holders.count == open.count + 1)
        compare(
            "include",
            client,
            .read,
            open,
            found: Set(
                holders.compactMap { holder in
                    holder["_transient"]["card"]["_id"].string.map { String($0.dropFirst(5)) }
                }
            )
        )
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
