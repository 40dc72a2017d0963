import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct RelationMessagesTests {
    /// What is passed over costs the database, and is bounded as it is in queries.
    @Test(
        arguments: [
            (#""offset":100000"#, 100_000, nil), (#""offset":100001"#, nil, "offset"), (#""offset":-1"#, nil, "offset"),
            (#""page":101,"limit":1000"#, 100_000, nil), (#""page":102,"limit":1000"#, nil, "page"),
            (#""page":9223372036854775807,"limit":1000"#, nil, "page"), (#""page":0"#, nil, "page"), ("", 0, nil),
        ] as [(String, Int?, String?)]
    )
    func aRelationIsReadToABoundedPlace(members: String, offset: Int?, place: String?) throws {
        let text = #"{"name":"friend"\#(members.isEmpty ? "" : ",")\#(members)}"#
        let read: (JSONView) throws -> Int = { try RelationQuery(queryParameters: $0, rules: .rpc).offset }
        if let offset {
            #expect(try readJSON(text, read) == offset)
        } else {
            let error = #expect(throws: SkyrowError.self) { try readJSON(text, read) }
            #expect(error?.code == .invalidArgument && error?.info["arguments"] == .list([.string(place ?? "")]))
        }
    }

    /// Skygear's action has no `page`, and its SDK counts from zero.
    @Test(arguments: [(#""page":0"#, 0), (#""page":2,"limit":50"#, 0), (#""page":0,"offset":50"#, 50)])
    func v1HasNoPages(members: String, offset: Int) throws {
        let found = try readJSON(#"{"name":"friend",\#(members)}"#) {
            try RelationQuery(queryParameters: $0, rules: .v1).offset
        }
        #expect(found == offset)
    }
}
