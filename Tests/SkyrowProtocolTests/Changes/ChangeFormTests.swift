import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct ChangeFormTests {
    typealias Row = FormTests.Row

    private static let note = #""database_id":"_public","record_type":"note""#
    private static let ids = "[" + (0...1000).map { "\"note/\($0)\"" }.joined(separator: ",") + "]"

    static let fetches = [
        Row(json: #"{\#(note),"limit":100}"#),
        Row(json: #"{"record_type":"note"}"#, written: #"{\#(note),"limit":100}"#),
        Row(json: #"{\#(note),"desired_keys":["title"],"since":"t","limit":1000,"wait":30}"#),
        Row(json: #"{\#(note),"cursor":"c","limit":1,"holding":{"ids":["note/1","note/2"]}}"#),
        Row(json: #"{\#(note),"limit":100,"holding":{"bits":"AAE=","hashes":16}}"#),
        Row(json: #"{\#(note),"since":"t","cursor":"c"}"#, code: .invalidArgument, argument: "cursor"),
        Row(json: #"{\#(note),"limit":0}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{\#(note),"limit":1001}"#, code: .invalidArgument, argument: "limit"),
        Row(json: #"{\#(note),"wait":31}"#, code: .invalidArgument, argument: "wait"),
        Row(json: #"{\#(note),"wait":0.5}"#, code: .invalidArgument, argument: "wait"),
        Row(json: #"{\#(note),"holding":[]}"#, code: .badRequest, argument: "holding"),
        Row(json: #"{\#(note),"holding":{}}"#, code: .invalidArgument, argument: "holding"),
        Row(json: #"{\#(note),"holding":{"ids":\#(ids)}}"#, code: .invalidArgument, argument: "ids"),
        Row(json: #"{\#(note),"holding":{"ids":[1]}}"#, code: .badRequest, argument: "ids"),
        Row(json: #"{\#(note),"holding":{"bits":"AAE=","hashes":17}}"#, code: .invalidArgument, argument: "hashes"),
    ]

    static let comparisons = [
        Row(json: #"{\#(note),"cursor":"c","limit":5000}"#),
        Row(json: #"{"record_type":"note"}"#, written: #"{\#(note),"limit":5000}"#),
        Row(json: #"{\#(note),"limit":5001}"#, code: .invalidArgument, argument: "limit"),
    ]

    @Test(arguments: fetches) func parametersOfAFetch(_ row: Row) throws {
        try FormTests().check(Actions.changesFetch.parameters, row)
    }

    @Test(arguments: comparisons) func parametersOfAComparison(_ row: Row) throws {
        try FormTests().check(Actions.changesCompare.parameters, row)
    }

    /// A client reads what the service writes, and a reason for which a later version cannot continue a token.
    @Test(arguments: [
        #"{"changed":[],"removed":["note/1"],"token":"t","cursor":null,"more":false,"reset":null}"#,
        #"{"changed":[],"removed":[],"token":null,"cursor":"c","more":true,"reset":null}"#,
        #"{"changed":[],"removed":[],"token":null,"cursor":null,"more":false,"reset":"later"}"#,
    ])
    func aPageIsReadAsItIsWritten(_ json: String) throws {
        let page = try readJSON(json) { try Actions.changesFetch.result.read($0, "result") }
        #expect(writtenJSON { Actions.changesFetch.result.write(page, $0) } == json)
    }

    @Test func aComparisonIsReadAsItIsWritten() throws {
        let json = #"{"records":[["1",812],["2",7]],"token":null,"cursor":"c","more":true,"reset":null}"#
        let page = try readJSON(json) { try Actions.changesCompare.result.read($0, "result") }
        #expect(writtenJSON { Actions.changesCompare.result.write(page, $0) } == json)
    }

    /// What is missing of a page would be lost to its client.
    @Test(arguments: [
        #"{"changed":[],"removed":[]}"#, #"{"changed":[{}],"removed":[],"token":"t"}"#,
        #"{"changed":[],"removed":["note"],"token":"t"}"#, #"{"changed":[],"removed":[1],"token":"t"}"#,
    ])
    func aPageThatIsNoneIsRefused(_ json: String) throws {
        #expect(try refusal(json) { try Actions.changesFetch.result.read($0, "result") } != nil)
    }
}
