import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Functions of a database, from their exposure to their results.
@Suite(.timeLimit(.minutes(60))) struct SQLFunctionTests {
    // MARK: Exposing

    private static let functions = """
        CREATE FUNCTION plain(a integer, b text DEFAULT 'x') RETURNS text LANGUAGE sql STABLE AS $$ SELECT a || b $$;
        CREATE FUNCTION several(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION several(a text) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION unnamed(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION half_named(a integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION variadic_one(VARIADIC a integer[]) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION out_one(a integer, OUT b integer) LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION any_one(a anyelement) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION any_result(a anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT a';
        CREATE FUNCTION a_record(a note) RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION unknown_columns() RETURNS SETOF record LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION a_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE FUNCTION _reserved() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION "odd name"() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        CREATE PROCEDURE a_procedure() LANGUAGE sql AS 'SELECT 1';
        CREATE SCHEMA elsewhere;
        CREATE FUNCTION elsewhere.away() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        """

    /// The arguments of `_expose`, and a part of its refusal; nil where the function is exposed.
    private static let exposures: [(String, String?)] = [
        ("'plain(integer, text)'", nil), ("'plain'", nil), ("'plain(int4,text)', 'nothing', 'other/name'", nil),
        ("'plain', 'user', NULL, '{editor}'", nil), ("'plain', 'roles', NULL, '{editor,author}'", nil),
        ("'plain', timeout => '2 s'", nil), ("'\"odd name\"()', name => 'odd'", nil),
        ("'plain(integer)'", "does not exist"), ("'gone()'", "does not exist"), ("'plain('", "does not exist"),
        ("'plain(nonsense)'", "does not exist"), ("'several'", "does not exist"),
        ("'several(text)'", "several functions of this name"),
        ("'unnamed(integer)'", "needs a name"), ("'half_named(integer, integer)'", "needs a name"),
        ("'variadic_one(integer[])'", "VARIADIC"), ("'out_one(integer)'", "OUT"),
        ("'any_one(anyelement)'", "polymorphic"), ("'any_result(anyelement)'", "polymorphic"),
        ("'a_record(note)'", "a record"), ("'unknown_columns()'", "return TABLE"),
        ("'a_trigger()'", "trigger function"),
        ("'_reserved()'", "reserved"), ("'_caller()'", "reserved"), ("'_hide(text)'", "reserved"),
        ("'a_procedure()'", "no procedures"), ("'elsewhere.away()'", "schema app"), ("'lower(text)'", "schema app"),
        ("'pg_catalog.pg_sleep(double precision)'", "schema app"), ("'count(\"any\")'", "schema app"),
        ("'\"odd name\"()'", "give it one"), ("'plain', name => 'a b'", "must be a letter"),
        ("'plain', name => '_plain'", "must be a letter"), ("'plain', 'roles'", "at least one role"),
        ("'plain', 'master', NULL, '{editor}'", "no other need"), ("'plain', 'whoever'", "_function_need_check"),
        ("'plain', timeout => '0'", "_function_timeout_check"),
        ("'plain', timeout => '1 h'", "_function_timeout_check"),
    ]

    @Test func whatCanBeCalledIsExposedAndNothingElse() async throws {
        try await withRecords { f in
            try await f.psql(Self.functions)
            for (arguments, refusal) in Self.exposures {
                // Each alone: the outcome is the text of the error, or empty.
                let outcome = try await f.psql(
                    """
                    DELETE FROM _function;
                    CREATE TEMP TABLE outcome (text text);
                    DO $do$ BEGIN
                        PERFORM _expose(\(arguments)); INSERT INTO outcome VALUES ('exposed');
                    EXCEPTION WHEN OTHERS THEN INSERT INTO outcome VALUES (SQLERRM);
                    END $do$;
                    SELECT text FROM outcome;
                    """
                )
                #expect(outcome.contains(refusal ?? "exposed"), "\(arguments): \(outcome)")
                let functions = try await f.store.sqlFunctions.all()
                #expect(functions.count == (refusal == nil ? 1 : 0), "\(arguments)")
            }
        }
    }

    @Test func aFunctionIsReadWithWhatTheCatalogsSay() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE FUNCTION stars_of(note text, minimum bigint DEFAULT 0, "At" timestamptz DEFAULT now())
                    RETURNS TABLE (stars bigint, at timestamptz) LANGUAGE sql STABLE AS $$ SELECT 1, now() $$;
                CREATE FUNCTION top() RETURNS SETOF note LANGUAGE sql AS $$ SELECT * FROM app.note $$;
                SELECT _expose('stars_of', 'roles', 'game:stars', '{editor}', '1500 ms'), _expose('top()', 'nothing');
                """
            )
            let functions = try await f.store.sqlFunctions.all()
            try #require(functions.map(\.name.rawValue) == ["game:stars", "top"])
            let stars = functions[0]
            #expect(stars.signature == "stars_of(text,bigint,timestamp with time zone)")
            #expect(stars.routine == "stars_of")
            #expect(stars.need == .roles(["editor"]))
            #expect(stars.timeout == .milliseconds(1500))
            #expect(stars.isReadOnly)
            #expect(stars.result == .values)
            #expect(
                stars.arguments == [
                    SQLFunction.Argument(name: "note", type: "text", hasDefault: false),
                    SQLFunction.Argument(name: "minimum", type: "bigint", hasDefault: true),
                    SQLFunction.Argument(name: "At", type: "timestamp with time zone", hasDefault: true),
                ]
            )
            #expect(
                stars.columns == [
                    SQLFunction.Column(name: "stars", type: "bigint"),
                    SQLFunction.Column(name: "at", type: "timestamp with time zone"),
                ]
            )
            let top = functions[1]
            #expect(top.result == .records(type("note")))
            #expect(top.need == .nothing)
            #expect(!top.isReadOnly)
            #expect(top.timeout == nil)
        }
    }

    /// A row stays when its function goes or gets a namesake; nothing is called by it until that is over.
    @Test(
        arguments: [
            (
                "DROP FUNCTION plain",
                "CREATE FUNCTION plain(a integer, b text) RETURNS text LANGUAGE sql AS 'SELECT 1::text'"
            ),
            ("CREATE FUNCTION plain() RETURNS integer LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION plain()"),
            ("ALTER FUNCTION plain RENAME TO other", "ALTER FUNCTION other RENAME TO plain"),
            ("ALTER FUNCTION plain SET SCHEMA elsewhere", "ALTER FUNCTION elsewhere.plain SET SCHEMA app"),
        ]
    )
    func aFunctionThatCannotBeCalledIsLeftOut(_ change: String, _ remedy: String) async throws {
        try await withRecords { f in
            try await f.psql(Self.functions + "SELECT _expose('plain');")
            try await f.psql(change)
            let without = try await f.store.sqlFunctions.all()
            #expect(without.isEmpty)
            try await f.psql(remedy)
            let with = try await f.store.sqlFunctions.all()
            #expect(with.map(\.name.rawValue) == ["plain"])
        }
    }

    @Test func aRoleWithoutRightsExposesNothing() async throws {
        try await withRecords { f in
            try await f.psql(Self.functions)
            let outcome = try await f.psql(
                """
                CREATE TEMP TABLE outcome (text text); GRANT ALL ON outcome TO PUBLIC;
                CREATE ROLE "stranger of functions"; GRANT USAGE ON SCHEMA app TO "stranger of functions";
                SET ROLE "stranger of functions";
                DO $do$ BEGIN
                    PERFORM app._expose('plain'); INSERT INTO outcome VALUES ('exposed');
                EXCEPTION WHEN insufficient_privilege THEN INSERT INTO outcome VALUES ('refused');
                END $do$;
                DO $do$ BEGIN
                    PERFORM app._hide('plain'); INSERT INTO outcome VALUES ('hidden');
                EXCEPTION WHEN insufficient_privilege THEN INSERT INTO outcome VALUES ('refused');
                END $do$;
                RESET ROLE; REVOKE ALL ON SCHEMA app FROM "stranger of functions";
                REVOKE ALL ON outcome FROM PUBLIC; DROP ROLE "stranger of functions";
                SELECT string_agg(text, ' ') FROM outcome;
                """
            )
            #expect(outcome.contains("refused refused"), "\(outcome)")
        }
    }

    // MARK: Values

    /// The type of a parameter and of the result, an argument, and the result.
    private static let values: [(String, String, String)] = [
        ("boolean", "true", "true"), ("smallint", "-7", "-7"), ("integer", "5", "5"),
        ("bigint", "9007199254740993", "9007199254740993"), ("double precision", "0.1", "0.1"),
        ("real", "0.25", "0.25"),
        ("numeric", "12.340", "12.340"), ("text", #""it's; \"x\"""#, #""it's; \"x\"""#),
        ("varchar(5)", #""abc""#, #""abc""#),
        ("char(3)", #""abc""#, #""abc""#), ("text", "null", "null"),
        ("jsonb", #"{"a": [1, null]}"#, #"{"a": [1, null]}"#),
        ("jsonb", #""x""#, #""x""#), ("json", "[1,2]", "[1, 2]"), ("integer[]", "[1,null,3]", "[1, null, 3]"),
        ("text[]", #"["a,b","}"]"#, #"["a,b", "}"]"#), ("text[]", "[]", "[]"),
        (
            "timestamptz", #"{"$type":"date","$date":"2026-03-01T10:00:00.000001+01:00"}"#,
            #"{"$date": "2026-03-01T09:00:00.000001Z", "$type": "date"}"#
        ),
        ("date", #""2026-03-01""#, #""2026-03-01""#),
        ("uuid", #""3F0C1A0E-6A0B-4B0E-9B0D-7F7F1B1B1B1B""#, #""3f0c1a0e-6a0b-4b0e-9b0d-7f7f1b1b1b1b""#),
        ("bytea", #"{"$type":"bytes","$base64":"AAH/"}"#, #""\\x0001ff""#), ("mood", #""good""#, #""good""#),
        ("positive", "3", "3"), ("text", #"{"$type":"ref","$id":"note/7"}"#, #""7""#),
    ]

    @Test func valuesPassAsTheirTypesHaveThem() async throws {
        try await withRecords { f in
            try await f.psql(
                "CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN positive AS integer CHECK (VALUE > 0);"
            )
            for (place, (type, _, _)) in Self.values.enumerated() {
                try await f.psql(
                    """
                    CREATE FUNCTION same_\(place)(a \(type)) RETURNS \(type) LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN a; END';
                    SELECT _expose('same_\(place)');
                    """
                )
            }
            let functions = try await f.store.sqlFunctions.all()
            for (place, (type, argument, expected)) in Self.values.enumerated() {
                let function = try #require(functions.first { $0.routine == "same_\(place)" })
                let result = try await f.call(function, #"{"a":\#(argument)}"#)
                #expect(result == expected, "\(type) \(argument)")
            }
        }
    }

    /// Values that only PostgreSQL can refuse, before the function runs.
    @Test(
        arguments: [
            ("uuid", #""x""#), ("date", #""2026-02-30""#), ("mood", #""ugly""#), ("positive", #""x""#),
            ("real", "1e300"),
            ("jsonb", #""\u0000""#), ("smallint[]", "[1,70000]"), ("inet", #""10.0.0.999""#),
        ]
    )
    func aValueThatTheTypeDoesNotHaveIsTheCallersFault(_ type: String, _ argument: String) async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN positive AS integer;
                CREATE FUNCTION taking(a \(type)) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
                SELECT _expose('taking');
                """
            )
            let error = try await f.refusal(of: "taking", #"{"a":\#(argument)}"#)
            #expect(error.code == .invalidArgument)
        }
    }

    /// A function's body, its result, and the JSON of it.
    private static let results: [(String, String, String)] = [
        ("RETURNS integer", "SELECT NULL::integer", "null"), ("RETURNS void", "SELECT", "null"),
        ("RETURNS SETOF integer", "VALUES (3), (NULL), (1)", "[3,null,1]"),
        ("RETURNS SETOF integer", "SELECT 1 WHERE false", "[]"),
        ("RETURNS TABLE (t text)", "VALUES ('a'), (NULL)", #"[{"t": "a"},{"t": null}]"#),
        (
            "RETURNS TABLE (t integer, at timestamptz)", "SELECT 1, '2026-03-01T09:00:00Z'::timestamptz",
            #"[{"t": 1, "at": {"$date": "2026-03-01T09:00:00Z", "$type": "date"}}]"#
        ),
        ("RETURNS SETOF pair", "SELECT 1, 'x'::text", #"[{"a": 1, "b": "x"}]"#),
        ("RETURNS pair", "SELECT 1, 'x'::text", #"{"a": 1, "b": "x"}"#), ("RETURNS pair", "SELECT NULL::pair", "null"),
        ("RETURNS timestamptz", "SELECT 'infinity'::timestamptz", #""infinity""#),
        (
            "RETURNS moment", "SELECT '2026-03-01T09:00:00Z'::timestamptz, 1",
            #"{"n": 1, "at": {"$date": "2026-03-01T09:00:00Z", "$type": "date"}}"#
        ),
        ("RETURNS moment", "SELECT NULL::moment", "null"),
        ("RETURNS double precision", "SELECT 'NaN'::double precision", #""NaN""#),
    ]

    @Test func resultsAreJSON() async throws {
        try await withRecords { f in
            try await f.psql(
                "CREATE TYPE pair AS (a integer, b text); CREATE TYPE moment AS (at timestamptz, n integer);"
            )
            for (place, (result, body, _)) in Self.results.enumerated() {
                try await f.psql(
                    """
                    CREATE FUNCTION result_\(place)() \(result) LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$ \(body) $$;
                    SELECT _expose('result_\(place)()');
                    """
                )
            }
            for (place, (result, body, expected)) in Self.results.enumerated() {
                let found = try await f.call("result_\(place)")
                #expect(found == expected, "\(result): \(body)")
            }
        }
    }

    @Test func aResultHasABoundAndWhatItsFunctionDidIsUndone() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE TABLE journal (line integer);
                CREATE FUNCTION many(count integer) RETURNS SETOF integer LANGUAGE sql AS $$
                    INSERT INTO app.journal SELECT generate_series(1, count) RETURNING line
                $$;
                CREATE FUNCTION long(count integer) RETURNS text LANGUAGE sql AS $$
                    INSERT INTO app.journal VALUES (count); SELECT repeat('x', count)
                $$;
                SELECT _expose('many'), _expose('long');
                """
            )
            for (name, count) in [("many", 1001), ("long", 9 << 20)] {
                let error = try await f.refusal(of: name, #"{"count":\#(count)}"#)
                #expect(error.code == .payloadTooLarge)
            }
            let undone = try await f.psql("SELECT count(*) FROM journal")
            #expect(undone.hasSuffix("0"))
            let most = try await f.call("many", #"{"count":1000}"#)
            #expect(most.hasPrefix("[1,2,3,"))
            #expect(most.hasSuffix(",1000]"))
        }
    }

    // MARK: The caller

    @Test func aFunctionKnowsItsCallerAndNobodyElseDoes() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE FUNCTION whoami() RETURNS jsonb LANGUAGE sql STABLE AS $$
                    SELECT jsonb_build_array(app._caller(), app._caller_roles(), app._caller_is_master())
                $$;
                CREATE FUNCTION whoami_writing() RETURNS jsonb LANGUAGE sql VOLATILE AS $$ SELECT app.whoami() $$;
                SELECT _expose('whoami'), _expose('whoami_writing');
                """
            )
            let callers: [(Caller, String)] = [
                (.ann, #"["ann", [], false]"#), (.anonymous, "[null, [], false]"), (.master, "[null, [], true]"),
                (Caller(kind: .user("b'b"), roles: ["a,b", "x\"y"]), #"["b'b", ["a,b", "x\"y"], false]"#),
                (Caller(kind: .master(actingAs: "ann")), #"["ann", [], true]"#), (.anonymous, "[null, [], false]"),
            ]
            for name in ["whoami", "whoami_writing"] {
                for (caller, expected) in callers {
                    let found = try await f.call(name, "{}", caller)
                    #expect(found == expected, "\(name) \(caller.kind)")
                    // The settings end with the call, also on its connection.
                    let left = try await f.client.read("SELECT coalesce(current_setting('skyrow.user_id', true), '')")
                    #expect(try left.decode(row: 0, column: 0, as: String.self).isEmpty)
                    let written = try await f.client.write(
                        "SELECT coalesce(current_setting('skyrow.user_id', true), '')"
                    )
                    #expect(try written.decode(row: 0, column: 0, as: String.self).isEmpty)
                }
            }
            let outside = try await f.psql("SELECT _caller() IS NULL, _caller_roles(), _caller_is_master()")
            #expect(outside.hasSuffix("t|{}|f"))
        }
    }

    @Test func unqualifiedNamesAreThoseOfTheApplication() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE FUNCTION titles() RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
                    BEGIN RETURN QUERY SELECT title FROM note ORDER BY _id; END
                $$;
                SELECT _expose('titles');
                """
            )
            try await f.save("note/1", ["title": .string("one")])
            #expect(try await f.call("titles") == #"["one"]"#)
        }
    }

    // MARK: What a function may do

    @Test func aFunctionThatReadsWritesNothing() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE TABLE journal (line integer);
                CREATE FUNCTION writing() RETURNS integer LANGUAGE sql VOLATILE AS $$
                    INSERT INTO app.journal VALUES (1) RETURNING line
                $$;
                CREATE FUNCTION claiming() RETURNS integer LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN app.writing(); END $$;
                CREATE FUNCTION trying() RETURNS integer LANGUAGE plpgsql STABLE AS $$
                    BEGIN INSERT INTO app.journal VALUES (2); RETURN 2; END
                $$;
                CREATE FUNCTION leaving() RETURNS text LANGUAGE plpgsql STABLE AS $$
                    BEGIN PERFORM set_config('transaction_read_only', 'off', true); RETURN app.writing(); END
                $$;
                SELECT _expose('writing'), _expose('claiming'), _expose('trying'), _expose('leaving');
                """
            )
            for name in ["claiming", "trying", "leaving", "claiming"] {
                let error = try await f.refusal(of: name)
                #expect(error.code == .unexpectedError, "\(name)")
            }
            let before = try await f.psql("SELECT count(*) FROM journal")
            #expect(before.hasSuffix("0"))
            #expect(try await f.call("writing") == "1")
            let after = try await f.psql("SELECT count(*) FROM journal")
            #expect(after.hasSuffix("1"))
        }
    }

    @Test(arguments: ["STABLE", "VOLATILE"])
    func aFunctionEndsWithItsTime(_ volatility: String) async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE FUNCTION sleeping(seconds double precision) RETURNS void LANGUAGE sql \(volatility) AS $$
                    SELECT pg_sleep(seconds)
                $$;
                SELECT _expose('sleeping');
                """
            )
            let error = try await f.refusal(of: "sleeping", #"{"seconds":86400}"#, within: .milliseconds(20))
            #expect(error.code == .responseTimeout)
            // The limit is that of the call, not of its connection.
            #expect(try await f.call("sleeping", #"{"seconds":0.05}"#) == "null")
            let others = try await f.client.read("SELECT current_setting('statement_timeout')")
            #expect(try others.decode(row: 0, column: 0, as: String.self) != "20ms")
        }
    }
}

extension RecordsFixture {
    func function(_ name: String) async throws -> SQLFunction {
        let functions = try await store.sqlFunctions.all()
        return try #require(functions.first { $0.name.rawValue == name })
    }

    /// Calls a function; returns the JSON of its result.
    func call(
        _ function: SQLFunction,
        _ arguments: String = "{}",
        _ caller: Caller = .ann,
        within timeLimit: Duration = testPatience
    ) async throws -> String {
        let arguments = JSONText(validated: Array(arguments.utf8))
        let result = try await store.call(function, with: arguments, by: caller, within: timeLimit)
        return result.map { String(decoding: $0.utf8, as: UTF8.self) } ?? "null"
    }

    func call(
        _ name: String,
        _ arguments: String = "{}",
        _ caller: Caller = .ann,
        within timeLimit: Duration = testPatience
    ) async throws -> String {
        try await call(try await function(name), arguments, caller, within: timeLimit)
    }

    /// Calls a function, which must fail.
    func refusal(
        of name: String,
        _ arguments: String = "{}",
        _ caller: Caller = .ann,
        within timeLimit: Duration = testPatience
    ) async throws -> SkyrowError {
        do {
            let result = try await call(name, arguments, caller, within: timeLimit)
            Issue.record("\(name) returned \(result)")
            throw UnexpectedOutcome()
        } catch let error as SkyrowError {
            return error
        }
    }
}
