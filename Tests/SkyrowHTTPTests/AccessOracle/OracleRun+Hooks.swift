import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

/// The hooks of the type `pact`, whose records have the numbers, owners and lists of the cards.
enum OracleHooks {
    static let triggers: [HookTrigger] = [.beforeSave, .afterSave, .beforeDelete, .afterFetch]
    /// The hook before a save refuses the records whose numbers are multiples of this one.
    static let refused = 7
    /// The hook after a fetch drops the records whose numbers are multiples of this one.
    static let dropped = 5
    static let refusal = SkyrowError(ErrorCode(rawValue: 20_001), "Not today.")

    static func registration() throws -> FunctionRegistration {
        var registration = FunctionRegistration(dialect: .skyrow)
        for trigger in triggers {
            var hook = HookDescription(trigger.rawValue, trigger, on: try RecordTypeName("pact"))
            hook.batch = 100
            registration.hooks.append(hook)
        }
        return registration
    }

    /// A runner that refuses and drops some records, changes the titles of the others, refuses every delete, and fails after every
    /// save.
    static func runner() throws -> ScriptedFunctions {
        let (number, title) = (try FieldName("n"), try FieldName("title"))
        return ScriptedFunctions { call in
            guard case .hook(let hook, .records(let records)) = call.content else { return .nothing }
            return .records(
                records.map { hooked in
                    guard case .integer(let place)? = hooked.record.fields[number] else { return .dropped }
                    return verdict(of: hook.trigger, on: place, title)
                }
            )
        }
    }

    private static func verdict(of trigger: HookTrigger, on place: Int64, _ title: FieldName) -> HookVerdict {
        switch trigger {
        case .beforeSave:
            place.isMultiple(of: Int64(refused))
                ? .refused(refusal) : .accepted(set: [title: .string("hooked")], access: nil)
        case .afterFetch:
            place.isMultiple(of: Int64(dropped)) ? .dropped : .accepted(set: [title: .string("seen")], access: nil)
        default: .refused(refusal)
        }
    }
}

extension OracleRun {
    /// Fetches, queries, saves and deletes records with hooks. Their callers learn what they learn of cards, which have none, and
    /// the hooks get only what their callers may read, change or delete.
    mutating func hooks(of client: OracleClient, _ runner: ScriptedFunctions) async throws {
        try await hookedFetch(of: client, runner)
        try await hookedQuery(of: client, runner)
        try await hookedSaves(of: client, runner)
        try await hookedDeletes(of: client, runner)
    }

    /// Expects that each hook got records.
    func requireHooksOfAllKinds() {
        for trigger in OracleHooks.triggers {
            let count = hookedRecords[trigger] ?? 0
            #expect(count > 100, "\(trigger): \(count)")
        }
    }

    // MARK: Reading

    private mutating func hookedFetch(of client: OracleClient, _ runner: ScriptedFunctions) async throws {
        let cards = world.cards
        let plain = try await fetch("card", client)
        _ = runner.take()
        let fetched = try await fetch("pact", client)
        compareCalls([.afterFetch], runner.take(), client, .read, cards)
        let shown = zip(cards, fetched).filter { $1["_type"].string == "record" }
        compareLists("hooked fetch", client, fetched)
        compare("hooked fetch", client, .read, kept(cards, .afterFetch), found: Set(shown.map(\.0.id)))
        #expect(shown.allSatisfy { $1["title"].string == "seen" })
        // What a hook drops, what the caller may not read and what does not exist look the same, as without hooks.
        let missing = Self.said(plain.last ?? .null)
        #expect(missing.first?.integer == 110)
        let errors = fetched.filter { $0["_type"].string == "error" }
        #expect(errors.count == fetched.count - shown.count && errors.allSatisfy { Self.said($0) == missing })
    }

    /// Fetches all records of a type, and one that does not exist.
    private func fetch(_ type: String, _ client: OracleClient) async throws -> [JSONValue] {
        let names = (world.cards.map(\.id) + ["never"]).map { "\"\(type)/\($0)\"" }.joined(separator: ",")
        return try await call(client, "record:fetch", "{\"ids\":[\(names)]}")["result"].elements
    }

    private mutating func hookedQuery(of client: OracleClient, _ runner: ScriptedFunctions) async throws {
        let cards = world.cards
        let response = try await call(
            client,
            "record:query",
            "{\"record_type\":\"pact\",\"limit\":1000,\"count\":true}"
        )
        compareCalls([.afterFetch], runner.take(), client, .read, cards)
        let shown = response["result"]["records"].elements
        compareLists("hooked query", client, shown)
        compare(
            "hooked query",
            client,
            .read,
            kept(cards, .afterFetch),
            found: ids(response, dropping: "pact/")
        )
        #expect(shown.allSatisfy { $0["title"].string == "seen" })
        let readable = cards.filter { oracle.decide(client.subject, .read, $0).answer == .yes }
        #expect(response["result"]["info"]["count"].integer == readable.count)
    }

    // MARK: Writing

