import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct SchemaMessagesTests {
    private static let golden = #"""
        {"record_types":{"note":{"fields":[{"name":"category","type":"ref(category)"},{"name":"stars","type":"integer"}]},\#
        "user":{"fields":[]}}}
        """#

    private static var schema: RecordSchema {
        let note = RecordType(
            name: typeName("note"),
            fields: [fieldName("stars"): .integer, fieldName("category"): .reference(typeName("category"))]
        )
        return RecordSchema(types: [typeName("note"): note, typeName("user"): RecordType(name: typeName("user"))])
    }

    @Test func schemasAreSortedByName() throws {
        #expect(writtenJSON { $0.schema(SchemaMessagesTests.schema) } == SchemaMessagesTests.golden)
        #expect(try readJSON(SchemaMessagesTests.golden) { try RecordSchema(result: $0) } == SchemaMessagesTests.schema)
    }

    @Test func typesOfANewerServerAreUnknown() throws {
        let schema = try readJSON(#"{"record_types":{"n":{"fields":[{"name":"p","type":"cube"}]}}}"#) {
            try RecordSchema(result: $0)
        }
        #expect(schema.types[typeName("n")]?.fields == [fieldName("p"): .unknown("cube")])
    }

    @Test func typesToCreateAreRead() throws {
        let request = try readJSON(SchemaMessagesTests.golden) { try SchemaCreateRequest(parameters: $0) }
        #expect(
            request.types == [SchemaMessagesTests.schema.types[typeName("note")], RecordType(name: typeName("user"))]
        )
        let text = writtenJSON { $0.schemaCreateParameters(request) }
        #expect(text == SchemaMessagesTests.golden)
    }

    @Test(
        arguments: [
            ("{}", .invalidArgument), (#"{"record_types":[]}"#, .badRequest),
            (#"{"record_types":{}}"#, .invalidArgument),
            (#"{"record_types":{"_auth":{"fields":[]}}}"#, .invalidArgument),
            (#"{"record_types":{"n":{}}}"#, .invalidArgument),
            (#"{"record_types":{"n":{"fields":[{"name":"a"}]}}}"#, .invalidArgument),
            (#"{"record_types":{"n":{"fields":[{"name":"_a","type":"string"}]}}}"#, .invalidArgument),
            (#"{"record_types":{"n":{"fields":[{"name":"a","type":"acl"}]}}}"#, .invalidArgument),
            (#"{"record_types":{"n":{"fields":[{"name":"a","type":"ref(_auth)"}]}}}"#, .invalidArgument),
            (
                #"{"record_types":{"n":{"fields":[{"name":"a","type":"string"},{"name":"a","type":"json"}]}}}"#,
                .invalidArgument
            ),
        ] as [(String, ErrorCode)]
    )
    func typesThatCannotBeCreatedAreRefused(text: String, code: ErrorCode) throws {
        let error = try refusal(text) { try SchemaCreateRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.arguments == ["record_types"])
    }

    @Test func renameAndDeleteNameTheirField() throws {
        let rename = try readJSON(#"{"record_type":"note","item_type":"field","item_name":"a","new_name":"b"}"#) {
            try SchemaRenameRequest(parameters: $0)
        }
        #expect(rename.type == typeName("note") && rename.field == fieldName("a") && rename.newName == fieldName("b"))
        let renamed = try readJSON(writtenJSON { $0.schemaRenameParameters(rename) }) {
            try SchemaRenameRequest(parameters: $0)
        }
        #expect(renamed.newName == rename.newName)
        let delete = try readJSON(#"{"record_type":"note","item_name":"a"}"#) {
            try SchemaDeleteRequest(parameters: $0)
        }
        let deleted = try readJSON(writtenJSON { $0.schemaDeleteParameters(delete) }) {
            try SchemaDeleteRequest(parameters: $0)
        }
        #expect(deleted.field == fieldName("a"))
        #expect(
            try refusal(#"{"record_type":"n","item_name":"_id"}"#) { try SchemaDeleteRequest(parameters: $0) }?
                .arguments == ["item_name"]
        )
        #expect(
            try refusal(#"{"record_type":"n","item_name":"a"}"#) { try SchemaRenameRequest(parameters: $0) }?.arguments
                == ["new_name"]
        )
    }
}
