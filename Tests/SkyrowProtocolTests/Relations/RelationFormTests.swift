import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct RelationFormTests {
    typealias Row = FormTests.Row

    private static func targets(_ count: Int) -> String {
        "[" + (0..<count).map { "\"u\($0)\"" }.joined(separator: ",") + "]"
    }

    static let changes = [
        Row(json: #"{"name":"friend","targets":["u"]}"#), Row(json: #"{"name":"follow","targets":[]}"#),
        Row(json: #"{"name":"_friend","targets":["u"]}"#, written: #"{"name":"friend","targets":["u"]}"#),
        Row(json: #"{"targets":["u"],"name":"_follow"}"#, written: #"{"name":"follow","targets":["u"]}"#),
        Row(json: #"{"name":"friend","targets":\#(targets(1000))}"#),
        Row(json: #"{"name":"friend","targets":\#(targets(1001))}"#, code: .invalidArgument, argument: "targets"),
        Row(json: #"{"name":"friend"}"#, code: .invalidArgument, argument: "targets"),
        Row(json: #"{"targets":["u"]}"#, code: .invalidArgument, argument: "name"),
        // Whom one keeps away is for that user only.
        Row(json: #"{"name":"block","targets":["u"]}"#, code: .notSupported, argument: "name"),
        Row(json: #"{"name":"","targets":["u"]}"#, code: .notSupported, argument: "name"),
        Row(json: #"{"name":1,"targets":["u"]}"#, code: .badRequest, argument: "name"),
        Row(json: #"{"name":"friend","targets":"u"}"#, code: .badRequest, argument: "targets"),
        Row(json: #"{"name":"friend","targets":["u",1]}"#, code: .badRequest, argument: "targets", path: "targets[1]"),
        Row(
            json: #"{"name":"friend","targets":[""]}"#,
            code: .invalidArgument,
            argument: "targets",
            path: "targets[0]"
        ),
        Row(
            json: #"{"name":"friend","targets":["u","a\u0000"]}"#,
            code: .invalidArgument,
            argument: "targets",
            path: "targets[1]"
        ),
    ]

    static let blocks = [
        Row(json: #"{"targets":["u"]}"#), Row(json: #"{"targets":["u"],"blocked":false}"#),
        Row(json: #"{"targets":["u"],"blocked":true}"#, written: #"{"targets":["u"]}"#),
        Row(json: #"{"targets":["u"],"blocked":null}"#, written: #"{"targets":["u"]}"#),
        Row(json: #"{"targets":["u"],"blocked":0}"#, code: .badRequest, argument: "blocked"),
        Row(json: #"{"blocked":false}"#, code: .invalidArgument, argument: "targets"),
    ]

    static let queries = [
        Row(json: #"{"name":"friend"}"#),
        Row(json: #"{"name":"follow","direction":"inward","limit":0,"offset":100000}"#),
        Row(
            json: #"{"name":"friend","direction":"mutual","limit":100,"page":2}"#,
            written: #"{"name":"friend","page":2}"#
        ),
        // An empty direction is none, as in Skygear.
        Row(json: #"{"name":"friend","direction":"","page":null}"#, written: #"{"name":"friend"}"#),
        Row(json: #"{"name":"friend","direction":"sideways"}"#, code: .invalidArgument, argument: "direction"),
        Row(json: #"{"name":"friend","direction":7}"#, code: .badRequest, argument: "direction"),
        Row(json: #"{"name":"friend","limit":1001}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{"name":"friend","offset":100001}"#, code: .invalidArgument, argument: "offset"),
        Row(json: #"{"name":"friend","offset":-1}"#, code: .invalidArgument, argument: "offset"),
        Row(json: #"{"name":"friend","page":0}"#, code: .invalidArgument, argument: "page"),
        Row(json: #"{"name":"friend","page":100002}"#, code: .invalidArgument, argument: "page"),
        Row(json: #"{"name":"friend","page":9223372036854775807}"#, code: .invalidArgument, argument: "page"),
        Row(json: #"{"direction":"inward"}"#, code: .invalidArgument, argument: "name"),
    ]

    @Test(arguments: changes) func parametersOfAChange(_ row: Row) throws {
        try FormTests().check(Actions.relationAdd.parameters, row)
        try FormTests().check(Actions.relationRemove.parameters, row)
    }

    @Test(arguments: blocks) func parametersOfABlock(_ row: Row) throws {
        try FormTests().check(Actions.relationBlock.parameters, row)
    }

    @Test(arguments: queries) func parametersOfAQuery(_ row: Row) throws {
        try FormTests().check(Actions.relationQuery.parameters, row)
    }

    @Test(
        arguments: [
            ("{}", 0), (#"{"offset":50,"page":3}"#, 50), (#"{"page":3}"#, 200),
            (#"{"page":101,"limit":1000}"#, 100_000),
            (#"{"page":3,"limit":0}"#, 0),
        ]
    )
    func aPartHasAPlace(json: String, start: Int) throws {
        #expect(try readJSON(json) { try Actions.relationRequests.read($0, rules: .rpc).start } == start)
        #expect(try readJSON(json) { try Actions.relationRequests.read($0, rules: .v1).start } == start)
    }

    /// Skygear's action has no `page`, and its SDK counts from zero.
    @Test(arguments: [(#""page":0"#, 0), (#""page":2,"limit":50"#, 0), (#""page":0,"offset":50"#, 50)])
    func v1HasNoPages(members: String, offset: Int) throws {
        let found = try readJSON(#"{"name":"friend",\#(members)}"#) {
            try Actions.relationQuery.read($0, rules: .v1).part.start
        }
        #expect(found == offset)
    }

    /// Every name that is read is said in the shape, with those of Skygear.
    @Test func theShapeHasEveryNameOfARelation() throws {
        guard case .oneOfStrings(let names) = Codec.userRelation.shape else {
            Issue.record("The shape is another one.")
            return
        }
        #expect(names == ["friend", "follow", "_friend", "_follow"])
        #expect(names.allSatisfy { UserRelation(relationName: $0) != nil })
    }
}
