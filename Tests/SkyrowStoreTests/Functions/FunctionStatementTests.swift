import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// What a call of a function becomes, without a database.
@Suite struct FunctionStatementTests {
    private static func statement(
        _ arguments: String?,
        _ parameters: [SQLFunction.Argument],
        by caller: Caller = .ann,
        result: SQLFunction.Result = .value,
        type: String = "jsonb",
        columns: [SQLFunction.Column] = [],
        isReadOnly: Bool = true
    ) throws -> FunctionStatement {
        let function = SQLFunction(
            name: try FunctionName("nearby"),
            signature: "nearby(…)",
            need: .nothing,
            arguments: parameters,
            result: result,
            isReadOnly: isReadOnly,
            resultType: type,
            columns: columns
        )
        return try FunctionStatement(
            function,
            arguments.map { JSONText(validated: Array($0.utf8)) },
            by: caller,
            in: "app",
            timeLimit: .milliseconds(1500)
        )
    }

    private static func parameter(_ name: String, _ type: String, hasDefault: Bool = false) -> SQLFunction.Argument {
        SQLFunction.Argument(name: name, type: type, hasDefault: hasDefault)
    }

    /// A type, a value, and the text that PostgreSQL casts to the type; nil where the value is refused.
    @Test(
        arguments: [
            ("boolean", "true", "true"), ("boolean", "false", "false"), ("boolean", "1", nil),
            ("boolean", "\"true\"", nil),
            ("smallint", "32767", "32767"), ("smallint", "32768", nil), ("smallint", "-32769", nil),
            ("integer", "5", "5"), ("integer", "5.0", "5"), ("integer", "5.5", nil), ("integer", "2147483648", nil),
            ("integer", "\"5\"", nil), ("integer", "[5]", nil),
            ("bigint", "9007199254740993", "9007199254740993"), ("bigint", "1e30", nil),
            ("double precision", "0.1", "0.1"), ("double precision", "3", "3"), ("double precision", "\"3\"", nil),
            ("double precision", "1e999", nil), ("double precision", "{}", nil),
            ("real", "0.25", "0.25"), ("numeric", "12.340", "12.340"), ("numeric", "\"1\"", nil),
            ("text", "\"x'; DROP TABLE note; --\"", "x'; DROP TABLE note; --"), ("text", "\"\\u0000\"", nil),
            ("text", "5", nil), ("text", "{\"$type\":\"ref\",\"$id\":\"note/7\"}", "7"), ("text", "{\"a\":1}", nil),
            ("text", "{\"$type\":\"asset\",\"$name\":\"cat.png\"}", nil),
            (
                "text", "{\"$type\":\"asset\",\"$name\":\"9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png\"}",
                "9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png"
            ),
            ("character varying", "\"x\"", "x"), ("character", "\"xyz\"", "xyz"),
            (
                "timestamp with time zone", "{\"$type\":\"date\",\"$date\":\"2026-03-01T10:00:00+01:00\"}",
                "2026-03-01T09:00:00Z"
            ),
            ("timestamp with time zone", "\"2026-03-01T09:00:00Z\"", "2026-03-01T09:00:00Z"),
            ("timestamp with time zone", "\"tomorrow\"", nil), ("timestamp with time zone", "1", nil),
            ("bytea", "{\"$type\":\"bytes\",\"$base64\":\"AAH/\"}", "\\x0001ff"), ("bytea", "\"\\\\x00\"", nil),
            ("jsonb", "{\"a\":[1,null]}", "{\"a\":[1,null]}"), ("jsonb", "\"x\"", "\"x\""), ("json", "false", "false"),
            ("jsonb", "{\"$type\":\"ref\",\"$id\":\"note/7\"}", "{\"$type\":\"ref\",\"$id\":\"note/7\"}"),
            ("uuid", "\"no uuid\"", "no uuid"), ("uuid", "{\"a\":1}", nil), ("interval", "\"1 day\"", "1 day"),
            ("mood", "true", "true"), ("mood", "7", "7"),
        ] as [(String, String, String?)]
    )
    func aValueIsTakenByItsType(_ type: String, _ json: String, _ expected: String?) throws {
        let argument = FunctionArgument(Self.parameter("a", type))
        do {
            let value = try readJSON(json) { try argument.value(of: $0) }
            #expect(String(decoding: value.bindings.encoder.bytes, as: UTF8.self) == expected)
        } catch let error as SkyrowError {
            #expect(expected == nil, "\(error)")
            #expect(error.code == .invalidArgument)
        }
    }

