import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct EnvelopeTests {
    /// What an entry amounts to: `call me id=1 params={}`, `refused -32600 id=null`, `notification …`.
    private func summary(_ entry: RPCEntry) -> String {
        func text(_ id: RPCID) -> String { String(decoding: id.text.utf8, as: UTF8.self) }
        switch entry {
        case .call(let call):
            let parameters = call.parameters.map { String(decoding: $0.source, as: UTF8.self) } ?? "none"
            return (call.id.map { "call id=\(text($0))" } ?? "notification") + " \(call.method) \(parameters)"
        case .invalid(let error, let id):
            return "\(error.code.rawValue) id=\(id.map(text) ?? "silent")"
        }
    }

    private func summaries(_ body: String) throws -> [String] {
        try readJSON(body) { root in
            switch RPCRequest(root) {
            case .single(let entry): [summary(entry)]
            case .batch(let entries): ["batch"] + entries.map(summary)
            }
        }
    }

    @Test(arguments: [
        (#"{"jsonrpc":"2.0","method":"me","id":1}"#, ["call id=1 me none"]),
        (#"{"jsonrpc":"2.0","method":"me","params":{"a":1},"id":"x\u0041"}"#, [#"call id="x\u0041" me {"a":1}"#]),
        (#"{"jsonrpc":"2.0","method":"me","id":1.50}"#, ["call id=1.50 me none"]),
        (#"{"jsonrpc":"2.0","method":"me","id":null}"#, ["call id=null me none"]),
        (#"{"jsonrpc":"2.0","method":"me"}"#, ["notification me none"]),
        (#"{"jsonrpc":"2.0","method":"me","extra":1}"#, ["notification me none"]),
        (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, ["-32600 id=null"]),
        (#"{"jsonrpc":"2.0","method":1,"id":7}"#, ["-32600 id=7"]),
        (#"{"jsonrpc":"2.0","id":7}"#, ["-32600 id=7"]),
        (#"{"jsonrpc":"1.0","method":"me","id":7}"#, ["-32600 id=7"]),
        (#"{"jsonrpc":2.0,"method":"me","id":7}"#, ["-32600 id=7"]),
        (#"{"method":"me","id":7}"#, ["-32600 id=7"]),
        (#"{"jsonrpc":"2.0","method":"me","id":[]}"#, ["-32600 id=null"]),
        (#"{"jsonrpc":"2.0","method":"me","id":true}"#, ["-32600 id=null"]),
        (#"{"jsonrpc":"2.0","method":"me","params":[],"id":7}"#, ["call id=7 me none"]),
        (#"{"jsonrpc":"2.0","method":"me","params":[1],"id":7}"#, ["-32602 id=7"]),
        (#"{"jsonrpc":"2.0","method":"me","params":[1]}"#, ["-32602 id=silent"]),
        (#"{"jsonrpc":"2.0","method":"me","params":null,"id":7}"#, ["-32600 id=7"]),
        (#"{"jsonrpc":"2.0","method":"me","params":"x","id":7}"#, ["-32600 id=7"]),
        ("1", ["-32600 id=null"]), ("null", ["-32600 id=null"]), ("[]", ["-32600 id=null"]),
        ("[1]", ["batch", "-32600 id=null"]),
        ("[1,2,3]", ["batch", "-32600 id=null", "-32600 id=null", "-32600 id=null"]),
        (
            #"[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b"},{"foo":1},[]]"#,
            ["batch", "call id=1 a none", "notification b none", "-32600 id=null", "-32600 id=null"]
        ),
    ])
    func jsonRPCIsReadToTheLetter(body: String, entries: [String]) throws {
        #expect(try summaries(body) == entries)
    }

    @Test func theV1BodyHoldsEverythingSideBySide() throws {
        try readJSON(#"{"action":"record:fetch","api_key":"k","access_token":"t","_user_id":"u","ids":["n/1"]}"#) {
            root in
            let request = try V1Request(root)
            #expect(request.action == "record:fetch")
            #expect(request.credentials == Credentials(key: "k", accessToken: "t", actingUserID: "u"))
            #expect(try RecordIDsRequest(parameters: request.parameters).ids == [recordID("n/1")])
        }
        #expect(try readJSON("{}") { try V1Request($0).action } == nil)
        #expect(try refusal("[]") { try V1Request($0) }?.code == .badRequest)
        #expect(try refusal(#"{"action":1}"#) { try V1Request($0) }?.code == .badRequest)
    }

    private static let note = Record(id: recordID("note/1"), fields: [fieldName("a"): .integer(1)])
    private static let noteJSON = #"{"_id":"note/1","_type":"record","_access":null,"a":1}"#

    static let results: [(ResultWriter, result: String)] = [
        (
            Actions.recordFetch.writer(of: [
                .record(note), .deleted(recordID("note/2")),
                .failure(SkyrowError(.resourceNotFound, "No."), id: "note/404"),
                .failure(.invalidArgument("Bad.", "id"), id: nil),
            ]),
            #"[\#(noteJSON),{"_id":"note/2","_type":"record"},{"_id":"note/404","_type":"error","name":"ResourceNotFound","code":110,"message":"No."},{"_type":"error","name":"InvalidArgument","code":108,"message":"Bad.","info":{"arguments":["id"]}}]"#
        ),
        (Actions.recordSave.writer(of: .fresh([])), "[]"),
        (Actions.recordSave.writer(of: .encoded(Array("[1]".utf8), isReplay: true)), "[1]"),
        (Actions.authLogOut.writer(of: ()), #"{"status":"OK"}"#),
        (Actions.roleAssign.writer(of: ()), #""OK""#),
        (ResultWriter { $0.strings(["b", "a"]) }, #"["b","a"]"#),
        (ResultWriter { $0.json(JSONText(validated: Array("{}".utf8))) }, "{}"),
    ]

    @Test(arguments: results)
    func answersAreTheSameThroughBothDoors(action: ResultWriter, result: String) throws {
        #expect(writtenJSON { $0.response(action, in: .v1) } == #"{"result":\#(result)}"#)
        #expect(
            writtenJSON { $0.response(action, in: .rpc(RPCID(7))) } == #"{"jsonrpc":"2.0","id":7,"result":\#(result)}"#
        )
    }

    @Test func theInfoStandsBesideTheUsersOfARelation() {
        let page = RelationPage(
            users: [
                .related("u1", profile: EnvelopeTests.note, isMutual: true),
                .related("u2", profile: nil, isMutual: false),
                .done("u3"), .failure("u4", SkyrowError(.resourceNotFound, "No.")),
            ],
            count: 7
        )
        let users =
            #"[{"id":"u1","type":"user","data":\#(EnvelopeTests.noteJSON),"mutual":true},"#
            + #"{"id":"u2","type":"user","mutual":false},{"id":"u3"},"#
            + #"{"id":"u4","type":"error","data":{"name":"ResourceNotFound","code":110,"message":"No."}}]"#
        let info = #""info":{"count":7}"#
        for writer in [Actions.relationQuery.writer(of: page), Actions.relationRequests.writer(of: page)] {
            #expect(writtenJSON { $0.response(writer, in: .v1) } == "{\"result\":\(users),\(info)}")
            #expect(
                writtenJSON { $0.response(writer, in: .rpc(RPCID(7))) }
                    == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"users\":\(users),\(info)}}"
            )
        }
    }

    @Test func theInfoStandsBesideTheRecords() {
        var counted = QueryResult(records: [EnvelopeTests.note], count: 12)
        let records = "[\(EnvelopeTests.noteJSON)]"
        let rows: [(change: (inout QueryResult) -> Void, info: String)] = [
            ({ _ in }, #"{"count":12,"cursor":null,"has_more":false}"#),
            ({ $0.cursor = "x-_" }, #"{"count":12,"cursor":"x-_","has_more":false}"#),
            ({ $0.hasMore = true }, #"{"count":12,"cursor":"x-_","has_more":true}"#),
            ({ $0.countKind = .atLeast }, #"{"count":12,"count_kind":"at_least","cursor":"x-_","has_more":true}"#),
            (
                {
                    $0.count = nil
                    $0.countKind = nil
                }, #"{"cursor":"x-_","has_more":true}"#
            ),
        ]
        for row in rows {
            row.change(&counted)
            let action = Actions.recordQuery.writer(of: .found(counted))
            #expect(writtenJSON { $0.response(action, in: .v1) } == "{\"result\":\(records),\"info\":\(row.info)}")
            #expect(
                writtenJSON { $0.response(action, in: .rpc(.null)) }
                    == #"{"jsonrpc":"2.0","id":null,"result":{"records":\#(records),"info":\#(row.info)}}"#
            )
        }
        // A v1 request that asks about nothing but records.
        let plain = Actions.recordQuery.writer(of: .found(QueryResult(records: [], cursor: "x", isDescribed: false)))
        #expect(writtenJSON { $0.response(plain, in: .v1) } == #"{"result":[]}"#)
    }

    @Test func failuresHaveTheFormOfTheirEnvelope() {
        let error = SkyrowError(.permissionDenied, "No.")
        #expect(
            writtenJSON { $0.failure(error, in: .v1) }
                == #"{"error":{"name":"PermissionDenied","code":102,"message":"No."}}"#
        )
        #expect(
            writtenJSON { $0.failure(error, in: .rpc(RPCID(1))) }
                == #"{"jsonrpc":"2.0","id":1,"error":{"code":102,"message":"No.","data":{"name":"PermissionDenied"}}}"#
        )
    }

    @Test func aBatchIsAnArrayOfAnswers() {
        let text = writtenJSON { writer in
            writer.beginArray()
            writer.response(Actions.roleAssign.writer(of: ()), in: .rpc(RPCID(1)))
            writer.failure(SkyrowError(.methodNotFound, "No."), in: .rpc(RPCID(2)))
            writer.endArray()
        }
        #expect(
            text
                == #"[{"jsonrpc":"2.0","id":1,"result":"OK"},{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"No.","data":{"name":"MethodNotFound"}}}]"#
        )
    }
}
