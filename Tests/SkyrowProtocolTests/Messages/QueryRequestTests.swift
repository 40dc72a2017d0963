import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct QueryRequestTests {
    @Test func theQueryOfTheJavaScriptSDKIsRead() throws {
        let request = try readJSON(
            #"""
            {"action":"record:query","database_id":"_public","record_type":"note","page":1,"limit":50,"include":
             {"category":{"$type":"keypath","$val":"category"},"who":{"$type":"keypath","$val":"_owner"}},"count":true,"offset":40,
             "predicate":["eq",{"$type":"keypath","$val":"title"},"x"],"desired_keys":["title"],
             "sort":[[{"$type":"keypath","$val":"_created_at"},"desc"],[{"$type":"keypath","$val":"title"},"asc"]]}
            """#
        ) { try QueryRequest(parameters: $0) }
        #expect(request.database == .everyone)
        #expect(
            request.query
                == RecordQuery(
                    type: typeName("note"),
                    predicate: .comparison(.eq, .keyPath(keyPath("title")), .value(.string("x"))),
                    sort: [SortKey(keyPath("_created_at"), .descending), SortKey(keyPath("title"))],
                    include: [
                        Inclusion(name: "category", keyPath: keyPath("category")),
                        Inclusion(name: "who", keyPath: keyPath("_owner")),
                    ],
                    desiredFields: ["title"],
                    limit: 50,
                    offset: 40,
                    countsMatches: true
                )
        )
    }

    @Test func whatIsMissingOrNullHasItsDefault() throws {
        for text in [
            #"{"record_type":"note"}"#,
            #"{"record_type":"note","predicate":null,"sort":null,"include":null,"desired_keys":null,"limit":null,"offset":null,"count":null,"database_id":null}"#,
            #"{"record_type":"note","sort":[],"include":{},"limit":100.0}"#,
        ] {
            let request = try readJSON(text) { try QueryRequest(parameters: $0) }
            #expect(request.query == RecordQuery(type: typeName("note")))
        }
    }

    @Test(
        arguments: [
            ("{}", .invalidArgument), (#"{"record_type":""}"#, .invalidArgument),
            (#"{"record_type":"_auth"}"#, .invalidArgument),
            (#"{"record_type":"; drop table note; --"}"#, .invalidArgument), (#"{"record_type":1}"#, .badRequest),
            (#"{"record_type":"n","limit":1001}"#, .invalidArgument),
            (#"{"record_type":"n","limit":-1}"#, .invalidArgument),
            (#"{"record_type":"n","limit":1.5}"#, .invalidArgument),
            (#"{"record_type":"n","limit":1e99}"#, .invalidArgument),
            (#"{"record_type":"n","limit":"9"}"#, .badRequest), (#"{"record_type":"n","offset":-1}"#, .invalidArgument),
            (#"{"record_type":"n","offset":9223372036854775808}"#, .invalidArgument),
            (#"{"record_type":"n","count":"yes"}"#, .badRequest),
            (#"{"record_type":"n","predicate":[]}"#, .invalidArgument),
            (#"{"record_type":"n","predicate":{}}"#, .invalidArgument),
            (#"{"record_type":"n","sort":{}}"#, .badRequest),
            (#"{"record_type":"n","sort":[["a","asc"]]}"#, .invalidArgument),
            (#"{"record_type":"n","sort":[[{"$val":"a"}]]}"#, .invalidArgument),
            (#"{"record_type":"n","sort":[[{"$val":"a"},"up"]]}"#, .invalidArgument),
            (#"{"record_type":"n","sort":[[["func","median"],"asc"]]}"#, .notSupported),
            (#"{"record_type":"n","sort":[1]}"#, .invalidArgument),
            (#"{"record_type":"n","include":[]}"#, .badRequest),
            (#"{"record_type":"n","include":{"a":1}}"#, .invalidArgument),
            (#"{"record_type":"n","include":{"a":["func","median"]}}"#, .notSupported),
            (#"{"record_type":"n","desired_keys":"a"}"#, .badRequest),
            (#"{"record_type":"n","desired_keys":[1]}"#, .badRequest),
            (#"{"record_type":"n","select":["a"],"desired_keys":["a"]}"#, .invalidArgument),
            (#"{"record_type":"n","select":["a"],"omit":["a"]}"#, .invalidArgument),
            (#"{"record_type":"n","omit":"a"}"#, .badRequest),
            (#"{"record_type":"n","sort":[[["func","fold"],"asc"]]}"#, .invalidArgument),
        ] as [(String, ErrorCode)]
    )
    func whatCannotBeAskedIsRefused(text: String, code: ErrorCode) throws {
        #expect(try refusal(text) { try QueryRequest(parameters: $0) }?.code == code)
    }

    @Test(
        arguments: [
            (#""sort":[["a","asc"]]"#, "sort[0][0]"), (#""sort":[[{"$val":"a"},"asc"],[{"$val":"a"}]]"#, "sort[1]"),
            (#""sort":[[{"$val":"a"},"up"]]"#, "sort[0][1]"),
            (#""sort":[[["func","median"],"asc"]]"#, "sort[0][0][1]"),
            (#""sort":[[["func","distance"],"asc"]]"#, "sort[0][0][2]"),
            (#""sort":[[["func","collate",{"$val":"a"}],"asc"]]"#, "sort[0][0][3]"),
            (#""sort":[[["func","collate",{"$val":"a"},1],"asc"]]"#, "sort[0][0][3]"),
            (#""sort":[[["func","collate",{"$val":"a"},"sv","de"],"asc"]]"#, "sort[0][0][3]"),
            (#""sort":[[{"$val":"a..b"},"asc"]]"#, "sort[0][0]"), (#""include":{"author":1}"#, "include.author"),
            (#""include":{"x":["func","distance"]}"#, "include.x[2]"),
            (#""include":{"x":["func","median"]}"#, "include.x[1]"), (#""predicate":["and",1]"#, "predicate[1]"),
            (#""include":{"x":false}"#, "include.x"), (#""include":{"x.":true}"#, "include.x."),
            (#""include":{"x":{"path":"a"}}"#, "include.x.path"),
            (#""include":{"x":{"path":{"$val":"a"},"limit":0}}"#, "include.x.limit"),
            (#""include":{"x":{"path":{"$val":"a"},"limit":1001}}"#, "include.x.limit"),
            (#""include":{"x":{"path":{"$val":"a"},"offset":1}}"#, "include.x.offset"),
            (#""include":{"x":{"path":{"$val":"a"},"count":1}}"#, "include.x.count"),
            (#""include":{"x":{"path":{"$val":"a"},"select":["a"],"omit":["b"]}}"#, "include.x.omit"),
            (#""include":{"x":{"path":{"$val":"a"},"select":[1]}}"#, "include.x.select"),
            (#""include":{"x":{"path":{"$val":"a"},"sort":[[{"$val":"a"},"up"]]}}"#, "include.x.sort[0][1]"),
        ]
    )
    func theFaultyElementIsNamed(member: String, path: String) throws {
        #expect(try refusal("{\"record_type\":\"n\",\(member)}") { try QueryRequest(parameters: $0) }?.path == path)
    }

    @Test func sortAndIncludeAreBounded() throws {
        let key = #"[{"$val":"a"},"asc"]"#
        let sort = Array(repeating: key, count: 33).joined(separator: ",")
        #expect(
            try refusal("{\"record_type\":\"n\",\"sort\":[\(sort)]}") { try QueryRequest(parameters: $0) }?.arguments
                == ["sort"]
        )
        let names = (0..<33).map { "\"n\($0)\":{\"$val\":\"a\"}" }.joined(separator: ",")
        let include = "{\"record_type\":\"n\",\"include\":{\(names)}}"
        #expect(try refusal(include) { try QueryRequest(parameters: $0) }?.arguments == ["include"])
    }

    @Test func anInclusionIsNamedByItsPathWhereItIsTrue() throws {
        let request = try readJSON(#"{"record_type":"n","include":{"author.city":true}}"#) {
            try QueryRequest(parameters: $0)
        }
        #expect(request.query.include == [Inclusion(name: "author.city", keyPath: keyPath("author.city"))])
    }

    @Test func queriesAreReadAsTheyWereWritten() throws {
        let queries = [
            RecordQuery(type: typeName("note")),
            RecordQuery(
                type: typeName("note"),
                predicate: .not(.comparison(.in, .keyPath(keyPath("a.b")), .list([.integer(1)]))),
                sort: [SortKey(keyPath("a"), .descending)],
                include: [Inclusion(name: "x\"", keyPath: keyPath("ref"))],
                desiredFields: [],
                limit: 0,
                offset: 7,
                countsMatches: true
            ),
        ]
        var list = Inclusion(name: "tags", keyPath: keyPath("a.tags"))
        list.desiredFields = ["name"]
        list.sort = [SortKey(keyPath("name"), .descending, .last)]
        list.limit = 20
        list.countsRecords = true
        var others = Inclusion(name: "o", keyPath: keyPath("others"))
        others.omittedFields = ["name"]
        let lists = RecordQuery(type: typeName("note"), include: [list, others])
        for query in queries + [lists] {
            let written = writtenJSON {
                Actions.recordQuery.parameters.write(QueryRequest(database: .own, query: query), $0)
            }
            let request = try readJSON(written) { try QueryRequest(parameters: $0) }
            #expect(request.query == query)
            #expect(request.database == .own)
        }
    }
}
