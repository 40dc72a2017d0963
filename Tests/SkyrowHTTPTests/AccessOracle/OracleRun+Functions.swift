import SkyrowTestSupport
import Testing

extension OracleRun {
    /// Reads all cards by functions of the database, of which only the query of a call selects some.
    mutating func functions(of client: OracleClient) async throws {
        let cards = world.cards
        let own = cards.filter { $0.owner != nil && $0.owner == client.subject.user }
        for (name, records) in [("every_card", cards), ("each_card", cards), ("own_cards", own)] {
            for (selection, members) in [
                ("", ""), (" by predicate", ",\"predicate\":[\"gte\",\(Self.number),0]"),
                (" sorted", ",\"sort\":[[\(Self.number),\"desc\"]]"),
            ] {
                let exit = name + selection
                let response = try await call(
                    client,
                    "function:call",
                    "{\"name\":\"\(name)\",\"limit\":1000,\"count\":true\(members)}"
                )
                #expect(response["error"] == .null, "\(exit): \(response)")
                compareLists(exit, client, response["result"]["records"].elements)
                compare(exit, client, .read, records, found: ids(response, dropping: "card/"))
                let readable = records.filter { oracle.decide(client.subject, .read, $0).answer == .yes }
                #expect(response["result"]["info"]["count"].integer == readable.count, "\(exit)")
                countCases(records.count)
            }
        }
        let included = try await call(
            client,
            "function:call",
            "{\"name\":\"every_holder\",\"limit\":1000,\"include\":{\"card\":\(Self.card)}}"
        )
        compareIncluded("every_holder", client, included)
        for (selection, predicate) in [
            ("key path", "[\"gte\",\(Self.cardNumber),0]"),
            ("in_query", "[\"in_query\",\(Self.card),{\"record_type\":\"card\"}]"),
        ] {
            let response = try await call(
                client,
                "function:call",
                "{\"name\":\"every_holder\",\"limit\":1000,\"predicate\":\(predicate)}"
            )
            compare(
                "every_holder by \(selection)",
                client,
                .read,
                cards.filter { $0.database == "_public" },
                found: ids(response, dropping: "holder/of-")
            )
        }
    }

    /// Reads all cards by functions of the database with a key that is limited, which shows no more than a query with this key.
    mutating func scopedFunctions(of client: OracleClient) async throws {
        let queried = try await call(client, "record:query", "{\"record_type\":\"card\",\"limit\":1000}")
        let open = ids(queried, dropping: "card/")
        for name in ["every_card", "each_card"] {
            let response = try await call(client, "function:call", "{\"name\":\"\(name)\",\"limit\":1000}")
            let more = ids(response, dropping: "card/").subtracting(open)
            #expect(more.isEmpty, "seed \(seed): \(name) by \(client.subject): \(more)")
            countCases(world.cards.count)
        }
    }
}

extension OracleWorld {
    /// Exposes functions that show all cards and holders: one that PostgreSQL inlines, and others that it does not.
    func makeFunctions() async throws {
        _ = try await service.database.psql(
            """
            SET search_path = app, app_internal;
            CREATE FUNCTION every_card() RETURNS SETOF card LANGUAGE sql STABLE AS 'SELECT * FROM app.card';
            CREATE FUNCTION each_card() RETURNS SETOF card LANGUAGE plpgsql STABLE AS $$
                BEGIN RETURN QUERY SELECT * FROM app.card; END
            $$;
            CREATE FUNCTION own_cards() RETURNS SETOF card LANGUAGE sql STABLE SECURITY DEFINER
            SET search_path = app, pg_temp AS 'SELECT * FROM card WHERE _owner = app._caller()';
            CREATE FUNCTION every_holder() RETURNS SETOF holder LANGUAGE sql STABLE AS 'SELECT * FROM app.holder';
            SELECT _expose('every_card', 'nothing'), _expose('each_card', 'nothing'),
                _expose('own_cards', 'nothing'), _expose('every_holder', 'nothing');
            """
        )
        try await waiting(until: "the service has heard of the functions") {
            let response = try await service.call(
                "function:call",
                #"{"name":"every_holder","limit":1}"#,
                key: TestService.masterKey
            )
            return response["error"] == .null
        }
    }
}
