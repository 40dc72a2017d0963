import SkyrowModel
import Testing

/// Pages of `record:query` through both envelopes.
@Suite(.timeLimit(.minutes(60))) struct QueryPagingTests {
    private static func fill(_ service: TestService, token: String) async throws {
        let records = (1...7).map { "{\"_id\":\"note/\($0)\",\"n\":\($0 / 2)}" }.joined(separator: ",")
        _ = try await service.call("record:save", "{\"records\":[\(records)]}", token: token)
    }

    private static let sort = #""sort":[[{"$type":"keypath","$val":"n"},"desc","nulls_last"]]"#

    /// The ids of all pages of three records.
    private static func ids(_ ask: (String) async throws -> (records: JSONValue, info: JSONValue)) async throws
        -> [String]
    {
        var ids: [String] = []
        var position = ""
        for _ in 0..<10 {
            let (records, info) = try await ask(
                "\"record_type\":\"note\",\"limit\":3,\(sort),\"count\":true\(position)"
            )
            ids += records.elements.compactMap { $0["_id"].string }
            #expect(info["count"].integer == 7)
            guard info["has_more"] == .boolean(true), let cursor = info["cursor"].string else { break }
            position = ",\"after\":\"\(cursor)\""
        }
        return ids
    }

    @Test func bothEnvelopesPage() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await Self.fill(service, token: ann.token)
            let expected = [7, 6, 5, 4, 3, 2, 1].map { "note/\($0)" }
            let rpc = try await Self.ids { members in
                let result = try await service.call("record:query", "{\(members)}")["result"]
                return (result["records"], result["info"])
            }
            #expect(rpc == expected)
            let v1 = try await Self.ids { members in
                let body = try JSONValue(try await service.v1("/record/query", "{\(members)}").body)
                return (body["result"], body["info"])
            }
            #expect(v1 == expected)
        }
    }

    private struct UnexpectedRecord: Error {}

    /// Metadata that is omitted is missing, and pages go on as they do with it.
    @Test(arguments: [
        (
            #"["_id"]"#,
            ["_access", "_created_at", "_created_by", "_ownerID", "_revision", "_updated_at", "_updated_by", "n"]
        ),
        (
            #"["_owner_id","_access","n"]"#,
            ["_created_at", "_created_by", "_id", "_revision", "_type", "_updated_at", "_updated_by"]
        ),
        (
            #"["_id","_access","_ownerID","_created_at","_created_by","_updated_at","_updated_by","_revision"]"#, ["n"]
        ),
    ])
    func metadataIsOmitted(_ row: (omit: String, members: [String])) async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await Self.fill(service, token: ann.token)
            var position = ""
            var count = 0
            for _ in 0..<3 {
                let result = try await service.call(
                    "record:query",
                    "{\"record_type\":\"note\",\"limit\":3,\(Self.sort),\"omit\":\(row.omit)\(position)}"
                )["result"]
                for record in result["records"].elements {
                    guard case .object(let members) = record else { throw UnexpectedRecord() }
                    #expect(members.keys.sorted() == row.members)
                }
                count += result["records"].elements.count
                guard let cursor = result["info"]["cursor"].string else { break }
                position = ",\"after\":\"\(cursor)\""
            }
            #expect(count == 7)
        }
    }

    @Test func whatHasNoOrderSaysWhatToSortBy() async throws {
        try await withService { service in
            let save = #"{"records":[{"_id":"shop/1","at":{"$type":"geo","$lng":1,"$lat":2}}]}"#
            _ = try await service.call("record:save", save, key: TestService.masterKey)
            let sort = #"{"record_type":"shop","sort":[[{"$type":"keypath","$val":"at"},"asc"]]}"#
            let refused = try await service.call("record:query", sort)["error"]
            #expect(refused["code"].integer == 120)
            #expect(refused["message"].string?.contains("distance") == true)
        }
    }

    @Test func v1SaysMoreOnRequest() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await Self.fill(service, token: ann.token)
            let rows: [(members: String, info: Set<String>)] = [
                ("", []), (#","limit":2"#, []), (#","count":false,"last":false"#, []),
                (#","count":true"#, ["count", "cursor", "has_more"]), (#","last":true"#, ["cursor", "has_more"]),
                (#","required":true"#, ["cursor", "has_more"]),
                (#","count":"estimate""#, ["count", "count_kind", "cursor", "has_more"]),
            ]
            for row in rows {
                let body = try JSONValue(
                    try await service.v1("/record/query", "{\"record_type\":\"note\"\(row.members)}").body
                )
                #expect(Set(body["info"].members.keys) == row.info, "\(row.members)")
            }
        }
    }

    @Test func aRefusedPageNamesItsParameter() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            try await Self.fill(service, token: ann.token)
            let first = try await service.call("record:query", #"{"record_type":"note","limit":1}"#)["result"]
            let cursor = try #require(first["info"]["cursor"].string)
            let rows: [(members: String, code: Int, path: String?)] = [
                (#""after":"\#(cursor)""#, 0, nil), (#""before":"\#(cursor)""#, 0, nil),
                (#""after":"\#(cursor)A""#, 108, "after"), (#""before":"\#(cursor.dropLast())""#, 108, "before"),
                (#""after":"""#, 108, "after"), (#""after":"\#(cursor)","before":"\#(cursor)""#, 108, "before"),
                (#""after":"\#(cursor)","last":true"#, 108, "last"),
                (#""after":"\#(cursor)","offset":1"#, 108, "offset"),
                (#""offset":100001"#, 108, "offset"), (#""limit":0,"required":true"#, 108, "required"),
                (#""required":true,"predicate":["eq",{"$type":"keypath","$val":"n"},99]"#, 110, nil),
            ]
            for row in rows {
                let response = try await service.call("record:query", "{\"record_type\":\"note\",\(row.members)}")
                #expect(response["error"]["code"].integer == (row.code == 0 ? nil : row.code), "\(row.members)")
                #expect(response["error"]["data"]["info"]["path"].string == row.path)
            }
        }
    }
}
