import NIOCore
import SkyrowHTTP
import SkyrowModel
import SkyrowTestSupport
import Testing

/// "What bad input gets": a named error each, the service up afterwards, nothing half done.
@Suite struct BadInputTests {
    /// A call and the code of the error that answers it, whole or as the first entry.
    struct Row: Sendable {
        let action: String
        let params: String
        let code: Int
        let isEntry: Bool

        /// A call that fails as a whole.
        static func call(_ action: String, _ params: String, _ code: Int) -> Row {
            Row(action: action, params: params, code: code, isEntry: false)
        }

        /// A record that is not saved.
        static func record(_ record: String, _ code: Int = 108) -> Row {
            Row(action: "record:save", params: "{\"records\":[\(record)]}", code: code, isEntry: true)
        }

        /// A query that is refused.
        static func query(_ rest: String, _ code: Int = 108) -> Row {
            call("record:query", "{\"record_type\":\"note\",\(rest)}", code)
        }

        var label: String { "\(action) \(params.prefix(80))" }
    }

    static let rows: [Row] = wrongShapes + wrongNames + wrongIDs + wrongValues + tooMuch

    private static let wrongShapes: [Row] = [
        .call("record:save", #"{"records":{}}"#, 107),
        .call("record:save", #"{"records":[]}"#, 108),
        .call("record:save", "{}", 108),
        .record("7"),
        .record("null"),
        .record(#"{"title":"x"}"#),
        .record(#"{"_id":7}"#),
        .call("record:save", #"{"records":[{"_id":"note/x"}],"atomic":"yes"}"#, 107),
        .call("record:save", #"{"records":[{"_id":"note/x"}],"database_id":7}"#, 107),
        .call("record:save", #"{"records":[{"_id":"note/x"}],"return":7}"#, 107),
        .call("record:save", #"{"records":[{"_id":"note/x"}],"return":"all"}"#, 108),
        .call("record:save", #"{"records":[{"_id":"note/x"}],"database_id":"_other"}"#, 108),
        .call("record:fetch", #"{"ids":"note/1"}"#, 107),
        .call("record:fetch", #"{"ids":[{}]}"#, 108),
        .query(#""limit":"ten""#, 107),
        .query(#""limit":1.5"#),
        .query(#""offset":-1"#),
        .query(#""predicate":["frob",1,2]"#),
        .query(#""predicate":["eq",1]"#),
        .call("auth:signup", #"{"auth_data":{"username":7},"password":"x"}"#, 108),
        .call("auth:login", #"{"auth_data":{"username":"a"},"password":7}"#, 107),
    ]

    private static let wrongNames: [Row] = [
        .record(#"{"_id":"note/x","\"; drop table note; --":1}"#),
        .record(#"{"_id":"\"; drop table note; --/x"}"#),
        .record(#"{"_id":"_auth/x"}"#),
        .record(#"{"_id":"_user/x"}"#),
        .record(#"{"_id":"💩/x"}"#),
        .record(#"{"_id":"note/x","💩":1}"#),
        .record(#"{"_id":"\#(String(repeating: "a", count: 64))/x"}"#),
        .record(#"{"_id":"note/x","\#(String(repeating: "a", count: 64))":1}"#),
        .call("record:query", #"{"record_type":"\"; drop table note; --"}"#, 108),
        .call("record:query", #"{"record_type":"_session"}"#, 108),
        .query(#""predicate":["eq",{"$type":"keypath","$val":"a\"b"},1]"#, 120),
        .call("schema:rename", #"{"record_type":"note","item_name":"title","new_name":"a b"}"#, 108),
    ]

    private static let wrongIDs: [Row] = [
        .record(#"{"_id":"note"}"#),
        .record(#"{"_id":"note/"}"#),
        .record(#"{"_id":"note/a\u0000b"}"#),
        .record(#"{"_id":"note/~ann/1"}"#),
        .record(#"{"_id":"note/\#(String(repeating: "x", count: 1000))"}"#),
        .call("record:fetch", #"{"ids":["note/a\u0000b"]}"#, 108),
        .call("record:fetch", #"{"ids":["' or 1=1 --/x"]}"#, 108),
        .call("record:delete", #"{"ids":["note"]}"#, 108),
    ]

    private static let wrongValues: [Row] = [
        .record(#"{"_id":"note/x","on":{"$type":"date","$date":"2023-02-29T00:00:00Z"}}"#),
        .record(#"{"_id":"note/x","on":{"$type":"date","$date":"2023-13-01T00:00:00Z"}}"#),
        .record(#"{"_id":"note/x","n":{"$type":"nonsense"}}"#),
        .record(#"{"_id":"note/x","n":1e999}"#),
        .record(#"{"_id":"note/x","n":9223372036854775808}"#),
        .record(#"{"_id":"note/x","t":"a\u0000b"}"#),
        .record(#"{"_id":"note/x","r":{"$type":"ref","$id":"nonsense"}}"#),
        .record(#"{"_id":"note/x","_access":[{"level":"own"}]}"#),
        .record(#"{"_id":"note/x","n":{"$op":"frob","$val":1}}"#),
        .record(#"{"_id":"note/x","n":{"$op":["inc"],"$val":1}}"#),
        .record(#"{"_id":"note/x","n":{"$op":"inc","$val":{"$op":"inc","$val":1}}}"#),
        .record(#"{"_id":"note/x","n":{"$op":"set_at","$index":0,"$val":1}}"#),
        .record(#"{"_id":"note/x","n":{"$op":"set_path","$path":"a","$val":"\u0000"}}"#),
    ]

    private static let tooMuch: [Row] = [
        .call("record:save", #"{"records":[\#(repeated(#"{"_id":"note/x"}"#, 10_001))]}"#, 108),
        .call("record:fetch", #"{"ids":[\#(repeated(#""note/x""#, 10_001))]}"#, 108),
        .query(#""predicate":["in",{"$type":"keypath","$val":"n"},[\#(repeated("7", 1_000_000))]]"#),
        .record(#"{"_id":"note/x","t":"\#(String(repeating: "x", count: 1 << 20))"}"#, 132),
        .record(#"{"_id":"note/x","t":{"$op":"push","$val":[\#(repeated("7", 10_001))]}}"#),
        .record(#"{"_id":"note/x","t":{"$op":"all","$val":[\#(repeated(#"{"$op":"unset"}"#, 33))]}}"#),
        .call(
            "record:save",
            #"{"records":[{"_id":"note/x"}],"idempotency_key":"\#(String(repeating: "k", count: 65))"}"#,
            108
        ),
    ]

    private static func repeated(_ text: String, _ count: Int) -> String {
        Array(repeating: text, count: count).joined(separator: ",")
    }

    @Test func eachGetsItsNamedErrorThroughBothEndpoints() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"x","n":1}]}"#,
                token: ann.token
            )
            let before = try await contents(service)
            for row in Self.rows {
                let key = row.action.hasPrefix("schema") ? TestService.masterKey : TestService.apiKey
                let rpc = try await service.call(row.action, row.params, key: key, token: ann.token)
                let rpcError = row.isEntry ? rpc["result"][0] : rpc["error"]
                #expect(rpcError["code"].integer == row.code, "rpc \(row.label): \(rpc)")
                let path = "/" + row.action.replacing(":", with: "/")
                let v1 = try JSONValue(try await service.v1(path, row.params, key: key, token: ann.token).body)
                let v1Error = row.isEntry ? v1["result"][0] : v1["error"]
                #expect(v1Error["code"].integer == row.code, "v1 \(row.label): \(v1)")
                #expect(v1Error["name"].string == ErrorCode(rawValue: row.code).name)
            }
            // v1 answers as many as there are (SkygearTranslationTests).
            let tooMany = try await service.call("record:query", #"{"record_type":"note","limit":1001}"#)
            #expect(tooMany["error"]["code"].integer == 108)
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
            let response = try await service.v1("/record/save", String(repeating: " ", count: 9 << 20))
            #expect(response.status == 413)
            #expect(try JSONValue(response.body)["error"]["name"].string == "PayloadTooLarge")
            #expect(try await service.v1("/", "{}").status == 200)
        }
    }

    @Test func oddButHarmlessNamesAndIDsWork() async throws {
        let ids = [
            "select/1", "table/1", "note/a/b", #"note/quote'\"`"#, #"note/back\\slash"#, "note/💩", "note/%00", "User/1",
        ]
        try await withService { service in
            let ann = try await service.signUp("ann")
            for id in ids {
                let saved = try await service.call(
                    "record:save",
                    #"{"records":[{"_id":"\#(id)","select":"from","order":1}]}"#,
                    token: ann.token
                )
                #expect(saved["result"][0]["_type"].string == "record", "\(saved)")
                let fetched = try await service.call("record:fetch", #"{"ids":["\#(id)"]}"#)
                #expect(fetched["result"][0]["select"].string == "from", "\(fetched)")
                #expect(fetched["result"][0]["_id"] == saved["result"][0]["_id"])
            }
        }
    }

    @Test func numbersBeyond64BitsAreRefusedAndThoseWithinKeepTheirDigits() async throws {
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
                "record:save",
                #"{"records":[{"_id":"note/1","most":9223372036854775808}]}"#,
                token: ann.token
            )
            #expect(beyond["result"][0]["code"].integer == 108)
            // Inside a json value they are kept as they were sent.
            let kept = try await service.rpc(
                #"""
                {"jsonrpc":"2.0","id":1,"method":"record:save","params":{"records":[
                    {"_id":"note/1","list":[9223372036854775808]}]}}
                """#,
                token: ann.token
            )
            #expect(kept.body.contains("[9223372036854775808]"))
        }
    }

    /// Every table with its number of rows.
    private func contents(_ service: TestService) async throws -> String {
        try await service.database.psql(
            """
            SELECT string_agg(relname || ' ' || (xpath('/row/c/text()', query_to_xml(
                format('SELECT count(*) AS c FROM %s', oid::regclass), false, true, '')))[1]::text, ', ' ORDER BY relname)
            FROM pg_class WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relkind = 'r'
                AND relname NOT LIKE '\\_session%'
            """
        )
    }
}
