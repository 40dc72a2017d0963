import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct SchemaActionTests {
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
        #expect(writtenJSON { $0.schema(SchemaActionTests.schema) } == SchemaActionTests.golden)
        #expect(try readJSON(SchemaActionTests.golden) { try RecordSchema(result: $0) } == SchemaActionTests.schema)
    }

    @Test func typesOfANewerServerAreUnknown() throws {
        let schema = try readJSON(#"{"record_types":{"n":{"fields":[{"name":"p","type":"cube"}]}}}"#) {
            try RecordSchema(result: $0)
        }
        #expect(schema.types[typeName("n")]?.fields == [fieldName("p"): .unknown("cube")])
    }

    @Test func typesToCreateAreRead() throws {
        let form = Actions.schemaCreate.parameters
        let types = try readJSON(SchemaActionTests.golden) { try form.read($0) }
        #expect(types == [SchemaActionTests.schema.types[typeName("note")], RecordType(name: typeName("user"))])
        #expect(writtenJSON { form.write(types, $0) } == SchemaActionTests.golden)
    }

    @Test(
        arguments: [
            ("{}", .invalidArgument), (#"{"record_types":null}"#, .invalidArgument),
            (#"{"record_types":[]}"#, .badRequest),
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
        let error = try refusal(text) { try Actions.schemaCreate.parameters.read($0) }
        #expect(error?.code == code)
        #expect(error?.arguments == ["record_types"])
    }

    @Test func renameAndDeleteNameTheirField() throws {
        let (renaming, deleting) = (Actions.schemaRename.parameters, Actions.schemaDelete.parameters)
        let sent = #"{"record_type":"note","item_type":"field","item_name":"a","new_name":"b"}"#
        let rename = try readJSON(sent) { try renaming.read($0) }
        #expect(rename.type == typeName("note") && rename.field == fieldName("a") && rename.newName == fieldName("b"))
        #expect(writtenJSON { renaming.write(rename, $0) } == #"{"record_type":"note","item_name":"a","new_name":"b"}"#)
        let text = #"{"record_type":"note","item_name":"a"}"#
        let deletion = try readJSON(text) { try deleting.read($0) }
        #expect(deletion.type == typeName("note") && deletion.field == fieldName("a"))
        #expect(writtenJSON { deleting.write(deletion, $0) } == text)
    }

    @Test(
        arguments: [
            (#"{"item_name":"a","new_name":"b"}"#, .invalidArgument, "record_type"),
            (#"{"record_type":7,"item_name":"a","new_name":"b"}"#, .badRequest, "record_type"),
            (#"{"record_type":"_auth","item_name":"a","new_name":"b"}"#, .invalidArgument, "record_type"),
            (#"{"record_type":"n","new_name":"b"}"#, .invalidArgument, "item_name"),
            (#"{"record_type":"n","item_name":"_id","new_name":"b"}"#, .invalidArgument, "item_name"),
            (#"{"record_type":"n","item_name":"a"}"#, .invalidArgument, "new_name"),
            (#"{"record_type":"n","item_name":"a","new_name":"_b"}"#, .invalidArgument, "new_name"),
        ] as [(String, ErrorCode, String)]
    )
    func aRenameWithoutGoodNamesIsRefused(text: String, code: ErrorCode, argument: String) throws {
        let error = try refusal(text) { try Actions.schemaRename.parameters.read($0) }
        #expect(error?.code == code)
        #expect(error?.arguments == [argument])
        if argument != "new_name" {
            #expect(try refusal(text) { try Actions.schemaDelete.parameters.read($0) }?.arguments == [argument])
        }
    }

    @Test func rolesAreNoTypeThatASchemaHas() throws {
        let text = #"{"record_type":"_role","item_name":"a"}"#
        #expect(try refusal(text) { try Actions.schemaDelete.parameters.read($0) }?.code == .notSupported)
    }
}
