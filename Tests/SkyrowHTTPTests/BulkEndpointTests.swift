import SkyrowModel
import SkyrowTestSupport
import Testing

/// `record:update`, and `record:delete` by a predicate, through both envelopes.
@Suite(.timeLimit(.minutes(60))) struct BulkEndpointTests {
    private static let late = #"["gt",{"$type":"keypath","$val":"days"},2]"#

    private func withTasks(_ body: @escaping @Sendable (TestService, String, String) async throws -> Void) async throws
    {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            for (token, letter) in [(ann.token, "a"), (bob.token, "b")] {
                let records = (1...4).map { #"{"_id":"task/\#(letter)\#($0)","days":\#($0),"late":false}"# }
                _ = try await service.call(
                    "record:save",
                    "{\"records\":[\(records.joined(separator: ","))]}",
                    token: token
                )
            }
            try await body(service, ann.token, bob.token)
        }
    }

    @Test func bothEnvelopesAnswerTheSame() async throws {
        try await withTasks { service, ann, _ in
            let set = #""set":{"late":true,"days":{"$op":"inc","$val":10}},"at_most":10"#
            let counts = "SELECT sum(days), count(*) FILTER (WHERE late) FROM app.task"
            let question = #"{"record_type":"task","predicate":\#(Self.late),\#(set)}"#
            let updated = #""updated":["task/a3","task/a4"],"no_permission":["task/b3","task/b4"]"#
            let expected = #"{\#(updated),"not_found":[],"conflict":[],"count":4}"#
            let dry = try await service.v1(
                "/record/update",
                String(question.dropLast()) + #","dry_run":true}"#,
                token: ann
            )
            #expect(dry.body == #"{"result":\#(expected)}"#)
            let rpc = try await service.rpc(
                #"{"jsonrpc":"2.0","id":1,"method":"record:update","params":\#(question)}"#,
                token: ann
            )
            #expect(rpc.body == #"{"jsonrpc":"2.0","id":1,"result":\#(expected)}"#)
            #expect(
                try await service.database.psql(counts)
                    == "40|2"
            )
            let gone = try await service.v1(
                "/record/delete",
                #"{"record_type":"task","predicate":\#(Self.late),"at_most":10}"#,
                token: ann
            )
            #expect(
                gone.body
                    == "{\"result\":\(expected.replacing("updated", with: "deleted"))}"
            )
        }
    }

    @Test func aKeyIsCarriedOutOnce() async throws {
        try await withTasks { service, ann, bob in
            func count(_ amount: Int, _ token: String) async throws -> JSONValue {
                try await service.call(
                    "record:update",
                    #"""
                    {"record_type":"task","predicate":["and"],"set":{"days":{"$op":"inc","$val":\#(amount)}},
                     "at_most":9,"idempotency_key":"k"}
                    """#,
                    token: token
                )
            }
            let first = try await count(1, ann)
            #expect(first["result"]["count"].integer == 8, "\(first)")
            #expect(try await count(1, ann) == first)
            #expect(try await count(2, ann)["error"]["code"].integer == 133)
            #expect(try await count(1, bob)["result"]["updated"] != first["result"]["updated"])
            #expect(try await service.database.psql("SELECT sum(days) FROM app.task") == "28")
        }
    }

    @Test func whatCannotBeAskedNamesItsElement() async throws {
        try await withTasks { service, ann, _ in
            let task = #""record_type":"task""#
            let most = #"\#(task),"predicate":\#(Self.late),"at_most":9"#
            let late = #""set":{"late":true}"#
            let rows: [(method: String, members: String, code: Int, path: String?)] = [
                ("update", #"\#(most)"#, 108, nil),
                ("update", #"\#(most),"set":{}"#, 108, "set"),
                ("update", #"\#(most),"set":[1]"#, 107, nil),
                ("update", #"\#(most),"set":{"_id":"task/x"}"#, 108, "set._id"),
                (
                    "update", #"\#(most),"set":{"_owner":"bob"}"#, 108,
                    "set._owner"
                ),
                ("update", #"\#(most),"set":{"days":"many"}"#, 108, "set.days"),
                (
                    "update",
                    #"\#(most),"set":{"days":{"$op":"inc","$val":"x"}}"#, 108,
                    "set.days.$val"
                ),
                ("update", #"\#(task),"predicate":\#(Self.late),\#(late)"#, 108, nil),
                ("update", #"\#(task),"predicate":\#(Self.late),\#(late),"at_most":0"#, 108, nil),
                ("update", #"\#(task),"predicate":\#(Self.late),\#(late),"at_most":10001"#, 108, nil),
                ("update", #"\#(task),\#(late),"at_most":9"#, 108, nil),
                ("update", #"\#(task),"predicate":[],\#(late),"at_most":9"#, 108, "predicate"),
                (
                    "update", #"\#(task),"predicate":["eq",{"$val":"x"},1],\#(late),"at_most":9"#, 120,
                    "predicate[1]"
                ),
                ("update", #"\#(task),"predicate":\#(Self.late),"ids":["task/1"],\#(late)"#, 108, "ids"),
                ("update", #"\#(task),"ids":[],\#(late)"#, 108, nil),
                ("update", #"\#(task),"ids":["task/1","note/1"],\#(late)"#, 108, "ids[1]"),
                ("update", #"\#(task),"ids":["task"],\#(late)"#, 108, "ids[0]"),
                ("update", #"\#(task),"predicate":\#(Self.late),\#(late),"at_most":1"#, 108, "at_most"),
                ("delete", #"\#(task),"predicate":\#(Self.late)"#, 108, nil),
                ("delete", #"\#(most),"ids":["task/1"]"#, 108, "ids"),
                ("delete", #"\#(most),"atomic":false"#, 108, "atomic"),
                ("delete", #""ids":["task/a1"],"dry_run":true"#, 108, "dry_run"),
                ("delete", #""ids":["task/a1"],"at_most":9"#, 108, "at_most"),
                ("delete", #""ids":["task/a1"],"record_type":"task""#, 108, "record_type"),
                ("delete", #""predicate":\#(Self.late),"at_most":9"#, 108, nil),
            ]
            for row in rows {
                let response = try await service.call("record:\(row.method)", "{\(row.members)}", token: ann)
                #expect(response["error"]["code"].integer == row.code, "\(row.members): \(response)")
                #expect(response["error"]["data"]["info"]["path"].string == row.path, "\(row.members): \(response)")
            }
            let members = #"{\#(task),"predicate":\#(Self.late),\#(late),"at_most":9}"#
            #expect(try await service.call("record:update", members)["error"]["code"].integer == 101)
            #expect(try await service.call("record:update", members, key: nil)["error"]["code"].integer == 101)
            #expect(try await service.database.psql("SELECT count(*) FROM app.task WHERE NOT late") == "8")
        }
    }
}
