import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// What `record:query` says about its page.
@Suite struct QueryPagingTests {
    private static func query(_ members: String, _ rules: ReadingRules = .rpc) throws -> RecordQuery {
        try readJSON("{\"record_type\":\"note\"\(members.isEmpty ? "" : ",")\(members)}") {
            try QueryRequest(parameters: $0, rules: rules)
        }.query
    }

    @Test(
        arguments: [
            ("", .first), (#""after":null,"before":null,"last":false"#, .first), (#""last":true"#, .last),
            (#""after":"Ab-_""#, .after("Ab-_")), (#""before":"Ab-_","last":false"#, .before("Ab-_")),
            (#""after":"""#, .after("")),
        ] as [(String, RecordQuery.Position)]
    )
    func aPageHasOnePosition(members: String, position: RecordQuery.Position) throws {
        #expect(try Self.query(members).position == position)
    }

    @Test(
        arguments: [
            (#""after":"a","before":"b""#, "before", .invalidArgument),
            (#""after":"a","last":true"#, "last", .invalidArgument),
            (#""before":"a","last":true"#, "last", .invalidArgument), (#""after":1"#, nil, .badRequest),
            (#""before":["a"]"#, nil, .badRequest), (#""last":"yes""#, nil, .badRequest),
            (#""required":1"#, nil, .badRequest),
            (#""count":"exact""#, nil, .badRequest), (#""count":1"#, nil, .badRequest),
            (#""sort":[[{"$val":"a"},"asc","first"]]"#, "sort[0][2]", .invalidArgument),
            (#""sort":[[{"$val":"a"},"asc",1]]"#, "sort[0][2]", .invalidArgument),
            (#""sort":[[{"$val":"a"},"asc","nulls_last",1]]"#, "sort[0]", .invalidArgument),
            (#""sort":[[{"$val":"a"},"asc"],[{"$val":"b"},"nulls_last"]]"#, "sort[1][1]", .invalidArgument),
        ] as [(String, String?, ErrorCode)]
    )
    func whatMakesNoSenseIsNamed(members: String, path: String?, code: ErrorCode) throws {
        let error = try refusal("{\"record_type\":\"n\",\(members)}") { try QueryRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.path == path)
    }

    @Test(arguments: ["after", "before"])
    func aCursorIsBounded(name: String) throws {
        func members(_ count: Int) -> String { "\"\(name)\":\"\(String(repeating: "A", count: count))\"" }
        #expect(try Self.query(members(12_288)).position.cursor?.text.utf8.count == 12_288)
        let error = try refusal("{\"record_type\":\"n\",\(members(12_289))}") { try QueryRequest(parameters: $0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.path == name)
    }

    @Test(
        arguments: [
            ("", nil), (#""count":null"#, nil), (#""count":false"#, nil), (#""count":true"#, .exact),
            (#""count":"estimate""#, .estimate),
        ] as [(String, RecordQuery.Counting?)]
    )
    func aCountIsExactOrAnEstimate(members: String, counting: RecordQuery.Counting?) throws {
        #expect(try Self.query(members).counting == counting)
    }

    /// v1 clients that ask about nothing but records do not expect to hear of more.
    @Test(arguments: [
        ("", false), (#""limit":5,"offset":5,"count":false"#, false), (#""count":true"#, true), (#""last":true"#, true),
        (#""after":"x""#, true), (#""before":"x""#, true), (#""required":true"#, true), (#""count":"estimate""#, true),
    ])
    func aV1ResultHasAnInfoOnRequest(members: String, isDescribed: Bool) throws {
        #expect(try Self.query(members, .v1).isDescribed == isDescribed)
        #expect(try Self.query(members, .rpc).isDescribed)
    }

    @Test func pagesAreReadAsTheyWereWritten() throws {
        var queries: [RecordQuery] = []
        for position in [RecordQuery.Position.first, .last, .after("x"), .before("y")] {
            for counting in [nil, RecordQuery.Counting.exact, .estimate] {
                var query = RecordQuery(type: typeName("note"))
                query.position = position
                query.counting = counting
                query.isRequired = counting == .exact
                query.sort = [
                    SortKey(keyPath("a"), .descending, .last), SortKey(keyPath("b"), .ascending, .first),
                    SortKey(keyPath("c")),
                ]
                queries.append(query)
            }
        }
        for query in queries {
            let written = writtenJSON {
                Actions.recordQuery.parameters.write(QueryRequest(database: .own, query: query), $0)
            }
            let request = try readJSON(written) { try QueryRequest(parameters: $0) }
            #expect(request.query == query)
        }
    }
}
