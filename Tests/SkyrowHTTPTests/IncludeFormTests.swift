import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// `include_form` through both envelopes.
@Suite(.timeLimit(.minutes(60))) struct IncludeFormTests {
    @Test func onlyJSONRPCHasATable() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let films = (1...3).map { #"{"_id":"film/\#($0)","author":{"$type":"ref","$id":"person/9"}}"# }
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"person/9","name":"Ada"},\#(films.joined(separator: ","))]}"#,
                token: ann.token
            )
            let question = #"{"record_type":"film","include":{"author":true},"include_form":"table"}"#
            let result = try await service.call("record:query", question)["result"]
            #expect(
                result["records"].elements.map { $0["_transient"]["author"].string } == [
                    "person/9", "person/9", "person/9",
                ]
            )
            #expect(Array(result["included"].members.keys) == ["person/9"])
            #expect(result["included"]["person/9"]["name"].string == "Ada")
            for (members, code) in [(question, 108), (#"{"record_type":"film","include_form":"nested"}"#, nil)] {
                let v1 = try JSONValue(try await service.v1("/record/query", members).body)
                #expect(v1["error"]["code"].integer == code)
                #expect(v1["error"]["info"]["path"].string == code.map { _ in "include_form" })
            }
            let unknown = try await service.call("record:query", #"{"record_type":"film","include_form":"flat"}"#)[
                "error"
            ]
            #expect(unknown["code"].integer == 108 && unknown["data"]["info"]["path"].string == "include_form")
        }
    }

    /// What is too long when it is nested fits when it is sent once.
    @Test func theTableHasTheBoundsOfAResponse() async throws {
        try await withService(limits: HTTPLimits(responseBytes: 1_000_000, responseMemory: 8_000_000)) { service in
            let token = try await service.signUp("ann").token
            let links = (0..<5).map { #"{"_id":"link/\#($0)","to":{"$type":"ref","$id":"big/0"}}"# }
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"big/0","text":"x"},\#(links.joined(separator: ","))]}"#,
                token: token
            )
            try await service.database.psql(
                "SET search_path = app, app_internal; UPDATE big SET text = repeat('x', 100000)"
            )
            let names = (0..<32).map { #""i\#($0)":{"$type":"keypath","$val":"to"}"# }.joined(separator: ",")
            for (form, code) in [("nested", 132), ("table", nil)] {
                let parameters = #"{"record_type":"link","include":{\#(names)},"include_form":"\#(form)"}"#
                let response = try await service.call("record:query", parameters)
                #expect(response["error"]["code"].integer == code, "\(form)")
            }
            try await service.database.psql(
                "SET search_path = app, app_internal; UPDATE big SET text = repeat('x', 1000001)"
            )
            let whole = #"{"record_type":"link","include":{\#(names)},"include_form":"table","limit":1}"#
            #expect(try await service.call("record:query", whole)["error"]["code"].integer == 132)
        }
    }
}
