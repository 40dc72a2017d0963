import SkyrowTestSupport

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
    let cardsByID: [String: OracleRecord]
    /// Records to delete.
    let leaves: [OracleRecord]
    /// Files, in fields of these records.
    let files: [OracleFile]
    /// Callers with keys that are limited to one type.
    let scoped: [OracleClient]

    static let roles = (0..<60).map { "role \($0)" }
    static let groups = ["golf", "chess", "bridge", "go"]
    static let listReaders = ["owner", "update", "read"]
    static let relations = ["relation:friend", "relation:follower", "relation:followed"]
    static let keys = ["tablet", "phone"]
    /// What opens some records to some callers, whatever chance says.
    static let counted = relations + ["registered", "verified", "key:tablet"]

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
        [
            .read: OracleRule(allow: ["group:golf", "group:go"], mode: "override"),
            .update: OracleRule(allow: ["group:golf"], mode: "require"),
            .delete: OracleRule(allow: ["registered"], mode: "override"),
        ],
        [
            .read: OracleRule(allow: ["registered"], mode: "require"),
            .update: OracleRule(allow: ["group:chess", "owner"]),
            .delete: OracleRule(allow: ["registered", "group:none"], mode: "require"),
        ],
        [
            .read: OracleRule(allow: ["verified", "group:golf"]),
            .update: OracleRule(allow: ["verified"], mode: "require"),
            .delete: OracleRule(allow: ["verified"], mode: "override"),
        ],
        [
            .read: OracleRule(allow: ["key:tablet", "role:role 12"], mode: "override"),
            .update: OracleRule(allow: ["key:tablet"], mode: "require"),
            .delete: OracleRule(allow: ["key:tablet", "key:none"]),
        ],
        [
            .read: OracleRule(allow: ["key:phone", "users"], mode: "require"),
            .update: OracleRule(allow: ["key:phone"], mode: "override"),
            .delete: OracleRule(allow: ["key:phone", "owner"], mode: "require"),
        ],
    ]
    private static let userCount = 14

    init(_ service: TestService, _ random: inout SeededGenerator) async throws {
        self.service = service
        let types = """
            {"record_types": {
              "card": {"fields": [{"name": "n", "type": "integer"}, {"name": "title", "type": "string"},
                {"name": "members", "type": "array(string)"}, {"name": "photo", "type": "asset"},
                {"name": "scan", "type": "asset"}]},
              "leaf": {"fields": [{"name": "n", "type": "integer"}, {"name": "cover", "type": "asset"}]},
              "holder": {"fields": [{"name": "card", "type": "ref(card)"}, {"name": "deck", "type": "relation(card)"},
                {"name": "cards", "type": "array(ref(card))"}]}}}
            """
        let made = try await service.call("schema:create", types, key: TestService.masterKey)
        guard made["error"] == .null else { throw UnexpectedResponse(response: "\(made)") }
        _ = try await service.database.psql(
            "INSERT INTO app_internal._role (name) VALUES " + Self.roles.map { "('\($0)')" }.joined(separator: ", ")
        )
        // A role is put into later ones only, so that there is no circle; a chain of seven and some of chance.
        var nesting: [(inner: String, outer: String)] = (0..<6).map { (Self.roles[$0], Self.roles[$0 + 1]) }
        while nesting.count < 30 {
            let (a, b) = (Int.random(in: 7..<60, using: &random), Int.random(in: 7..<60, using: &random))
            let step = (inner: Self.roles[min(a, b)], outer: Self.roles[max(a, b)])
            if a != b, !nesting.contains(where: { $0 == step }) { nesting.append(step) }
        }
        _ = try await service.database.psql(
            "INSERT INTO app_internal._role_role (member, role) VALUES "
                + nesting.map { "('\($0.inner)', '\($0.outer)')" }.joined(separator: ", ")
        )
        var texts: [String] = []
        for name in Self.keys {
            let made = try await service.call("key:create", "{\"name\":\"\(name)\"}", key: TestService.masterKey)
            guard let text = made["result"]["key"].string else { throw UnexpectedResponse(response: "\(made)") }
            texts.append(text)
        }
        var callers = [
            OracleClient(subject: OracleCaller()),
            OracleClient(subject: OracleCaller(isMaster: true), key: TestService.masterKey),
        ]
        for (name, text) in zip(Self.keys, texts) {
            callers.append(OracleClient(subject: OracleCaller(keyName: name), key: text))
        }
        let sizes = [0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 30, 50, 60]
        for number in 0..<Self.userCount {
            let (id, _) = try await service.signUp("user\(number)")
            let roles = Array(Self.roles.shuffled(using: &random).prefix(sizes[number]))
            if !roles.isEmpty {
                _ = try await service.database.psql(
                    "INSERT INTO app_internal._user_role (user_id, role) VALUES "
                        + roles.map { "('\(id)', '\($0)')" }.joined(separator: ", ")
                )
            }
            let groups = Array(Self.groups.shuffled(using: &random).prefix(number % 4))
            if !groups.isEmpty {
                _ = try await service.database.psql(
                    "INSERT INTO app_internal._user_group (user_id, name) VALUES "
                        + groups.map { "('\(id)', '\($0)')" }.joined(separator: ", ")
                )
            }
            if number % 2 == 1 {
                // Of some the address is another one than that which was proved.
                let address = "user\(number)@example.org"
                let proved = number % 4 == 1 ? address : "former\(number)@example.org"
                _ = try await service.database.psql(
                    """
                    UPDATE app."user" SET email = '\(address)' WHERE _id = '\(id)';
                    UPDATE app_internal._user SET verified_email = '\(proved)' WHERE id = '\(id)'
                    """
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
            // Every third one by the one key, every third one by the other.
            let place = number % 3
            callers.append(
                OracleClient(
                    subject: OracleCaller(
                        user: id,
                        roles: Set(roles),
                        groups: Set(groups),
                        keyName: place < 2 ? Self.keys[place] : nil,
                        isVerified: number % 4 == 1
                    ),
                    key: place < 2 ? texts[place] : TestService.apiKey,
                    token: token
                )
            )
        }
        for _ in 0..<2 {
            let made = try await service.call("auth:signup", "{}")["result"]
            guard let id = made["user_id"].string, let token = made["access_token"].string else {
                throw UnexpectedResponse(response: "\(made)")
            }
            callers.append(OracleClient(subject: OracleCaller(user: id, isAnonymous: true), token: token))
        }
        self.callers = callers
        scoped = try await Self.scopedClients(of: service, callers)
        let users = callers.compactMap(\.subject.user)
        func edges(_ name: String) async throws -> Set<OracleEdge> {
            let pairs = users.flatMap { from in users.filter { $0 != from }.map { OracleEdge(from: from, to: $0) } }
            let edges = Set(pairs.shuffled(using: &random).prefix(name == "friend" ? 150 : 80))
            let rows = edges.map { "('\($0.from)', '\(name)', '\($0.to)')" }.joined(separator: ", ")
            _ = try await service.database.psql(
                "INSERT INTO app_internal._relation (user_id, name, other_id) VALUES \(rows)"
            )
            return edges
        }
        let friends = try await edges("friend")
        let follows = try await edges("follow")
        oracle = AccessOracle(
            users: Set(users),
            roles: Set(Self.roles),
            groups: Set(callers.flatMap(\.subject.groups)),
            keys: Set(Self.keys),
            nesting: nesting,
            friends: friends,
            follows: follows
        )
        var cards = (0..<420).map { Self.record("c\($0)", users, privately: $0 % 7 == 0, &random) }
        // Each of these with each level at least once, whatever chance says.
        let keys = Self.counted
        let levels = ["read", "update", "delete", "write"]
        let places = cards.indices.filter { cards[$0].database == "_public" }.prefix(keys.count * levels.count)
        for (number, place) in places.enumerated() {
            cards[place].owner = users[number % users.count]
            cards[place].list = [keys[number % keys.count]: levels[number / keys.count]]
        }
        var leaves = (0..<120).map { Self.record("l\($0)", users, privately: false, &random) }
        // Without a change to the numbers that follow.
        var chance = SeededGenerator(seed: random.seed &+ 1)
        files = Self.files(of: users, &chance)
        Self.put(files, into: &cards, as: "photo", of: 4, &chance)
        Self.put(files, into: &cards, as: "scan", of: 1, &chance)
        Self.put(files, into: &leaves, as: "cover", of: 2, &chance)
        self.cards = cards
        cardsByID = Dictionary(uniqueKeysWithValues: cards.map { ($0.id, $0) })
        self.leaves = leaves
        try await insert(cards, into: "card")
        try await insert(leaves, into: "leaf")
        try await insertFiles()
        _ = try await service.database.psql(
            """
            SET search_path = app, app_internal;
            INSERT INTO holder (_id, card) SELECT 'of-' || _id, _id FROM card WHERE _database = '_public';
            INSERT INTO holder (_id, cards) SELECT 'all', array_agg(_id ORDER BY n) FROM card WHERE _database = '_public';
            INSERT INTO "holder.deck" (_from, _to) SELECT 'all', _id FROM card WHERE _database = '_public';
            ANALYZE card; ANALYZE holder
            """
        )
        // The types have entries about relations from now on, which the service hears of; a rule that is set and taken away makes
        // it look at once.
        for type in ["card", "leaf"] {
            let parameters = "{\"record_type\":\"\(type)\",\"rules\":{}}"
            _ = try await service.call("schema:access:set", parameters, key: TestService.masterKey)
        }
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
        case 5: ["group:none", "relation:enemy", "odd", "key:none", "key:Tablet"].randomElement(using: &random) ?? ""
        case 6: counted.randomElement(using: &random) ?? ""
        case 7: "group:" + (groups.randomElement(using: &random) ?? "")
        case 8: "key:" + (keys.randomElement(using: &random) ?? "")
        case 9..<11: "user:" + (users.randomElement(using: &random) ?? "")
        default: "role:" + (roles.randomElement(using: &random) ?? "")
        }
    }

    /// The cards where each that is public has the owner and the list of the one that is so many places behind it among these.
    static func moved(_ cards: [OracleRecord], by distance: Int) -> [OracleRecord] {
        let places = cards.indices.filter { cards[$0].database == "_public" }
        var moved = cards
        for (number, place) in places.enumerated() {
            let other = cards[places[(number + distance + places.count) % places.count]]
            moved[place].owner = other.owner
            moved[place].list = other.list
        }
        return moved
    }

    /// The same in the database, in one transaction, which changes the titles of all cards too.
    static func move(by distance: Int, in service: TestService) async throws {
        _ = try await service.database.psql(
            """
            WITH place AS (
                SELECT _id, _owner, _access, row_number() OVER (ORDER BY n) - 1 AS number, count(*) OVER () AS total
                FROM app.card WHERE _database = '_public'
            )
            UPDATE app.card SET _owner = other._owner, _access = other._access,
                title = CASE WHEN card.title = 'alpha' THEN 'beta' ELSE 'alpha' END
            FROM place JOIN place AS other ON other.number = (place.number + \(distance) + place.total) % place.total
            WHERE card._id = place._id
            """
        )
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
