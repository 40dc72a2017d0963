import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

/// What the v1 endpoint reads otherwise than JSON-RPC, beside the same request there (Protocol/skygear-v1.md).
@Suite struct SkygearTranslationTests {
    @Test func aNumberMakesANumberFieldInTheV1EnvelopeOnly() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let record = #"{"records":[{"_id":"old/1","n":3},{"_id":"old/2","n":9007199254740993,"list":[1]}]}"#
            _ = try await service.v1("/record/save", record, token: ann.token)
            _ = try await service.call("record:save", record.replacing("old/", with: "new/"), token: ann.token)
            let schema = try await service.call("schema:fetch", "{}")["result"]["record_types"]
            func type(_ name: String) -> String? {
                schema[name]["fields"].elements.first { $0["name"].string == "n" }?["type"].string
            }
            #expect(type("old") == "number" && type("new") == "integer")
        }
    }

    @Test func aFractionLaterIsNoConflictInProduction() async throws {
        try await withService(mode: .production) { service in
            let ann = try await service.signUp("ann")
            let created = try await service.call(
                "schema:create",
                #"{"record_types":{"old":{"fields":[{"name":"n","type":"number"},{"name":"i","type":"integer"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(created["error"] == .null)
            for (record, code) in [
                (#"{"_id":"old/1","n":3,"i":3}"#, nil), (#"{"_id":"old/1","n":1.5,"i":9007199254740993}"#, nil),
                (#"{"_id":"old/1","i":1.5}"#, 114),
            ] as [(String, Int?)] {
                let response = try await service.v1("/record/save", #"{"records":[\#(record)]}"#, token: ann.token)
                let body = try JSONValue(response.body)
                #expect((body["error"]["code"].integer ?? body["result"][0]["code"].integer) == code, "\(record)")
            }
            #expect(try await service.database.psql("SELECT i FROM app.old") == "9007199254740993")
        }
    }

    /// A string that is no value of the field's type is a wrong type in v1, and elsewhere one that is not cast.
    @Test func aWrongTypeIs114() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let first =
                #"{"_id":"note/1","n":1.5,"b":true,"at":{"$type":"date","$date":"2026-03-01T09:00:00Z"},"s":"x"}"#
            _ = try await service.call("record:save", "{\"records\":[\(first)]}", token: ann.token)
            let rows: [(field: String, v1: Int?, rpc: Int?)] = [
                (#""n":"x""#, 114, 108), (#""n":true"#, 114, 114), (#""b":"x""#, 114, 108), (#""b":1"#, 114, 114),
                (#""at":"soon""#, 114, 108), (#""s":1"#, 114, 114), (#""s":"y""#, nil, nil), (#""n":2"#, nil, nil),
                (#""n":"2.5""#, nil, nil),
            ]
            for row in rows {
                let body = #"{"records":[{"_id":"note/1",\#(row.field)}]}"#
                func code(_ body: JSONValue, _ result: JSONValue) -> Int? {
                    body["error"]["code"].integer ?? result[0]["code"].integer
                }
                let old = try JSONValue(try await service.v1("/record/save", body, token: ann.token).body)
                #expect(code(old, old["result"]) == row.v1, "\(row) \(old)")
                if row.v1 != nil {
                    #expect(
                        old["result"][0]["name"].string == "IncompatibleSchema"
                            || old["error"]["name"].string == "IncompatibleSchema"
                    )
                }
                let new = try await service.call("record:save", body, token: ann.token)
                #expect(code(new, new["result"]) == row.rpc, "\(row) \(new)")
                let atomic = #"{"atomic":true,"records":[{"_id":"note/1",\#(row.field)}]}"#
                let whole = try JSONValue(try await service.v1("/record/save", atomic, token: ann.token).body)
                let inner = whole["error"]["info"]["note/1"]["code"].integer ?? whole["error"]["code"].integer
                #expect(inner == row.v1, "\(row) \(whole)")
            }
        }
    }

    @Test func questionsOfV1ClientsAreAnswered() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"note/1","title":"x"}]}"#, token: ann.token)
            let include = #""include":{"t":{"$type":"keypath","$val":"title"},"m":{"$type":"keypath","$val":"no"}}"#
            let rows: [(question: String, v1: Int?, rpc: Int?)] = [
                (#""predicate":[]"#, nil, 108), (include, nil, 120), (#""limit":1001"#, nil, 108),
                (#""limit":1e4"#, nil, 108), (#""limit":-1"#, 108, 108),
            ]
            for row in rows {
                let body = #"{"record_type":"note",\#(row.question)}"#
                let old = try JSONValue(try await service.v1("/record/query", body, token: ann.token).body)
                let new = try await service.call("record:query", body, token: ann.token)
                #expect(old["error"]["code"].integer == row.v1, "\(row)")
                #expect(new["error"]["code"].integer == row.rpc, "\(row)")
                if row.v1 == nil { #expect(old["result"].elements.count == 1, "\(row)") }
                if row.question == include {
                    #expect(old["result"][0]["_transient"] == .object(["t": .null, "m": .null]))
                }
            }
        }
    }

    /// `func distance` in all places where v1 has it (skygear.md 6.5); `lt` holds on the circle too.
    @Test func distancesOfV1ClientsAreAnswered() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let shops = [(1, 0), (2, 1), (3, 5)].map { number, degrees in
                #"{"_id":"shop/\#(number)","place":{"$type":"geo","$lng":\#(degrees),"$lat":0}}"#
            }
            _ = try await service.call(
                "record:save",
                #"{"records":[\#(shops.joined(separator: ","))]}"#,
                token: ann.token
            )
            let distance = #"["func","distance",{"$type":"keypath","$val":"place"},{"$type":"geo","$lng":0,"$lat":0}]"#
            let rows = [
                (#"["lt",\#(distance),0]"#, ["shop/1"]), (#"["gt",200000,\#(distance)]"#, ["shop/2", "shop/1"]),
                (#"["gte",\#(distance),200000]"#, ["shop/3"]), (#"["gt",\#(distance),0]"#, ["shop/3", "shop/2"]),
            ]
            for (predicate, ids) in rows {
                let body = #"""
                    {"record_type":"shop","predicate":\#(predicate),"sort":[[\#(distance),"desc"]],"include":{"far":\#(distance)}}
                    """#
                let old = try JSONValue(try await service.v1("/record/query", body, token: ann.token).body)
                let new = try await service.call("record:query", body, token: ann.token)
                #expect(old["result"].elements.map(\.["_id"].string) == ids, "\(predicate)")
                #expect(new["result"]["records"].elements == old["result"].elements, "\(predicate)")
                for record in old["result"].elements {
                    let isHere = record["_id"].string == "shop/1"
                    #expect((record["_transient"]["far"].integer == 0) == isHere, "\(record)")
                }
            }
        }
    }

    @Test func aHiddenFieldIsNoNullInAnInclusion() async throws {
        try await withService { service in
            _ = try await service.signUp("ann")
            let body = #"{"record_type":"user","include":{"x":{"$type":"keypath","$val":"username"}}}"#
            let response = try await service.v1("/record/query", body)
            #expect(try JSONValue(response.body)["error"]["code"].integer == 124)
        }
    }

    @Test func aLoginProviderThatThereIsNotIsAnInvalidArgument() async throws {
        try await withService { service in
            for action in ["login", "signup"] {
                let body = #"{"provider":"com.example","provider_auth_data":{}}"#
                let old = try JSONValue(try await service.v1("/auth/\(action)", body).body)
                let new = try await service.call("auth:\(action)", body)
                for error in [old["error"], new["error"]] { #expect(error["code"].integer == 108) }
            }
        }
    }

    @Test func withoutALimitV1AnswersAllOrFails() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"note/0"}]}"#, token: ann.token)
            try await service.database.psql(
                "INSERT INTO app.note (_id) SELECT i::text FROM generate_series(1, 9999) AS i"
            )
            func old(_ limit: String) async throws -> JSONValue {
                try JSONValue(try await service.v1("/record/query", #"{"record_type":"note"\#(limit)}"#).body)
            }
            for (limit, count) in [
                ("", 10_000), (#","limit":20000"#, 10_000), (#","limit":1500"#, 1500), (#","limit":7"#, 7),
            ] {
                #expect(try await old(limit)["result"].elements.count == count)
            }
            try await service.database.psql("INSERT INTO app.note (_id) VALUES ('one more')")
            for limit in ["", #","limit":20000"#] {
                let error = try await old(limit)["error"]
                #expect(error["code"].integer == 108 && error["info"]["arguments"][0].string == "limit")
            }
            #expect(try await old(#","limit":10000"#)["result"].elements.count == 10_000)
        }
    }

    @Test func jsonRPCSaysThatItCut() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1"},{"_id":"note/2"},{"_id":"note/3"}]}"#,
                token: ann.token
            )
            for (limit, count, hasMore) in [(2, 2, true), (3, 3, false), (4, 3, false), (0, 0, false)] {
                for isCounted in [true, false] {
                    let response = try await service.call(
                        "record:query",
                        #"{"record_type":"note","limit":\#(limit),"count":\#(isCounted)}"#
                    )["result"]
                    #expect(response["records"].elements.count == count)
                    #expect(response["info"]["has_more"] == .boolean(hasMore))
                    #expect((response["info"]["cursor"].string != nil) == (count > 0))
                    #expect(response["info"]["count"].integer == (isCounted ? 3 : nil))
                }
            }
        }
    }

    @Test func anEmptyListOfParametersIsNone() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            #expect(try await service.call("me", "[]", token: ann.token)["result"]["user_id"].string == ann.id)
            #expect(try await service.call("me", "[1]", token: ann.token)["error"]["code"].integer == -32602)
            #expect(try await service.call("record:fetch", "[]")["error"]["code"].integer == 108)
        }
    }

    @Test func anEntryForTheOwnerIsNotStored() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let record = #"{"_id":"note/1","_access":[{"owner":true,"level":"write"},{"public":true,"level":"read"}]}"#
            _ = try await service.v1("/record/save", #"{"records":[\#(record)]}"#, token: ann.token)
            let fetched = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, token: ann.token)
            #expect(
                fetched["result"][0]["_access"]
                    == .array([.object(["public": .boolean(true), "level": .string("read")])])
            )
        }
    }

    @Test func errorsAndLoginsHaveTheFormOfV1() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let body = #"{"atomic":true,"records":[{"_id":"nonsense"},{"_id":"note/1"}]}"#
            let old = try JSONValue(try await service.v1("/record/save", body, token: ann.token).body)["error"]
            #expect(old["code"].integer == 108 && old["info"]["arguments"].string == "records")
            #expect(old["info"]["errors"].elements.count == 1)
            let new = try await service.call("record:save", body, token: ann.token)["error"]
            #expect(new["data"]["info"]["arguments"] == .array([.string("records")]))
            let login = #"{"auth_data":{"username":"ann"},"password":"a long secret"}"#
            let first = try JSONValue(try await service.v1("/auth/login", login).body)["result"]
            #expect(first["last_login_at"].string != nil && first["last_seen_at"].string != nil)
        }
    }

    @Test func temporaryIDsInsideOfListsBecomeTheSameFreshIDs() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let reference = #"{"$type":"ref","$id":"note/$1"}"#
            let saved = try await service.call(
                "record:save",
                #"""
                {"records":[{"_id":"note/$1","title":"x"},
                    {"_id":"note/2","list":[\#(reference),{"deep":\#(reference)},"note/$1"]},
                    {"_id":"note/3","list":[{"$type":"ref","$id":"note/$2"}]}]}
                """#,
                token: ann.token
            )["result"]
            let id = try #require(saved[0]["_id"].string)
            #expect(!id.contains("$"))
            #expect(saved[1]["list"][0]["$id"].string == id)
            #expect(saved[1]["list"][1]["deep"]["$id"].string == id)
            // A text is no reference.
            #expect(saved[1]["list"][2].string == "note/$1")
            #expect(saved[2]["code"].integer == 108)
        }
    }
}
