import SkyrowModel
import Testing

/// `record:aggregate` through both envelopes.
@Suite(.timeLimit(.minutes(60))) struct AggregateEndpointTests {
    @Test func bothEnvelopesAnswerGroups() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let records = (1...7).map { number in
                #"{"_id":"lap/\#(number)","seconds":\#(60 + number),"day":"\#(number < 3 ? "mon" : "tue")","big":9223372036854775807}"#
            }
            _ = try await service.call(
                "record:save",
                "{\"records\":[\(records.joined(separator: ","))]}",
                token: ann.token
            )
            let question = #"""
                {"record_type":"lap","group_by":{"day":{"$type":"keypath","$val":"day"}},
                 "aggregates":{"n":["count"],"best":["min",{"$type":"keypath","$val":"seconds"}],"sum":["sum",{"$type":"keypath","$val":"big"}]},
                 "sort":[[{"$type":"keypath","$val":"n"},"desc"]],"limit":1}
                """#
            let expected =
                #"{"groups":[{"day":"tue","n":5,"best":63,"sum":46116860184273879035}],"info":{"has_more":true}}"#
            let rpc = try await service.rpc(
                #"{"jsonrpc":"2.0","id":1,"method":"record:aggregate","params":\#(question)}"#
            )
            #expect(rpc.body == #"{"jsonrpc":"2.0","id":1,"result":\#(expected)}"#)
            let v1 = try await service.v1("/record/aggregate", question)
            #expect(v1.body == #"{"result":\#(expected)}"#)
        }
    }

    @Test func anErrorNamesItsElement() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"lap/1","day":"mon"}]}"#, token: ann.token)
            let rows: [(members: String, code: Int, path: String?)] = [
                (#""aggregates":{"n":["sum",{"$val":"day"}]}"#, 108, "aggregates.n[0]"),
                (#""group_by":{"k":{"$val":"nowhere"}}"#, 120, "group_by.k"),
                (
                    #""group_by":{"k":{"bucket":"day","of":{"$val":"_created_at"},"time_zone":"Mars"}}"#, 108,
                    "group_by.k.time_zone"
                ),
                (#""aggregates":{"n":["count"]},"having":["gt",{"$val":"day"},1]"#, 120, "having[1]"),
                (#""aggregates":{"n":["count"]},"limit":1001"#, 108, nil), ("\"limit\":1", 108, "aggregates"),
            ]
            for row in rows {
                let response = try await service.call("record:aggregate", "{\"record_type\":\"lap\",\(row.members)}")
                #expect(response["error"]["code"].integer == row.code, "\(row.members)")
                #expect(response["error"]["data"]["info"]["path"].string == row.path)
            }
            let hidden = #"{"record_type":"user","group_by":{"k":{"$val":"email"}}}"#
            let refused = try await service.call("record:aggregate", hidden)
            #expect(refused["error"]["code"].integer == 124)
            #expect(refused["error"]["data"]["info"]["path"].string == "group_by.k")
            let none = try await service.call("record:aggregate", hidden, key: nil)
            #expect(none["error"]["code"].integer == 101)
        }
    }

    @Test func itIsExplainedToTheMasterKeyAlone() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"lap/1","day":"mon"}]}"#, token: ann.token)
            for mode in ["true", #""analyze""#] {
                let question = #"{"record_type":"lap","aggregates":{"n":["count"]},"explain":\#(mode)}"#
                let explained = try await service.call("record:aggregate", question, key: TestService.masterKey)
                #expect(explained["result"]["cost_class"].string == "indexed")
                #expect(explained["result"]["statements"][0]["sql"].string?.contains("count(*)") == true)
                let refused = try await service.call("record:aggregate", question, token: ann.token)
                #expect(refused["error"]["code"].integer == 102)
            }
            let wrong = #"{"record_type":"lap","aggregates":{"n":["count"]},"explain":1}"#
            let response = try await service.call("record:aggregate", wrong, key: TestService.masterKey)
            #expect(response["error"]["code"].integer == 107)
        }
    }
}