    private mutating func hookedSaves(of client: OracleClient, _ runner: ScriptedFunctions) async throws {
        let open = world.cards.filter { $0.database == "_public" }
        let plain = try await save("card", open, client)
        _ = runner.take()
        let response = try await save("pact", open, client)
        let calls = runner.take()
        compareCalls([.beforeSave], calls, client, .update, open)
        compareCalls([.afterSave], calls, client, .update, kept(open, .beforeSave))
        guard response["error"] == .null else {
            #expect(Self.said(response["error"]) == Self.said(plain["error"]))
            compare("hooked save", client, .update, open, expecting: [.logIn], found: Set(open.map(\.id)))
            return
        }
        let outcomes = Array(zip(open, response["result"].elements))
        #expect(outcomes.count == open.count)
        compareLists("hooked save", client, outcomes.map(\.1))
        let saved = outcomes.filter { $1["_type"].string == "record" }
        compare("hooked save", client, .update, kept(open, .beforeSave), found: Set(saved.map(\.0.id)))
        #expect(saved.allSatisfy { $1["title"].string == "hooked" })
        let refused = outcomes.filter { $1["code"].integer == OracleHooks.refusal.code.rawValue }
        compare(
            "refusal of a hook",
            client,
            .update,
            open.filter { number($0).isMultiple(of: OracleHooks.refused) },
            found: Set(refused.map(\.0.id))
        )
        #expect(refused.allSatisfy { $1["message"].string == OracleHooks.refusal.message })
        compareErrors("hooked save", client, outcomes.map(\.1), plain["result"].elements)
    }

    private func save(_ type: String, _ records: [OracleRecord], _ client: OracleClient) async throws -> JSONValue {
        let drafts = records.map { "{\"_id\":\"\(type)/\($0.id)\",\"title\":\"alpha\"}" }.joined(separator: ",")
        return try await call(client, "record:save", "{\"records\":[\(drafts)]}")
    }

    /// Deletes records whose hook refuses every delete, so that they stay.
    private mutating func hookedDeletes(of client: OracleClient, _ runner: ScriptedFunctions) async throws {
        let open = world.cards.filter { $0.database == "_public" }
        let response = try await delete("pact", open, client)
        compareCalls([.beforeDelete], runner.take(), client, .delete, open)
        guard response["error"] == .null else {
            #expect(response["error"]["code"].integer == 101)
            compare("hooked delete", client, .delete, open, expecting: [.logIn], found: Set(open.map(\.id)))
            return
        }
        let outcomes = Array(zip(open, response["result"].elements))
        #expect(outcomes.count == open.count)
        for (code, answer) in [
            (OracleHooks.refusal.code.rawValue, OracleAnswer.yes), (102, .denied), (110, .missing),
        ] {
            let found = outcomes.filter { $1["code"].integer == code }.map(\.0.id)
            compare("hooked delete, \(answer)", client, .delete, open, expecting: [answer], found: Set(found))
        }
        // Of the cards only those that the caller may not delete, since they have no hook that keeps them.
        let closed = outcomes.filter { oracle.decide(client.subject, .delete, $0.0).answer != .yes }
        guard !closed.isEmpty else { return }
        let plain = try await delete("card", closed.map(\.0), client)
        compareErrors("hooked delete", client, closed.map(\.1), plain["result"].elements)
    }

    private func delete(_ type: String, _ records: [OracleRecord], _ client: OracleClient) async throws -> JSONValue {
        let names = records.map { "\"\(type)/\($0.id)\"" }.joined(separator: ",")
        return try await call(client, "record:delete", "{\"ids\":[\(names)]}")
    }

    // MARK: Comparing

    /// The number of a card, by its id.
    private func number(_ record: OracleRecord) -> Int { Int(record.id.dropFirst()) ?? 0 }

    /// The records that the hook with this trigger neither refuses nor drops.
    private func kept(_ records: [OracleRecord], _ trigger: HookTrigger) -> [OracleRecord] {
        let factor = trigger == .beforeSave ? OracleHooks.refused : OracleHooks.dropped
        return records.filter { !number($0).isMultiple(of: factor) }
    }

    /// Compares the records that hooks got with those of which the caller may have this done.
    private mutating func compareCalls(
        _ triggers: Set<HookTrigger>,
        _ calls: [FunctionCall],
        _ client: OracleClient,
        _ action: OracleAction,
        _ records: [OracleRecord]
    ) {
        var found: Set<String> = []
        for call in calls {
            guard case .hook(let hook, .records(let got)) = call.content, triggers.contains(hook.trigger) else {
                continue
            }
            found.formUnion(got.map(\.record.id.id))
            hookedRecords[hook.trigger, default: 0] += got.count
        }
        compare("calls of hooks \(triggers)", client, action, records, found: found)
    }

    /// Expects the error of each record without hooks from the one with hooks, too.
    private func compareErrors(
        _ exit: String,
        _ client: OracleClient,
        _ outcomes: [JSONValue],
        _ plain: [JSONValue]
    ) {
        #expect(outcomes.count == plain.count)
        let wrong = zip(outcomes, plain).filter {
            $1["_type"].string == "error" && Self.said($0) != Self.said($1)
        }
        #expect(wrong.isEmpty, "seed \(seed): \(exit) by \(client.subject): \(wrong.prefix(3))")
    }

    /// What an error says, apart from the name of its record.
    private static func said(_ error: JSONValue) -> [JSONValue] {
        [error["code"], error["name"], error["message"], error["info"]]
    }
}

extension OracleWorld {
    /// Makes a pact of each card.
    func makePacts() async throws {
        let type = """
            {"record_types": {"pact": {"fields": [{"name": "n", "type": "integer"}, {"name": "title", "type": "string"},
              {"name": "members", "type": "array(string)"}]}}}
            """
        let made = try await service.call("schema:create", type, key: TestService.masterKey)
        guard made["error"] == .null else { throw UnexpectedResponse(response: "\(made)") }
        _ = try await service.database.psql(
            """
            INSERT INTO app.pact (_id, _database, _owner, _access, n, title, members)
            SELECT _id, _database, _owner, _access, n, title, members FROM app.card;
            ANALYZE app.pact
            """
        )
        // The service hears of entries about relations, and looks at once when a rule is set.
        let rules = "{\"record_type\":\"pact\",\"rules\":{}}"
        _ = try await service.call("schema:access:set", rules, key: TestService.masterKey)
    }
}
