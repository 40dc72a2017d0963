import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// `include_form`: where the records are that a page includes.
@Suite struct IncludeFormTests {
    private static func form(_ members: String, _ rules: ReadingRules = .rpc) throws -> IncludeForm {
        try readJSON("{\"record_type\":\"note\"\(members)}") { try QueryRequest(parameters: $0, rules: rules) }.query
            .includeForm
    }

    @Test(
        arguments: [
            ("", .nested), (#","include_form":null"#, .nested), (#","include_form":"nested""#, .nested),
            (#","include_form":"table""#, .table), (#","include":{"a":true},"include_form":"table""#, .table),
        ] as [(String, IncludeForm)]
    )
    func aFormIsRead(members: String, form: IncludeForm) throws {
        #expect(try Self.form(members) == form)
        guard form == .nested else { return }
        #expect(try Self.form(members, .v1) == .nested)
    }

    @Test(
        arguments: [
            (#""tables""#, .rpc, .invalidArgument, "include_form"), (#""""#, .rpc, .invalidArgument, "include_form"),
            (#""Table""#, .v1, .invalidArgument, "include_form"), (#""table""#, .v1, .invalidArgument, "include_form"),
            ("true", .rpc, .badRequest, nil), (#"["table"]"#, .rpc, .badRequest, nil),
        ] as [(String, ReadingRules, ErrorCode, String?)]
    )
    func anotherFormIsRefused(value: String, rules: ReadingRules, code: ErrorCode, path: String?) throws {
        let error = try refusal("{\"record_type\":\"note\",\"include_form\":\(value)}") {
            try QueryRequest(parameters: $0, rules: rules)
        }
        #expect(error?.code == code)
        #expect(error?.path == path)
        #expect(error?.arguments == ["include_form"])
    }

    @Test func aQueryIsReadAsItWasWritten() throws {
        for form in IncludeForm.allCases {
            var query = RecordQuery(
                type: typeName("note"),
                include: [Inclusion(name: "a", keyPath: keyPath("author"))]
            )
            query.includeForm = form
            let text = writtenJSON { writer in
                writer.beginObject()
                writer.queryMembers(query)
                writer.endObject()
            }
            #expect(text.contains("include_form") == (form == .table))
            #expect(try readJSON(text) { try QueryRequest(parameters: $0) }.query.includeForm == form)
        }
    }

    @Test func theTableStandsBesideTheRecords() {
        let author = Record(id: recordID("person/9"), fields: [fieldName("name"): .string("Ada")])
        var result = QueryResult(records: [])
        func written(_ result: QueryResult, _ envelope: Envelope) -> String {
            let result = Actions.recordQuery.writer(of: .found(result))
            return writtenJSON { $0.response(result, in: envelope) }
        }
        let info = #""info":{"cursor":null,"has_more":false}"#
        #expect(written(result, .rpc(RPCID(1))) == #"{"jsonrpc":"2.0","id":1,"result":{"records":[],\#(info)}}"#)
        result.included = []
        #expect(
            written(result, .rpc(RPCID(1)))
                == #"{"jsonrpc":"2.0","id":1,"result":{"records":[],"included":{},\#(info)}}"#
        )
        result.included = [IncludedRecord(id: "person/9", source: author)]
        let person = #"{"_id":"person/9","_type":"record","_access":null,"name":"Ada"}"#
        #expect(
            written(result, .rpc(RPCID(1)))
                == #"{"jsonrpc":"2.0","id":1,"result":{"records":[],"included":{"person/9":\#(person)},\#(info)}}"#
        )
        #expect(written(result, .v1) == #"{"result":[],\#(info)}"#)
    }

    @Test func idsAreReadAsTheRecordsOfTheTable() throws {
        let ids = ["person/1", "person/2"].map { recordID($0) }
        let people = Dictionary(uniqueKeysWithValues: ids.map { ($0, Record(id: $0)) })
        let record = try readJSON(
            #"""
            {"_id":"film/1","_access":null,"_transient":{"author":"person/1","none":null,"gone":"person/3","metres":2,
             "cast":["person/2","person/1","person/3"],"counted":{"count":7,"records":["person/2"]},
             "twin":{"_id":"person/1","_access":null,"name":"another"}}}
            """#
        ) { try Record($0, included: people) }
        #expect(record.transient["author"]??.id == ids[0])
        #expect(record.transient["none"] == .some(nil) && record.transient["gone"] == .some(nil))
        #expect(record.computed == ["metres": 2])
        #expect(record.lists["cast"]?.records.map(\.id) == [ids[1], ids[0]])
        #expect(record.lists["counted"]?.records.map(\.id) == [ids[1]] && record.lists["counted"]?.count == 7)
        #expect(record.transient["twin"]??.fields == [fieldName("name"): .string("another")])
        let error = try refusal(#"{"_id":"film/1","_access":null,"_transient":{"author":"person"}}"#) {
            try Record($0, included: people)
        }
        #expect(error?.code == .invalidArgument)
    }
}
