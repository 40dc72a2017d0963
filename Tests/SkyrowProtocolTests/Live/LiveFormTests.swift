import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct LiveFormTests {
    typealias Row = FormTests.Row

    private static let long = String(repeating: "x", count: 65)
    private static let note = #""subscription":"s","database_id":"_public","record_type":"note""#

    static let subscriptions = [
        Row(json: "{\(note)}"),
        Row(json: #"{"record_type":"note","subscription":"s"}"#, written: "{\(note)}"),
        Row(
            json: """
                {\(note),"predicate":["eq",{"$type":"keypath","$val":"title"},"x"],"desired_keys":["title"],\
                "events":["created","left"],"watch":["title"],"previous":["title"],"since":"t"}
                """
        ),
        Row(json: #"{\#(note),"previous":true,"initial":true}"#),
        // A token says where to begin.
        Row(json: #"{\#(note),"since":"t","initial":true}"#, written: #"{\#(note),"since":"t"}"#),
        Row(
            json: #"{\#(note),"events":["deleted","left","updated","entered","created"],"previous":false}"#,
            written: "{\(note)}"
        ),
        Row(json: #"{"record_type":"note"}"#, code: .invalidArgument, argument: "subscription"),
        Row(json: #"{"subscription":"s"}"#, code: .invalidArgument, argument: "record_type"),
        Row(json: #"{"subscription":"","record_type":"note"}"#, code: .invalidArgument, argument: "subscription"),
        Row(json: #"{"subscription":"\#(long)"}"#, code: .invalidArgument, argument: "subscription"),
        Row(json: #"{"subscription":1,"record_type":"note"}"#, code: .badRequest, argument: "subscription"),
        Row(json: #"{\#(note),"events":[]}"#, code: .invalidArgument, argument: "events"),
        Row(json: #"{\#(note),"events":["created","gone"]}"#, code: .invalidArgument, argument: "events"),
        Row(json: #"{\#(note),"previous":"title"}"#, code: .badRequest, argument: "previous"),
        Row(json: #"{\#(note),"initial":1}"#, code: .badRequest, argument: "initial"),
    ]

    static let watches = [
        Row(json: #"{\#(note),"limit":10}"#), Row(json: #"{\#(note),"limit":10,"count":true}"#),
        Row(json: #"{\#(note),"aggregates":{"n":["count"]},"limit":100}"#),
        Row(json: #"{\#(note),"after":"c"}"#, code: .invalidArgument, argument: "after"),
        Row(json: #"{\#(note),"timeout_ms":1}"#, code: .invalidArgument, argument: "timeout_ms"),
        Row(json: #"{\#(note),"include_form":"table"}"#, code: .invalidArgument, argument: "include_form"),
        Row(json: #"{"subscription":"s"}"#, code: .invalidArgument, argument: "record_type"),
    ]

    @Test(arguments: subscriptions) func parametersOfASubscription(_ row: Row) throws {
        try FormTests().check(Actions.liveSubscribe.parameters, row)
    }

    @Test(arguments: watches) func parametersOfAWatch(_ row: Row) throws {
        try FormTests().check(Actions.liveWatch.parameters, row)
    }

    @Test func v1MayHaveAnEmptyPredicate() throws {
        let json = #"{\#(Self.note),"predicate":[]}"#
        #expect(try readJSON(json) { try Actions.liveSubscribe.read($0, rules: .v1).predicate } == nil)
        #expect(try refusal(json) { try Actions.liveSubscribe.read($0, rules: .rpc) }?.code == .invalidArgument)
    }

    /// Its parameters are those of queries and aggregates that it does not refuse.
    @Test func theShapeOfAWatchHasWhatItTakes() {
        let names = Actions.liveWatch.description.parameters.map(\.name)
        #expect(names.starts(with: ["subscription", "record_type", "database_id", "predicate", "sort"]))
        #expect(Array(names.suffix(3)) == ["group_by", "aggregates", "having"])
        #expect(Set(names).isDisjoint(with: ["include_form", "after", "before", "explain", "timeout_ms"]))
    }
}
