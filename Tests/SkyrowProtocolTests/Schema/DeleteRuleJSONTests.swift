import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct DeleteRuleJSONTests {
    private static let text =
        #"{"record_types":{"item":{"fields":[{"name":"list","type":"ref(list)","on_delete":"cascade"},{"name":"next","type":"ref(item)"},{"name":"owner","type":"ref(user)","on_delete":"set_null"}]}}}"#

    private static let item = RecordType(
        name: type("item"),
        fields: [
            field("list"): .reference(type("list")), field("next"): .reference(type("item")),
            field("owner"): .reference(.user),
        ],
        deleteRules: [field("list"): .cascade, field("owner"): .setNull]
    )

    @Test func aSchemaSaysTheRulesOfItsReferences() throws {
        #expect(try readJSON(Self.text) { try Actions.schemaCreate.parameters.read($0) } == [Self.item])
        #expect(writtenJSON { Actions.schemaCreate.parameters.write([Self.item], $0) } == Self.text)
        let schema = RecordSchema(types: [type("item"): Self.item])
        #expect(writtenJSON { $0.schema(schema) } == Self.text)
        #expect(try readJSON(Self.text) { try RecordSchema(result: $0) } == schema)
    }

    @Test(arguments: [
        #"{"name":"list","type":"ref(list)","on_delete":"delete"}"#,
        #"{"name":"list","type":"ref(list)","on_delete":1}"#,
        #"{"name":"list","type":"string","on_delete":"cascade"}"#,
        #"{"name":"list","type":"array(ref(list))","on_delete":"cascade"}"#,
        #"{"name":"_parent","type":"string"}"#, #"{"name":"_parent","type":"array(ref(list))"}"#,
        #"{"name":"_parent","type":"ref(list)","on_delete":"restrict"}"#, #"{"name":"_owner","type":"ref(list)"}"#,
    ])
    func anyOtherRuleIsRefused(field: String) throws {
        let error = try #require(
            try refusal(#"{"record_types":{"item":{"fields":["# + field + "]}}}") {
                try Actions.schemaCreate.parameters.read($0)
            }
        )
        #expect(error.code == .invalidArgument)
        let file = try #require(
            try refusal(#"{"record_types":{"item":{"fields":["# + field + "]}}}") { try SchemaDocument(schemaFile: $0) }
        )
        #expect(file.message.contains("record_types.item.fields[0]"))
    }

    @Test func aParentCascadesWithoutBeingAsked() throws {
        let text = #"{"record_types":{"item":{"fields":[{"name":"_parent","type":"ref(list)"}]}}}"#
        let item = try readJSON(text) { try Actions.schemaCreate.parameters.read($0)[0] }
        #expect(item.fields == [.parent: .reference(type("list"))])
        let document = try readJSON(text) { try SchemaDocument(schemaFile: $0) }
        #expect(document.types[type("item")]?.fields[.parent]?.onDelete == .cascade)
        #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
        let renamed =
            #"{"record_types":{"item":{"fields":[{"name":"_parent","type":"ref(list)","renamed_from":"list"}]}}}"#
        #expect(try refusal(renamed) { try SchemaDocument(schemaFile: $0) } != nil)
    }

    @Test func aFileSaysWhatIsLoggedOfOldRecords() throws {
        func document(_ member: String) throws -> SchemaDocument {
            try readJSON(#"{"record_types":{"item":{"fields":[]"# + member + "}}}") {
                try SchemaDocument(schemaFile: $0)
            }
        }
        #expect(try document("").types[type("item")]?.live == .full)
        let keyed = try document(#","live":"key""#)
        #expect(keyed.types[type("item")]?.live == .key)
        #expect(try readJSON(keyed.schemaFile) { try SchemaDocument(schemaFile: $0) } == keyed)
        #expect(try document(#","live":"full""#) == document(""))
        for member in [#","live":"nothing""#, #","live":true"#] {
            let text = #"{"record_types":{"item":{"fields":[]"# + member + "}}}"
            #expect(
                try refusal(text) { try SchemaDocument(schemaFile: $0) }?.message.contains("live") == true,
                "\(member)"
            )
        }
    }

    @Test func aFileKeepsTheRules() throws {
        let document = try readJSON(Self.text) { try SchemaDocument(schemaFile: $0) }
        #expect(document.types[type("item")]?.fields[field("list")]?.onDelete == .cascade)
        #expect(document.types[type("item")]?.fields[field("next")]?.onDelete == .restrict)
        #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
    }

    @Test(arguments: [
        (DeletedDependents.none, #"[{"_id":"list/1","_type":"record"}]"#),
        (
            DeletedDependents(ids: [id("item/1"), id("item/2")], hidden: 3),
            #"[{"_id":"list/1","_type":"record","deleted":["item/1","item/2"],"deleted_hidden":3}]"#
        ),
        (DeletedDependents(hidden: 1), #"[{"_id":"list/1","_type":"record","deleted_hidden":1}]"#),
    ])
    func whatWentWithARecordIsSaid(dependents: DeletedDependents, text: String) throws {
        let deleted = DeletionResult.outcomes([.deleted(id("list/1"), with: dependents)])
        #expect(writtenJSON { Actions.recordDelete.result.write(.fresh(deleted), $0) } == text)
        let result = try readJSON(text) { try Actions.recordDelete.result.read($0, "result") }
        guard case .fresh(.outcomes(let outcomes)) = result, case .deleted(let list, let read) = outcomes.first else {
            Issue.record("\(text)")
            return
        }
        #expect(list == id("list/1") && read == dependents)
    }
}
