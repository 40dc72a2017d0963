import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// The errors that functions and triggers raise for clients, and those that clients do not see.
@Suite(.timeLimit(.minutes(60))) struct RaisedErrorTests {
    /// What the database reports; the code, the message and `info` of the error.
    struct Row: Sendable, CustomTestStringConvertible {
        var sqlState: String
        var detail: String?
        var code: Int
        var info: [String: ErrorInfo]
        var showsMessage: Bool

        init(
            _ sqlState: String,
            _ code: Int,
            _ info: [String: ErrorInfo] = [:],
            detail: String? = nil,
            shows: Bool = true
        ) {
            self.sqlState = sqlState
            self.detail = detail
            self.code = code
            self.info = info
            showsMessage = shows
        }

        var testDescription: String { "\(sqlState) \(detail ?? "")" }
    }

    private static let message = "The score of note 7 is too high."

    private static let rows: [Row] = [
        Row("SK101", 101), Row("SK102", 102), Row("SK108", 108), Row("SK110", 110), Row("SK130", 130),
        Row("SK138", 138),
        // Codes that do not exist, and what is no code.
        Row("SK100", 10_000, shows: false), Row("SK112", 10_000, shows: false), Row("SK116", 10_000, shows: false),
        Row("SK139", 10_000, shows: false), Row("SK000", 10_000, shows: false), Row("SKXYZ", 10_000, shows: false),
        Row("SK1E2", 10_000, shows: false), Row("SK+10", 10_000, shows: false),
        Row("SKAPP", 20_000, detail: #"{"code":20000}"#),
        Row("SKAPP", 29_999, detail: #"{"code":29999,"info":{}}"#),
        Row(
            "SKAPP",
            20_001,
            ["a": .string("x"), "b": .integer(7), "c": .boolean(true), "d": .list([.integer(1), .string("y")])],
            detail: #"{"code":20001,"info":{"a":"x","b":7,"c":true,"d":[1,"y"],"e":1.5,"f":null,"g":{"h":1}}}"#
        ),
        Row("SKAPP", 20_001, detail: #"{"code":20001,"info":"x"}"#),
        Row("SKAPP", 10_000, detail: #"{"code":19999}"#, shows: false),
        Row("SKAPP", 10_000, detail: #"{"code":30000}"#, shows: false),
        Row("SKAPP", 10_000, detail: #"{"code":108}"#, shows: false),
        Row("SKAPP", 10_000, detail: #"{"code":"20001"}"#, shows: false),
        Row("SKAPP", 10_000, detail: "{}", shows: false), Row("SKAPP", 10_000, detail: "[20001]", shows: false),
        Row("SKAPP", 10_000, detail: "20001", shows: false), Row("SKAPP", 10_000, detail: "no JSON", shows: false),
        Row("SKAPP", 10_000, shows: false),
        Row(
            "SKAPP",
            10_000,
            detail: #"{"code":20001,"info":{"a":""# + String(repeating: "x", count: 9000) + #""}}"#,
            shows: false
        ),
    ]

    @Test(arguments: rows)
    func aCodeOfTheClassSKIsTheErrorOfItsNumber(_ row: Row) {
        let error = SkyrowError(
            PostgresError(
                code: .server,
                sqlState: PostgresSQLState(rawValue: row.sqlState),
                message: Self.message,
                detail: row.detail
            )
        )
        #expect(error.code.rawValue == row.code)
        #expect(error.info == row.info)
        #expect((error.message == Self.message) == row.showsMessage)
    }

    @Test(arguments: [
        (1000, "a", 1000), (1001, "a", 1000), (500, "\u{E9}", 1000), (501, "\u{E9}", 1000), (334, "\u{20AC}", 999),
    ])
    func aMessageHasABoundBetweenCharacters(_ count: Int, _ character: String, _ bytes: Int) {
        let error = SkyrowError(
            PostgresError(code: .server, sqlState: "SK108", message: String(repeating: character, count: count))
        )
        #expect(error.message.utf8.count == bytes)
        #expect(error.message.allSatisfy { String($0) == character })
    }

    /// What a function does with errors; the code that its caller gets.
    @Test(
        arguments: [
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'SK108'", 108),
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'SKAPP', DETAIL = '{\"code\":20001}'", 20_001),
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'SK999'", 10_000), ("RAISE EXCEPTION 'secret'", 10_000),
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'check_violation'", 10_000),
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'invalid_text_representation'", 10_000),
            ("INSERT INTO app.note (_id) VALUES ('taken'), ('taken')", 10_000), ("PERFORM 1 / 0", 10_000),
            ("PERFORM 'secret'::integer", 10_000), ("PERFORM secret FROM app.note", 10_000), ("PERFORM gone()", 10_000),
            ("RAISE EXCEPTION 'secret' USING ERRCODE = 'lock_not_available'", 135), ("PERFORM pg_sleep(0)", 0),
        ]
    )
    func aFunctionShowsOnlyWhatItRaisesForTheClient(_ body: String, _ code: Int) async throws {
        try await withRecords { f in
            for volatility in ["STABLE", "VOLATILE"] where volatility == "VOLATILE" || !body.hasPrefix("INSERT") {
                try await f.psql(
                    """
                    CREATE OR REPLACE FUNCTION raising() RETURNS void LANGUAGE plpgsql \(volatility) AS $$ BEGIN \(body); END $$;
                    SELECT _expose('raising');
                    """
                )
                guard code != 0 else {
                    #expect(try await f.call("raising") == "null")
                    continue
                }
                let error = try await f.refusal(of: "raising")
                #expect(error.code.rawValue == code, "\(volatility): \(error)")
                #expect(error.message.contains("secret") == (code == 108 || code == 20_001))
            }
        }
    }

    private static let guards = """
        CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' THEN
                IF OLD.title = 'kept' THEN RAISE EXCEPTION 'This note is kept.' USING ERRCODE = 'SK102'; END IF;
                RETURN OLD;
            END IF;
            IF NEW.title = 'bad' THEN RAISE EXCEPTION 'This title is bad.' USING ERRCODE = 'SK108'; END IF;
            IF NEW.title = 'over' THEN
                RAISE EXCEPTION 'The game is over.' USING ERRCODE = 'SKAPP', DETAIL = '{"code":20001,"info":{"by":"ann"}}';
            END IF;
            IF NEW.title = 'plain' THEN RAISE EXCEPTION 'a text of the database'; END IF;
            IF TG_OP = 'INSERT' AND NEW.title = 'only change' THEN
                RAISE EXCEPTION 'No such note.' USING ERRCODE = 'SK110';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON note FOR EACH ROW EXECUTE FUNCTION guard();
        """

    private func withGuards(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            try await f.psql(Self.guards)
            try await body(f)
        }
    }

    @Test func aTriggerRefusesARecordWithItsCode() async throws {
        try await withGuards { f in
            let titles = ["good", "bad", "fine", "over", "plain", "well"]
            let outcomes = try await f.store.save(
                titles.enumerated().map { .draft(draft("note/\($0)", ["title": .string($1)])) },
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map { $0.error?.code.rawValue } == [nil, 108, nil, 20_001, 113, nil])
            #expect(outcomes[1].error?.message == "This title is bad.")
            #expect(outcomes[3].error?.info == ["by": .string("ann")])
            #expect(outcomes[4].error?.message.contains("a text") == false)
            #expect(try await f.fetch("note/0")?.fields[field("title")] == .string("good"))
            #expect(try await f.fetch("note/1") == nil)
        }
    }

    @Test func anAtomicSaveFailsAsAWhole() async throws {
        try await withGuards { f in
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.save(
                    ["good", "bad"].map { .draft(draft("note/\($0)", ["title": .string($0)])) },
                    in: .everyone,
                    caller: .ann,
                    atomic: true
                )
            }
            #expect(error?.code == .atomicOperationFailure)
            guard case .error(let inner)? = error?.info["note/bad"] else {
                Issue.record("\(String(describing: error?.info))")
                return
            }
            #expect(inner.code == .invalidArgument)
            #expect(inner.message == "This title is bad.")
            let good = try await f.fetch("note/good")
            #expect(good == nil)
        }
    }

    /// A save does not know whether the record exists; a trigger that refuses new records does not refuse changes.
    @Test func aTriggerOfNewRecordsDoesNotMeetChanges() async throws {
        try await withGuards { f in
            try await f.save("note/1", ["title": .string("good")])
            try await f.save("note/1", ["title": .string("only change")])
            let outcome = try await f.store.save(
                [.draft(draft("note/2", ["title": .string("only change")]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )[0]
            #expect(outcome.error?.code == .resourceNotFound)
            #expect(outcome.error?.message == "No such note.")
        }
    }

    @Test func aTriggerRefusesADelete() async throws {
        try await withGuards { f in
            try await f.save([draft("note/1", ["title": .string("kept")]), draft("note/2", ["title": .string("gone")])])
            let outcomes = try await f.store.delete(
                [id("note/1"), id("note/2")],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes[0].error?.code == .permissionDenied)
            #expect(outcomes[0].error?.message == "This note is kept.")
            #expect(outcomes[1].isDeleted)
            #expect(try await f.fetch("note/1") != nil)
        }
    }
}
