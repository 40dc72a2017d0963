import SkyrowJSON
import SkyrowModel
import Testing

/// `changes:fetch` and `changes:compare` over the wire.
@Suite(.timeLimit(.minutes(60))) struct ChangeEndpointTests {
    private func save(_ service: TestService, _ token: String, _ ids: [String], _ title: String = "a") async throws {
        let records = ids.map { #"{"_id":"\#($0)","title":"\#(title)"}"# }.joined(separator: ",")
        let saved = try await service.call("record:save", #"{"records":[\#(records)]}"#, token: token)
        #expect(saved["error"] == .null)
    }

    private func fetch(_ service: TestService, _ members: String = "") async throws -> JSONValue {
        try await service.call("changes:fetch", #"{"record_type":"note"\#(members)}"#)["result"]
    }

    private func since(_ page: JSONValue) throws -> String {
        #","since":"\#(try #require(page["token"].string))""#
    }

    private func ids(_ page: JSONValue) -> [String] { page["changed"].elements.compactMap { $0["_id"].string } }

    @Test func aRequestWaitsForTheFirstChangeOrForItsEnd() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await save(service, ann.token, ["note/1"])
            let first = try await fetch(service)
            #expect(ids(first) == ["note/1"] && first["more"] == .boolean(false))
            let nothing = try await fetch(service, try since(first) + #","wait":1"#)
            #expect(ids(nothing) == [] && nothing["removed"].elements.isEmpty && nothing["token"].string != nil)
            let next = try since(nothing)
            async let waiting = fetch(service, next + #","wait":30"#)
            try await save(service, ann.token, ["note/2"])
            let found = try await waiting
            #expect(ids(found) == ["note/2"])
            // What has changed already is not waited for.
            let again = try await fetch(service, try since(first) + #","wait":30"#)
            #expect(ids(again) == ["note/2"])
        }
    }

    /// The filter of the manual: bit `(h1 + i * h2) mod bits`, of FNV-1a.
    private func filter(_ ids: [String], bytes: Int, hashes: UInt64) -> String {
        var bits = [UInt8](repeating: 0, count: bytes)
        for id in ids {
            let h1 = id.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            let h2 = (h1 << 32 | h1 >> 32) | 1
            for i in 0..<hashes {
                let bit = Int((h1 &+ i &* h2) % UInt64(bytes * 8))
                bits[bit / 8] |= 1 << UInt8(bit % 8)
            }
        }
        return Base64URL.encode(bits).replacing("-", with: "+").replacing("_", with: "/")
            + String(repeating: "=", count: (3 - bytes % 3) % 3)
    }

    @Test func whatIsHeldDecidesWhatIsRemoved() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await save(service, ann.token, ["note/1", "note/2", "note/3"])
            let first = try await fetch(service)
            _ = try await service.call("record:delete", #"{"ids":["note/1","note/2","note/3"]}"#, token: ann.token)
            let token = try since(first)
            let bits = filter(["note/1", "note/3"], bytes: 200, hashes: 7)
            let none = filter([], bytes: 200, hashes: 7)
            let rows: [(String, [String])] = [
                ("", ["note/1", "note/2", "note/3"]),
                (#","holding":{"ids":["note/2","note/9"]}"#, ["note/2"]),
                (#","holding":{"ids":[]}"#, []),
                (#","holding":{"bits":"\#(bits)","hashes":7}"#, ["note/1", "note/3"]),
                (#","holding":{"bits":"\#(none)","hashes":7}"#, []),
            ]
            for (holding, expected) in rows {
                let page = try await fetch(service, token + holding)
                #expect(page["removed"].elements.compactMap(\.string).sorted() == expected, "\(holding)")
            }
        }
    }

    @Test func wrongParametersAreNamed() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await save(service, ann.token, ["note/1"])
            let token = try #require(try await fetch(service)["token"].string)
            let rows: [(String, String, Int)] = [
                ("changes:fetch", #"{}"#, 108),
                ("changes:fetch", #"{"record_type":"note","limit":0}"#, 108),
                ("changes:fetch", #"{"record_type":"note","limit":1001}"#, 108),
                ("changes:fetch", #"{"record_type":"note","wait":31}"#, 108),
                ("changes:fetch", #"{"record_type":"note","wait":-1}"#, 108),
                ("changes:fetch", #"{"record_type":"note","wait":"1"}"#, 107),
                ("changes:fetch", #"{"record_type":"note","since":1}"#, 107),
                ("changes:fetch", #"{"record_type":"note","since":"x"}"#, 134),
                ("changes:fetch", #"{"record_type":"note","cursor":"\#(token)"}"#, 134),
                ("changes:fetch", #"{"record_type":"note","since":"\#(token)","cursor":"\#(token)"}"#, 108),
                ("changes:fetch", #"{"record_type":"other","since":"\#(token)"}"#, 134),
                ("changes:fetch", #"{"record_type":"note","database_id":"_union"}"#, 101),
                ("changes:fetch", #"{"record_type":"note","database_id":"_private"}"#, 101),
                ("changes:fetch", #"{"record_type":"note","holding":{}}"#, 108),
                ("changes:fetch", #"{"record_type":"note","holding":{"ids":[1]}}"#, 107),
                ("changes:fetch", #"{"record_type":"note","holding":{"bits":"!","hashes":7}}"#, 108),
                ("changes:fetch", #"{"record_type":"note","holding":{"bits":"AA==","hashes":0}}"#, 108),
                ("changes:fetch", #"{"record_type":"note","predicate":["eq",{"$val":"nowhere"},1]}"#, 120),
                ("changes:fetch", #"{"record_type":"note","predicate":["eq",{"$val":"_owner._id"},"x"]}"#, 120),
                ("changes:fetch", #"{"record_type":"user","desired_keys":["email"]}"#, 124),
                ("changes:compare", #"{"record_type":"note","limit":5001}"#, 108),
                ("changes:compare", #"{"record_type":"note","cursor":"\#(token)"}"#, 134),
            ]
            for (method, parameters, code) in rows {
                let response = try await service.call(method, parameters)
                #expect(response["error"]["code"].integer == code, "\(parameters): \(response)")
            }
        }
    }

    @Test func bothEnvelopesHaveThePage() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await save(service, ann.token, ["note/1", "note/2"])
            let v1 = try JSONValue(try await service.v1("/changes/fetch", #"{"record_type":"note","limit":1}"#).body)
            #expect(Set(v1["result"].members.keys) == ["changed", "removed", "token", "cursor", "more", "reset"])
            #expect(ids(v1["result"]) == ["note/1"] && v1["result"]["more"] == .boolean(true))
            let cursor = try #require(v1["result"]["cursor"].string)
            // A cursor of one envelope leads on in the other.
            let rest = try await fetch(service, #","cursor":"\#(cursor)""#)
            #expect(ids(rest) == ["note/2"] && rest["token"].string != nil)
            let compared = try JSONValue(try await service.v1("/changes/compare", #"{"record_type":"note"}"#).body)
            #expect(compared["result"]["records"].elements.map { $0[0].string } == ["1", "2"])
            let refused = try await service.v1("/changes/fetch", #"{"record_type":"note","since":"x"}"#)
            let failed = try JSONValue(refused.body)
            #expect(failed["error"]["code"].integer == 134)
        }
    }
}