    @Test(arguments: ["boolean", "integer", "text", "timestamp with time zone", "jsonb", "bytea", "mood", "integer[]"])
    func nullIsTakenByEveryType(_ type: String) throws {
        let argument = FunctionArgument(Self.parameter("a", type))
        let value = try readJSON("null") { try argument.value(of: $0) }
        #expect(value.bindings.values.map(\.length) == [-1])
    }

    @Test(
        arguments: [
            ("integer[]", "[1,null,3]", true), ("integer[]", "[]", true), ("integer[]", "[1,\"x\"]", false),
            ("integer[]", "5", false), ("integer[]", "{}", false), ("text[]", "[\"a,b\",\"}\"]", true),
            ("text[]", "[[\"a\"]]", false),
        ]
    )
    func anArrayIsTakenByItsElements(_ type: String, _ json: String, _ fits: Bool) throws {
        let argument = FunctionArgument(Self.parameter("a", type))
        do {
            let value = try readJSON(json) { try argument.value(of: $0) }
            #expect(fits)
            #expect(value.text == "CAST($1 AS \(type))")
            #expect(value.bindings.values.map(\.type) == [.textArray])
        } catch let error as SkyrowError {
            #expect(!fits, "\(error)")
        }
    }

    /// Names that would mean other types in a cast.
    @Test(arguments: [("character", "bpchar"), ("bit", "\"bit\""), ("character[]", "bpchar[]"), ("text", "text")])
    func aCastNamesTheTypeWithoutALength(_ type: String, _ name: String) throws {
        let argument = FunctionArgument(Self.parameter("a", type))
        let value = try readJSON("null") { try argument.value(of: $0) }
        #expect(value.text == "CAST($1 AS \(name))")
    }

    private static let place = [
        parameter("lat", "double precision"), parameter("lng", "double precision"),
        parameter("at most", "integer", hasDefault: true),
    ]

    @Test(
        arguments: [
            (
                #"{"lng":8,"lat":47}"#,
                #""app"."nearby"("lat" => CAST($1 AS double precision), "lng" => CAST($2 AS double precision))"#
            ),
            (
                #"{"at most":3,"lng":8,"lat":47}"#,
                #""app"."nearby"("lat" => CAST($1 AS double precision), "lng" => CAST($2 AS double precision), "#
                    + #""at most" => CAST($3 AS integer))"#
            ),
            (
                "[47,8]",
                #""app"."nearby"("lat" => CAST($1 AS double precision), "lng" => CAST($2 AS double precision))"#
            ),
        ]
    )
    func argumentsAreNamedInTheOrderOfTheParameters(_ arguments: String, _ text: String) throws {
        #expect(try Self.statement(arguments, Self.place).call.text == text)
    }

    @Test func aFunctionWithoutParametersTakesNoArguments() throws {
        #expect(try Self.statement(nil, []).call.text == #""app"."nearby"()"#)
        #expect(try Self.statement("{}", []).call.text == #""app"."nearby"()"#)
    }

