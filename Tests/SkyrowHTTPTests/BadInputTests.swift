import NIOCore
import SkyrowHTTP
import SkyrowModel
import SkyrowTestSupport
import Testing

/// "What bad input gets": a named error each, the service up afterwards, nothing half done.
@Suite struct BadInputTests {
    /// A body and the code of the error that answers it, whole or as the first entry.
    struct Row: Sendable, CustomTestStringConvertible {
        let action: String
        let params: String
        let code: Int
        var isEntry = false

        var testDescription: String { "\(action) \(params.prefix(60))" }
    }

    static let rows: [Row] = wrongShapes + wrongNames + wrongIDs + wrongValues + tooMuch

    private static let wrongShapes = [
        Row(action: "record:save", params: #"{"records":{}}"#, code: 107),
        Row(action: "record:save", params: #"{"records":[]}"#, code: 108),
        Row(action: "record:save", params: "{}", code: 108),
        Row(action: "record:save", params: #"{"records":[7]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[null]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"title":"x"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":7}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x"}],"atomic":"yes"}"#, code: 107),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x"}],"database_id":7}"#, code: 107),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x"}],"database_id":"_other"}"#, code: 108),
        Row(action: "record:fetch", params: #"{"ids":"note/1"}"#, code: 107),
        Row(action: "record:fetch", params: #"{"ids":[{}]}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"note","limit":"ten"}"#, code: 107),
        Row(action: "record:query", params: #"{"record_type":"note","limit":1.5}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"note","limit":1001}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"note","offset":-1}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"note","predicate":["frob",1,2]}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"note","predicate":["eq",1]}"#, code: 108),
        Row(action: "auth:signup", params: #"{"auth_data":{"username":7},"password":"x"}"#, code: 108),
        Row(action: "auth:login", params: #"{"auth_data":{"username":"a"},"password":7}"#, code: 107),
    ]

    private static let wrongNames = [
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","\"; drop table note; --":1}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"\"; drop table note; --/x"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"_auth/x"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"_user/x"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"💩/x"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","💩":1}]}"#, code: 108, isEntry: true),
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"\#(String(repeating: "a", count: 64))/x"}]}"#, code: 108, isEntry: true
        ),
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"note/x","\#(String(repeating: "a", count: 64))":1}]}"#, code: 108, isEntry: true
        ),
        Row(action: "record:query", params: #"{"record_type":"\"; drop table note; --"}"#, code: 108),
        Row(action: "record:query", params: #"{"record_type":"_session"}"#, code: 108),
        Row(
            action: "record:query",
            params: #"{"record_type":"note","predicate":["eq",{"$type":"keypath","$val":"a\"b"},1]}"#, code: 120
        ),
        Row(action: "schema:rename", params: #"{"record_type":"note","item_name":"title","new_name":"a b"}"#, code: 108),
    ]

    private static let wrongIDs = [
        Row(action: "record:save", params: #"{"records":[{"_id":"note"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/a\u0000b"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/~ann/1"}]}"#, code: 108, isEntry: true),
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"note/\#(String(repeating: "x", count: 1000))"}]}"#, code: 108, isEntry: true
        ),
        Row(action: "record:fetch", params: #"{"ids":["note/a\u0000b"]}"#, code: 108),
        Row(action: "record:fetch", params: #"{"ids":["' or 1=1 --/x"]}"#, code: 108),
        Row(action: "record:delete", params: #"{"ids":["note"]}"#, code: 108),
    ]

    private static let wrongValues = [
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"note/x","on":{"$type":"date","$date":"2023-02-29T00:00:00Z"}}]}"#,
            code: 108, isEntry: true
        ),
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"note/x","on":{"$type":"date","$date":"2023-13-01T00:00:00Z"}}]}"#,
            code: 108, isEntry: true
        ),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","n":{"$type":"nonsense"}}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","n":1e999}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","t":"a\u0000b"}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","r":{"$type":"ref","$id":"nonsense"}}]}"#, code: 108, isEntry: true),
        Row(action: "record:save", params: #"{"records":[{"_id":"note/x","_access":[{"level":"own"}]}]}"#, code: 108, isEntry: true),
    ]

    private static let tooMuch = [
        Row(
            action: "record:save",
            params: "{\"records\":[\(repeated(#"{"_id":"note/x"}"#, 10_001))]}", code: 108
        ),
        Row(action: "record:fetch", params: "{\"ids\":[\(repeated(#""note/x""#, 10_001))]}", code: 108),
        Row(
            action: "record:query",
            params:
                "{\"record_type\":\"note\",\"predicate\":[\"in\",{\"$type\":\"keypath\",\"$val\":\"n\"},[\(repeated("7", 1_000_000))]]}",
            code: 108
        ),
        Row(
            action: "record:save",
            params: #"{"records":[{"_id":"note/x","t":"\#(String(repeating: "x", count: 1 << 20))"}]}"#,
            code: 132, isEntry: true
        ),
        Row(
            action: "record:save", params: #"{"records":[{"_id":"note/x"}],"idempotency_key":"\#(String(repeating: "k", count: 65))"}"#,
            code: 108
        ),
    ]

    private static func repeated(_ text: String, _ count: Int) -> String {
        Array(repeating: text, count: count).joined(separator: ",")
    }

    @Test func eachGetsItsNamedErrorThroughBothDoors() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"note/1","title":"x","n":1}]}"#, token: ann.token)
            let before = try await contents(service)
            for row in Self.rows {
                let key = row.action.hasPrefix("schema") ? TestService.masterKey : TestService.apiKey
                let rpc = try await service.call(row.action, row.params, key: key, token: ann.token)
                let rpcError = row.isEntry ? rpc["result"][0] : rpc["error"]
                #expect(rpcError["code"].integer == row.code, "rpc \(row.testDescription): \(rpc)")
                let path = "/" + row.action.replacing(":", with: "/")
                let v1 = try JSONValue(try await service.v1(path, row.params, key: key, token: ann.token).body)
                let v1Error = row.isEntry ? v1["result"][0] : v1["error"]
                #expect(v1Error["code"].integer == row.code, "v1 \(row.testDescription): \(v1)")
                #expect(v1Error["name"].string == ErrorCode(rawValue: row.code).name)
            }
            #expect(try await contents(service) == before)
            let fetched = try await service.call("record:fetch", #"{"ids":["note/1"]}"#)
            #expect(fetched["result"][0]["title"].string == "x")
        }
    }

    @Test(arguments: ["/rpc", "/record/fetch"])
    func sixtyFiveLevelsAreTooDeep(path: String) async throws {
        try await withService { service in
            func nested(_ levels: Int) -> String {
                String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
            }
            let code = path == "/rpc" ? -32700 : 107
            // The body's own object is the first level.
            let tooDeep = try await service.v1(path, #"{"x":\#(nested(64))}"#)
            #expect(try JSONValue(tooDeep.body)["error"]["code"].integer == code)
            let deepEnough = try await service.v1(path, #"{"x":\#(nested(63))}"#)
            #expect(try JSONValue(deepEnough.body)["error"]["code"].integer != code)
        }
    }

    @Test func aNineMegabyteBodyIsPayloadTooLarge() async throws {
        try await withService { service in
            let answer = try await service.v1("/record/save", String(repeating: " ", count: 9 << 20))
            #expect(answer.status == 413)
            #expect(try JSONValue(answer.body)["error"]["name"].string == "PayloadTooLarge")
            #expect(try await service.v1("/", "{}").status == 200)
        }
    }

    @Test func oddButHarmlessNamesAndIDsWork() async throws {
        let ids = ["select/1", "table/1", "note/a/b", #"note/quote'\"`"#, #"note/back\\slash"#, "note/💩", "note/%00", "User/1"]
        try await withService { service in
            let ann = try await service.signUp("ann")
            for id in ids {
                let saved = try await service.call(
                    "record:save", #"{"records":[{"_id":"\#(id)","select":"from","order":1}]}"#, token: ann.token
                )
                #expect(saved["result"][0]["_type"].string == "record", "\(saved)")
                let fetched = try await service.call("record:fetch", #"{"ids":["\#(id)"]}"#)
                #expect(fetched["result"][0]["select"].string == "from", "\(fetched)")
                #expect(fetched["result"][0]["_id"] == saved["result"][0]["_id"])
            }
        }
    }

    @Test func numbersBeyond64BitsAreDoublesOrRefused() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let saved = try await service.rpc(
                #"""
                {"jsonrpc":"2.0","id":1,"method":"record:save","params":{"records":[
                    {"_id":"note/1","least":-9223372036854775808,"most":9223372036854775807}]}}
                """#,
                token: ann.token
            )
            #expect(saved.body.contains(#""least":-9223372036854775808"#))
            #expect(saved.body.contains(#""most":9223372036854775807"#))
            let beyond = try await service.call(
                "record:save", #"{"records":[{"_id":"note/1","most":9223372036854775808}]}"#, token: ann.token
            )
            let kept = try await service.rpc(
                #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#
            )
            // Whatever the column made of it, no digits were lost in silence.
            if beyond["result"][0]["_type"].string == "error" {
                #expect(kept.body.contains(#""most":9223372036854775807"#))
            } else {
                #expect(beyond["result"][0]["most"] == .number(9223372036854775808))
            }
        }
    }

    /// Every table with its number of rows.
    private func contents(_ service: TestService) async throws -> String {
        try await service.database.psql(
            """
            SELECT string_agg(relname || ' ' || (xpath('/row/c/text()', query_to_xml(
                format('SELECT count(*) AS c FROM app.%I', relname), false, true, '')))[1]::text, ', ' ORDER BY relname)
            FROM pg_class WHERE relnamespace = 'app'::regnamespace AND relkind = 'r' AND relname NOT LIKE '\\_session%'
            """
        )
    }
}
