import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Functions of the database as actions expose, hide and call them.
@Suite(.timeLimit(.minutes(60))) struct SQLFunctionActionTests {
    private static let master = ServiceFixture.masterCaller

    private static let functions = """
        SELECT _create_type('note');
        ALTER TABLE note ADD title text, ADD stars bigint;
        CREATE FUNCTION plain(a integer DEFAULT 1) RETURNS integer LANGUAGE sql STABLE AS 'SELECT a';
        CREATE FUNCTION nothing() RETURNS void LANGUAGE sql STABLE AS 'SELECT';
        CREATE FUNCTION broken() RETURNS integer LANGUAGE sql STABLE AS 'SELECT 1 / 0';
        CREATE FUNCTION notes() RETURNS SETOF note LANGUAGE sql STABLE AS 'SELECT * FROM app.note ORDER BY stars DESC';
        """

    private static func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

    /// What is exposed, and the row that the table then has, or the code of the refusal.
    @Test(
        arguments: [
            (FunctionExposure(function: "plain(integer)"), "plain|plain(integer)|user|{}||master", nil),
            (
                FunctionExposure(
                    function: "plain",
                    name: try? FunctionName("game:plain"),
                    roles: ["editor", "author"],
                    timeout: .seconds(3)
                ),
                "game:plain|plain(integer)|roles|{editor,author}|00:00:03|master", nil
            ),
            (FunctionExposure(function: "nothing()", need: .master), "nothing|nothing()|master|{}||master", nil),
            (FunctionExposure(function: "plain", name: try? FunctionName("record:save")), "", 108),
            (FunctionExposure(function: "me()"), "", 108), (FunctionExposure(function: "gone()"), "", 110),
            (FunctionExposure(function: "lower(text)"), "", 108), (FunctionExposure(function: "_caller()"), "", 108),
            (FunctionExposure(function: "plain', 'nothing'); DROP TABLE note; --"), "", 110),
            (FunctionExposure(function: "plain", need: .roles), "", 108),
            (FunctionExposure(function: "plain", need: .master, roles: ["editor"]), "", 108),
        ] as [(FunctionExposure, String, Int?)]
    )
    func aFunctionIsExposed(_ exposure: FunctionExposure, _ row: String, _ code: Int?) async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions)
            if let code {
                try await expectError(ErrorCode(rawValue: code)) {
                    try await fixture.service.run(Actions.functionExpose, exposure, by: Self.master)
                }
            } else {
                let name = try await fixture.service.run(Actions.functionExpose, exposure, by: Self.master)
                #expect(row.hasPrefix(name.rawValue + "|"))
            }
            let stored = try await fixture.psql(
                "SELECT name, signature, need, roles, timeout, exposed_by FROM _function"
            )
            #expect(stored == row)
        }
    }

    @Test func aFunctionIsHiddenOnce() async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions)
            let name = try await fixture.service.run(
                Actions.functionExpose,
                FunctionExposure(function: "plain"),
                by: Self.master
            )
            try await fixture.service.run(Actions.functionHide, name, by: Self.master)
            let functions = try await fixture.service.store.sqlFunctions.all()
            #expect(functions.isEmpty)
            try await expectError(.resourceNotFound) {
                try await fixture.service.run(Actions.functionHide, name, by: Self.master)
            }
        }
    }

    /// Without waiting for the notice: this service does not listen.
    @Test func theProcessKnowsAChangeWhenItResponds() async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions)
            let service = fixture.configured { _ in }
            let name = try await service.run(
                Actions.functionExpose,
                FunctionExposure(function: "plain", need: .master),
                by: Self.master
            )
            #expect(service.functions.registry["plain"]?.description.need == .master)
            _ = try await service.run(Actions.functionExpose, FunctionExposure(function: "plain"), by: Self.master)
            #expect(service.functions.registry["plain"]?.description.need == .user)
            try await service.run(Actions.functionHide, name, by: Self.master)
            #expect(service.functions.registry["plain"] == nil)
        }
    }

    /// What was read before a change does not replace what was read after it.
    @Test func aReadingThatBeganBeforeAChangeIsDropped() async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions)
            let service = fixture.configured { _ in }
            let (epoch, before) = (service.functions.epoch, service.functions.registry)
            _ = try await service.run(Actions.functionExpose, FunctionExposure(function: "plain"), by: Self.master)
            let isReplaced = service.functions.replace(before, readIn: epoch)
            #expect(!isReplaced && service.functions.registry["plain"] != nil)
        }
    }

    @Test func everyChangeLeavesItsEventAndARefusalNone() async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions)
            let service = fixture.service
            let origin = RequestOrigin(address: "192.0.2.7", userAgent: nil, requestID: "r1")
            for exposure in [
                FunctionExposure(function: "plain(integer)"),
                FunctionExposure(function: "plain", name: try FunctionName("game:plain"), roles: ["editor"]),
            ] {
                _ = try await service.run(Actions.functionExpose, exposure, by: Self.master, origin: origin)
            }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.functionExpose, FunctionExposure(function: "gone()"), by: Self.master)
            }
            let name = try FunctionName("game:plain")
            try await service.run(Actions.functionHide, name, by: Self.master, origin: origin)
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.functionHide, name, by: Self.master)
            }
            let events = try await fixture.psql(
                """
                SELECT concat_ws(' ', event, outcome, actor, host(address), request_id, data ->> 'name',
                    data ->> 'function', data ->> 'need', data ->> 'roles') FROM _audit ORDER BY id
                """
            ).split(separator: "\n").map(String.init)
            let from = "ok master 192.0.2.7 r1"
            #expect(
                events == [
                    "function.expose \(from) plain plain(integer) user []",
                    "function.expose \(from) game:plain plain user [\"editor\"]",
                    "function.hide \(from) game:plain",
                ]
            )
        }
    }

    /// Every change of the table reaches other processes, whoever makes it.
    @Test(
        arguments: [
            "SELECT _expose('nothing()')", "SELECT _hide('plain')", "UPDATE _function SET need = 'master'",
            "DELETE FROM _function", "TRUNCATE _function",
        ]
    )
    func otherProcessesHearOfAChange(_ change: String) async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions + "SELECT _expose('plain');")
            try await fixture.withSecondService { other in
                let notices = try await other.service.store.sessions.notices()
                var iterator = notices.makeAsyncIterator()
                var notice = try await iterator.next()
                #expect(notice == .listening(again: false))
                try await fixture.psql(change)
                notice = try await iterator.next()
                #expect(notice == .functions)
            }
        }
    }

    // MARK: Calls

    private func function(_ name: String, _ fixture: ServiceFixture) async throws -> SQLFunction {
        let functions = try await fixture.service.store.sqlFunctions.all()
        return try #require(functions.first { $0.name.rawValue == name })
    }

    /// A function, its arguments, what is selected, and the result in JSON-RPC and in the v1 envelope.
    private static let calls: [(String, String?, String?, String)] = [
        ("plain", nil, nil, "1"), ("plain", #"{"a":7}"#, nil, "7"), ("plain", "[7]", nil, "7"),
        ("plain", #"{"a":null}"#, nil, "null"), ("nothing", nil, nil, "null"),
        ("notes", nil, #"{"select":["title"],"limit":1}"#, #""title":"second""#),
        (
            "notes", "{}", #"{"select":["title"],"sort":[[{"$type":"keypath","$val":"stars"},"asc"]],"limit":1}"#,
            #""title":"first""#
        ),
        ("notes", nil, #"{"count":true,"predicate":["eq",{"$type":"keypath","$val":"stars"},2]}"#, #""count":1"#),
        ("notes", nil, #"{"database_id":"_private"}"#, #""records":[]"#),
    ]

    @Test func aCallIsAnswered() async throws {
        try await withService { fixture in
            try await fixture.psql(
                Self.functions
                    + """
                    SELECT _expose('plain'), _expose('nothing'), _expose('notes');
                    INSERT INTO note (_id, title, stars) VALUES ('1', 'first', 1), ('2', 'second', 2);
                    """
            )
            for (name, arguments, query, expected) in Self.calls {
                let function = try await function(name, fixture)
                let result = try await fixture.service.answer(
                    function,
                    arguments: arguments.map(Self.json),
                    query: query.map(Self.json),
                    Call(by: Caller(kind: .user("ann")))
                )
                let text = writtenJSON(result.write)
                #expect(text.contains(expected), "\(name) \(query ?? ""): \(text)")
            }
        }
    }

    /// What is wrong with a call, and the code.
    @Test(
        arguments: [
            ("plain", #"{"b":1}"#, nil, 108), ("plain", #"{"a":"x"}"#, nil, 108), ("plain", "[1,2]", nil, 108),
            ("plain", nil, "{}", 108), ("notes", nil, #"{"record_type":"user"}"#, 108),
            ("notes", nil, #"{"explain":true}"#, 108), ("notes", nil, #"{"after":"x"}"#, 108),
            ("notes", nil, #"{"limit":-1}"#, 108), ("notes", nil, "[]", 108),
            ("notes", nil, #"{"predicate":["eq",{"$type":"keypath","$val":"gone"},2]}"#, 120),
            ("notes", nil, #"{"database_id":"_union"}"#, 101), ("broken", nil, nil, 10_000),
        ] as [(String, String?, String?, Int)]
    )
    func aWrongCallIsRefused(_ name: String, _ arguments: String?, _ query: String?, _ code: Int) async throws {
        try await withService { fixture in
            try await fixture.psql(
                Self.functions + "SELECT _expose('plain'), _expose('notes'), _expose('broken');"
            )
            let function = try await function(name, fixture)
            let error = try await expectError(ErrorCode(rawValue: code)) {
                try await fixture.service.answer(
                    function,
                    arguments: arguments.map(Self.json),
                    query: query.map(Self.json),
                    Call(by: Caller(kind: .user("ann")), from: RequestOrigin(requestID: "r7"))
                )
            }
            #expect(error?.info["request_id"] == (code == 10_000 ? .string("r7") : nil))
            #expect(error?.message.contains("zero") == false)
        }
    }

    @Test func aRequestThatIsOverCallsNothing() async throws {
        try await withService { fixture in
            try await fixture.psql(Self.functions + "SELECT _expose('plain');")
            let function = try await function("plain", fixture)
            try await expectError(.responseTimeout) {
                try await fixture.service.answer(
                    function,
                    arguments: nil,
                    query: nil,
                    Call(by: Self.master, deadline: ContinuousClock.now - .seconds(1))
                )
            }
        }
    }

    /// A trigger on profiles is a hook of sign-ups.
    @Test func aTriggerRefusesASignUp() async throws {
        try await withService { fixture in
            try await fixture.psql(
                """
                CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.username = 'bad' THEN RAISE EXCEPTION 'This name is taken by us.' USING ERRCODE = 'SK109'; END IF;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON "user" FOR EACH ROW EXECUTE FUNCTION guard();
                """
            )
            let error = try await expectError(.duplicated) { try await fixture.service.signUp("bad") }
            #expect(error?.message == "This name is taken by us.")
            _ = try await fixture.service.signUp("good")
        }
    }
}
