import SkyrowActions
import SkyrowTestSupport
import Testing

/// The service and the oracle decide the same about single fields, on every way to them.
@Suite(.timeLimit(.minutes(60))) struct OracleFieldTests {
    /// Rules about the field `note`, with every kind of subject.
    private static let rules: [OracleFieldRule] = [
        OracleFieldRule(read: ["owner"], update: ["owner"]),
        OracleFieldRule(read: [], update: []),
        OracleFieldRule(create: [], read: ["owner", "role:role 1", "role:role 2"], update: ["users"]),
        OracleFieldRule(
            create: ["owner"],
            read: ["role:role 3", "role:role 4", "group:golf"],
            update: ["owner", "role:role 5"]
        ),
        OracleFieldRule(create: ["registered"], read: ["users"], update: ["role:role 6", "role:no such role"]),
        OracleFieldRule(create: ["group:chess"], read: ["public"], update: ["registered"]),
        OracleFieldRule(read: ["registered", "owner"], update: ["group:golf", "group:go"]),
        OracleFieldRule(create: ["role:role 7", "role:role 8"], update: ["owner"]),
        OracleFieldRule(read: ["group:bridge", "owner"]),
        OracleFieldRule(read: ["field:members"], update: ["owner", "field:members"]),
        OracleFieldRule(create: ["owner"], read: ["owner", "field:members", "role:role 9"], update: ["field:members"]),
        OracleFieldRule(read: ["owner"], compare: ["users"]),
        OracleFieldRule(read: [], compare: ["role:role 1", "owner", "group:golf"], discover: ["registered"]),
        OracleFieldRule(compare: [], discover: ["users"]),
        OracleFieldRule(read: ["users"], compare: ["field:members"], discover: []),
        OracleFieldRule(create: ["key:tablet"], read: ["key:tablet", "owner"], update: ["key:phone"]),
        OracleFieldRule(read: ["key:phone"], compare: ["key:tablet", "owner"], discover: ["users"]),
        OracleFieldRule(read: ["field:members"], compare: ["owner"], discover: ["group:golf", "role:role 2"]),
    ]

    @Test func theServiceDecidesAboutFieldsAsTheOracleDoes() async throws {
        let storage = try TestFileStorage()
        let files = FileConfiguration(storage: storage, urlPrefix: TestUpload.prefix)
        try await withService(files: files) { service in
            var random = SeededGenerator.forTest()
            let world = try await OracleWorld(service, &random)
            storage.insert(world.files.map(\.name))
            let made = try await service.call(
                "schema:create",
                #"{"record_types":{"card":{"fields":[{"name":"note","type":"string"},{"name":"mark","type":"integer"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(made["error"] == .null, "\(made)")
            var run = OracleFieldRun(run: OracleRun(world: world, seed: random.seed))
            // Reading takes most of the time; in a quick run every second caller does, with the next rule the others.
            let isQuick = seededCases(1) == 1
            for (turn, rule) in ([OracleFieldRule()] + Self.rules).enumerated() {
                // The rule in one of the places that it may be in, and what stands in the others.
                var places = (0..<3).map { _ in
                    Bool.random(using: &random)
                        ? OracleFieldRule() : Self.rules.randomElement(using: &random) ?? OracleFieldRule()
                }
                let place = Int.random(in: 0..<3, using: &random)
                places[place] = rule
                if Bool.random(using: &random) { for nearer in 0..<place { places[nearer] = OracleFieldRule() } }
                try await run.set(places)
                let clients = world.callers.shuffled(using: &random).prefix(4) + world.callers.prefix(2)
                for (number, client) in clients.enumerated() {
                    if !isQuick || (turn + number).isMultiple(of: 2) { try await run.reads(of: client) }
                    try await run.saves(of: client)
                    try await run.creates(of: client)
                    if !isQuick || !(turn + number).isMultiple(of: 2) { try await run.files(of: client) }
                }
                for (number, client) in world.scoped.enumerated()
                where !isQuick || (turn + number).isMultiple(of: 2) {
                    try await run.files(of: client)
                }
            }
            run.run.requireFilesOfAllKinds()
            // Every answer has been given several times: a field that is shown, missing, refused; a change, and one that is refused.
            for answer in OracleFieldRun.Answer.allCases {
                let count = run.answers[answer] ?? 0
                #expect(count > 5, "\(answer): \(run.answers)")
            }
        }
    }
}

/// Asks about the fields of all cards at once, and compares each with the oracle.
struct OracleFieldRun {
    enum Answer: CaseIterable {
        case shown, missing, refusedQuestion, unseenAnswer, answerToKnownValue, changed, refusedChange, created,
            refusedCreation
    }

    private(set) var run: OracleRun
    private var rule = OracleFieldRule()
    /// What holds of the fields of cards with files: `photo` has the rule of `note`, and `scan` only that of every field.
    private var fileRules: [String: OracleFieldRule] = [:]
    private(set) var answers: [Answer: Int] = [:]
    /// Makes each value another one than that before.
    private var number = 0

    init(run: OracleRun) {
        self.run = run
    }

    private var cards: [OracleRecord] { run.world.cards.filter { $0.database == "_public" } }

    /// Sets rules of `note`, `mark` and `photo` in the type, of every field of the type, and of these three in every type.
    mutating func set(_ places: [OracleFieldRule]) async throws {
        rule = OracleFieldRule(places: places)
        fileRules = ["photo": rule, "scan": OracleFieldRule(places: [places[1]])]
        func uses(_ rule: OracleFieldRule) -> [(name: String, allow: Set<String>?)] {
            [
                ("create", rule.create), ("read", rule.read), ("update", rule.update), ("compare", rule.compare),
                ("discover", rule.discover),
            ]
        }
        let ofEveryType = uses(places[2]).flatMap { name, allow in
            ["note", "mark", "photo"].compactMap { field in
                allow.map {
                    "('*', '\(field)', '\(name)', ARRAY[\($0.map { "'\($0)'" }.joined(separator: ","))]::text[])"
                }
            }
        }
        _ = try await run.world.service.database.psql("DELETE FROM app_internal._field_rule WHERE type = '*'")
        if !ofEveryType.isEmpty {
            _ = try await run.world.service.database.psql(
                "INSERT INTO app_internal._field_rule VALUES \(ofEveryType.joined(separator: ", "))"
            )
        }
        let texts = places.prefix(2).map { place in
            let members = uses(place).map { name, allow in
                guard let allow else { return "\"\(name)\":null" }
                let subjects = allow.sorted().map { key in
                    let parts = key.split(separator: ":", maxSplits: 1)
                    return parts.count == 1 ? "{\"\(key)\":true}" : "{\"\(parts[0])\":\"\(parts[1])\"}"
                }
                return "\"\(name)\":[\(subjects.joined(separator: ","))]"
            }
            return "{\(members.joined(separator: ","))}"
        }
        let response = try await run.world.service.call(
            "schema:access:set",
            "{\"record_type\":\"card\",\"fields\":{\"note\":\(texts[0]),\"mark\":\(texts[0]),\"photo\":\(texts[0]),\"*\":\(texts[1])}}",
            key: TestService.masterKey
        )
        guard response["error"] == .null else { throw UnexpectedResponse(response: "\(response)") }
        // A value of each record, whatever was done to it before.
        _ = try await run.world.service.database.psql(
            "UPDATE app.card SET note = 'note of ' || _id, mark = n WHERE _database = '_public'"
        )
    }

    /// Reads and names files, which fields open.
    mutating func files(of client: OracleClient) async throws {
        try await run.files(of: client, fileRules)
    }

    private func readable(_ client: OracleClient) -> [OracleRecord] {
        cards.filter { run.oracle.decide(client.subject, .read, $0).answer == .yes }
    }

    private func expect(_ exit: String, _ client: OracleClient, _ expected: Set<String>, _ found: Set<String>) {
        let wrong = expected.symmetricDifference(found).sorted()
        #expect(wrong.isEmpty, "seed \(run.seed): \(exit) by \(client.subject) under \(rule): \(wrong.prefix(5))")
    }

    private static let note = #"{"$type":"keypath","$val":"note"}"#
    private static let mark = #"{"$type":"keypath","$val":"mark"}"#
    private static let card = #"{"$type":"keypath","$val":"card"}"#
    private static let cardNote = #"{"$type":"keypath","$val":"card.note"}"#

    private func ids(_ elements: [JSONValue], dropping prefix: String) -> Set<String> {
        Set(elements.compactMap { $0["_id"].string.map { String($0.dropFirst(prefix.count)) } })
    }

    mutating func reads(of client: OracleClient) async throws {
        let readable = readable(client)
        let shown = readable.filter { run.oracle.allows(rule.read, client.subject, $0) }
        let (all, seen) = (Set(readable.map(\.id)), Set(shown.map(\.id)))
        answers[.shown, default: 0] += seen.count
        answers[.missing, default: 0] += all.count - seen.count
        let names = cards.map { "\"card/\($0.id)\"" }.joined(separator: ",")
        for (exit, method, parameters) in [
            ("fetch", "record:fetch", "{\"ids\":[\(names)]}"),
            ("query", "record:query", "{\"record_type\":\"card\",\"limit\":1000}"),
        ] {
            let result = try await run.call(client, method, parameters)["result"]
            let records = (exit == "fetch" ? result : result["records"]).elements.filter {
                $0["_type"].string == "record"
            }
            expect(exit, client, all, ids(records, dropping: "card/"))
            for member in ["note", "mark"] {
                expect(
                    "\(member) by \(exit)",
                    client,
                    seen,
                    ids(records.filter { $0[member] != .null }, dropping: "card/")
                )
            }
        }
        let included = try await run.call(
            client,
            "record:query",
            "{\"record_type\":\"holder\",\"limit\":1000,\"include\":{\"card\":\(Self.card)}}"
        )["result"]["records"].elements.map { $0["_transient"]["card"] }.filter { $0["_id"] != .null }
        expect("include", client, all, ids(included, dropping: "card/"))
        expect("note by include", client, seen, ids(included.filter { $0["note"] != .null }, dropping: "card/"))

        let exists = "[\"exists\",\(Self.note),true]"
        number += 1
        let place = number % run.world.cards.count
        let known = run.world.cards[place].id
        for (exit, question, type, parameters) in [
            ("predicate", .any, "card", "\"predicate\":\(exists)"),
            ("count", .any, "card", "\"predicate\":[\"like\",\(Self.note),\"note of %\"],\"count\":true"),
            (
                "sort", .computed, "card",
                "\"predicate\":[\"gte\",\(Self.mark),0],\"sort\":[[\(Self.mark),\"desc\"]]"
            ),
            ("key path", .any, "holder", "\"predicate\":[\"starts_with\",\(Self.cardNote),\"note of \"]"),
            (
                "in_query", .any, "holder",
                "\"predicate\":[\"in_query\",\(Self.card),{\"record_type\":\"card\",\"predicate\":\(exists)}]"
            ),
            ("match", .any, "card", "\"predicate\":[\"match\",\(Self.note),\"note\"]"),
            ("eq", .known, "card", "\"predicate\":[\"eq\",\(Self.mark),\(place)]"),
            ("in", .known, "card", "\"predicate\":[\"in\",\(Self.mark),[\(place)]]"),
        ] as [(String, OracleQuestion, String, String)] {
            let isAsked = run.oracle.mayAsk(rule, question, client.subject)
            let response = try await run.call(
                client,
                "record:query",
                "{\"record_type\":\"\(type)\",\"limit\":1000,\(parameters)}"
            )
            #expect(
                (response["error"]["code"].integer == 124) == !isAsked,
                "\(exit) by \(client.subject) \(rule) \(response["error"])"
            )
            guard isAsked else {
                answers[.refusedQuestion, default: 0] += 1
                continue
            }
            // The order of a field that is not seen is that of no value.
            let asking = question == .computed ? OracleQuestion.any : question
            let found = Set(
                readable.filter {
                    run.oracle.asks(rule, asking, client.subject, $0) && (question != .known || $0.id == known)
                }.map(\.id)
            )
            let records = response["result"]["records"].elements
            expect(exit, client, found, ids(records, dropping: type == "card" ? "card/" : "holder/of-"))
            answers[.unseenAnswer, default: 0] += found.subtracting(seen).count
            if question == .known { answers[.answerToKnownValue, default: 0] += found.count }
            for record in records
            where type == "card" && !seen.contains(String(record["_id"].string?.dropFirst(5) ?? "")) {
                #expect(record["note"] == .null && record["mark"] == .null, "\(exit) by \(client.subject) \(rule)")
            }
            if exit == "count" { #expect(response["result"]["info"]["count"].integer == found.count) }
            if exit == "sort" {
                let order = records.compactMap { $0["mark"].integer }
                #expect(order == order.sorted(by: >) && order.count == found.intersection(seen).count)
            }
        }
        let aggregate = try await run.call(
            client,
            "record:aggregate",
            "{\"record_type\":\"card\",\"aggregates\":{\"n\":[\"count\",\(Self.note)],\"sum\":[\"sum\",\(Self.mark)]}}"
        )
        let isAsked = run.oracle.mayAsk(rule, .computed, client.subject)
        #expect((aggregate["error"]["code"].integer == 124) == !isAsked)
        if isAsked {
            let counted = Set(readable.filter { run.oracle.asks(rule, .computed, client.subject, $0) }.map(\.id))
            let places = Dictionary(uniqueKeysWithValues: run.world.cards.enumerated().map { ($1.id, $0) })
            let sum = counted.reduce(0) { $0 + (places[$1] ?? 0) }
            let group = aggregate["result"]["groups"][0]
            #expect(
                group["n"].integer == counted.count && group["sum"].integer ?? 0 == sum,
                "\(client.subject) \(rule)"
            )
        }
    }

    /// Saves another note into each card, which changes it where both the record and the field are open.
    mutating func saves(of client: OracleClient) async throws {
        guard client.subject.user != nil || client.subject.isMaster else { return }
        number += 1
        let drafts = cards.map { "{\"_id\":\"card/\($0.id)\",\"note\":\"note of \(number)\"}" }.joined(separator: ",")
        let outcomes = try await run.call(client, "record:save", "{\"records\":[\(drafts)]}")["result"].elements
        #expect(outcomes.count == cards.count)
        var changed: Set<String> = []
        for (card, outcome) in zip(cards, outcomes) {
            let isOpen = run.oracle.decide(client.subject, .update, card).answer == .yes
            let isAllowed = isOpen && run.oracle.allows(rule.update, client.subject, card)
            let code = outcome["code"].integer
            #expect(
                code == (isAllowed ? nil : isOpen ? 123 : 102),
                "seed \(run.seed): save of \(card) by \(client.subject) under \(rule): \(outcome)"
            )
            if isOpen { answers[isAllowed ? .changed : .refusedChange, default: 0] += 1 }
            if isAllowed {
                changed.insert(card.id)
                let isShown = run.oracle.allows(rule.read, client.subject, card)
                #expect((outcome["note"] != .null) == isShown, "\(client.subject) \(rule) \(outcome)")
            } else if isOpen {
                #expect(outcome["info"]["arguments"].elements.compactMap(\.string) == ["note"])
            }
        }
        let stored = try await run.world.service.database.psql(
            "SELECT coalesce(string_agg(_id, ' ' ORDER BY _id), '') FROM app.card WHERE note = 'note of \(number)'"
        )
        expect("stored", client, changed, Set(stored.split(separator: " ").map(String.init)))
        // By a predicate the same are left alone.
        let response = try await run.call(
            client,
            "record:update",
            "{\"record_type\":\"card\",\"predicate\":[\"and\"],\"at_most\":1000,\"dry_run\":true,\"set\":{\"note\":\"other\"}}"
        )
        let updated = response["result"]["updated"].elements.compactMap { $0.string.map { String($0.dropFirst(5)) } }
        expect("update by predicate", client, changed, Set(updated))
    }

    /// Makes a card with a note, and one without.
    mutating func creates(of client: OracleClient) async throws {
        guard client.subject.user != nil || client.subject.isMaster else { return }
        number += 1
        let new = OracleRecord(id: "new", owner: client.subject.user)
        let isAllowed = run.oracle.allows(rule.create, client.subject, new)
        let records =
            #"{"_id":"leaf/f\#(number)"},{"_id":"card/f\#(number)","note":"x"},{"_id":"card/g\#(number)","note":null}"#
        let outcomes = try await run.call(client, "record:save", "{\"records\":[\(records)]}")["result"].elements
        #expect(outcomes.count == 3 && outcomes[0]["code"] == .null && outcomes[2]["code"] == .null, "\(outcomes)")
        #expect(outcomes[1]["code"].integer == (isAllowed ? nil : 123), "\(client.subject) \(rule) \(outcomes[1])")
        answers[isAllowed ? .created : .refusedCreation, default: 0] += 1
        _ = try await run.world.service.database.psql(
            "DELETE FROM app.card WHERE _id IN ('f\(number)', 'g\(number)'); DELETE FROM app.leaf WHERE _id = 'f\(number)'"
        )
    }
}