    /// Arguments, and the name that the refusal has.
    @Test(
        arguments: [
            (#"{"lat":47}"#, "lng"), ("{}", "lat"), (#"{"lat":47,"lng":8,"zoom":1}"#, "zoom"), ("[47]", "lng"),
            ("[47,8,3,4]", "args"), ("7", "args"), (#"{"lat":47,"lng":"x"}"#, "lng"),
            (#"{"lat":47,"lng":8,"\"lat\" => 1); DROP TABLE note; --":1}"#, #""lat" => 1); DROP TABLE note; --"#),
        ]
    )
    func wrongArgumentsAreNamed(_ arguments: String, _ name: String) {
        let error = #expect(throws: SkyrowError.self) { try Self.statement(arguments, Self.place) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.info["arguments"] == .list([.string(name)]))
    }

    @Test func namesOfTheDatabaseAreQuoted() throws {
        let name = #"x" => 1); DROP TABLE note; --"#
        let statement = try Self.statement("[1]", [Self.parameter(name, "integer")])
        #expect(statement.call.text == #""app"."nearby"("x"" => 1); DROP TABLE note; --" => CAST($1 AS integer))"#)
    }

    @Test func whatRunsBeforeSetsTheCallerAndTheLimits() throws {
        let caller = Caller(kind: .user("ann"), roles: ["a,b", "editor"])
        let reading = try Self.statement("[1]", [Self.parameter("a", "mood")], by: caller).prelude
        #expect(reading.timeLimit == .milliseconds(1500))
        #expect(reading.sql.text.hasPrefix("SELECT set_config('skyrow.user_id', $1, true)"))
        #expect(reading.sql.text.hasSuffix("set_config('transaction_read_only', 'on', true), CAST($6 AS mood) IS NULL"))
        let writing = try Self.statement("[1]", [Self.parameter("a", "integer")], isReadOnly: false).prelude
        #expect(!writing.sql.text.contains("transaction_read_only"))
        #expect(!writing.sql.text.contains("IS NULL"))
        #expect(!writing.sql.text.contains("ann"))
    }

    /// A key with scopes passes rules as the master key does, but is not the master key.
    @Test(
        arguments: [
            (Caller.ann, "false"), (.anonymous, "false"), (.master, "true"),
            (Caller(kind: .master(actingAs: "ann")), "true"),
        ]
    )
    func onlyTheMasterKeyIsTheMasterKey(_ caller: Caller, _ expected: String) throws {
        let values = try Self.statement(nil, [], by: caller).prelude.sql.bindings
        #expect(String(decoding: values.encoder.bytes, as: UTF8.self).contains(expected))
    }

    @Test(
        arguments: [
            (SQLFunction.Result.value, "integer", [], #"SELECT 1 AS "n", to_jsonb("app"."nearby"())::text AS "v""#),
            (.value, "void", [], #"SELECT 1 AS "n", NULL::text AS "v" FROM "app"."nearby"() AS "t""#),
            (
                .value, "timestamp with time zone", [],
                #"SELECT 1 AS "n", "app"._json_date("app"."nearby"())::text AS "v""#
            ),
            (
                .value, "place", [SQLFunction.Column(name: "at", type: "timestamp with time zone")],
                #"(to_jsonb("t"."v") || jsonb_build_object($3, "app"._json_date(("t"."v")."at")))::text AS "v""#
            ),
            (.values, "text", [], #"SELECT to_jsonb("t"."v") AS "v" FROM "app"."nearby"() AS "t" ("v") LIMIT"#),
            (
                .values, "record", [SQLFunction.Column(name: "t", type: "text")],
                #"SELECT to_jsonb("t".*) AS "v" FROM (SELECT "f".* FROM "app"."nearby"() AS "f") AS "t" LIMIT"#
            ),
        ] as [(SQLFunction.Result, String, [SQLFunction.Column], String)]
    )
    func aResultIsMadeToJSONByItsType(
        _ result: SQLFunction.Result,
        _ type: String,
        _ columns: [SQLFunction.Column],
        _ part: String
    ) throws {
        let text = try Self.statement(nil, [], result: result, type: type, columns: columns).result.text
        #expect(text.contains(part), "\(text)")
    }

    @Test(
        arguments: [
            (Duration.milliseconds(1), Int64(1)), (.microseconds(10), 1), (.seconds(2), 2000),
            (.milliseconds(1500), 1500),
        ]
    )
    func aTimeLimitIsNeverNothing(_ duration: Duration, _ milliseconds: Int64) {
        // PostgreSQL takes 0 for no limit.
        #expect(duration.wholeMilliseconds == milliseconds)
    }
}
