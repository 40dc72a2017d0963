import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct SchemaFileTests {
    private func read(_ text: String) throws -> SchemaDocument {
        try readJSON(text) { try SchemaDocument(schemaFile: $0) }
    }

    private let whole = """
        {
          "record_types": {
            "memo": {
              "renamed_from": "note",
              "comment": "What \\"they\\" wrote.",
              "fields": [
                {"name": "category", "type": "ref(category)"},
                {"name": "done", "type": "boolean", "default": false},
                {"name": "price", "type": "unknown", "sql_type": "numeric(10,2)"},
                {"name": "search", "type": "string", "generated": true},
                {"name": "stars", "type": "integer", "default": 9007199254740993},
                {"name": "tags", "type": "json", "default": []},
                {"name": "title", "type": "string", "renamed_from": "name", "default": "", "comment": "A heading."},
                {"name": "weight", "type": "number", "default": 1.5}
              ],
              "indexes": [
                {"fields": ["stars desc", "_created_at"]},
                {"fields": ["tags"], "method": "gin"},
                {"fields": ["title"], "unique": true}
              ]
            },
            "tag": {
              "fields": []
            }
          },
          "accepted_drift": [
            "memo.price:unsupported-type"
          ]
        }

        """

    @Test func aFileIsReadAndWrittenBackAsItWas() throws {
        let document = try read(whole)
        #expect(document.schemaFile == whole)
        let memo = try #require(document.types[try RecordTypeName("memo")])
        #expect(memo.renamedFrom == (try RecordTypeName("note")))
        #expect(memo.fields[try FieldName("stars")]?.defaultValue == .integer(9_007_199_254_740_993))
        #expect(memo.fields[try FieldName("price")]?.type == .unknown("numeric(10,2)"))
        #expect(memo.fields[try FieldName("search")]?.isGenerated == true)
        #expect(memo.indexes.contains(DocumentedIndex([.init("stars", isDescending: true), .init("_created_at")])))
        #expect(memo.indexes.contains(DocumentedIndex([.init("tags")], method: .gin)))
        #expect(document.acceptedDrift == ["memo.price:unsupported-type"])
    }

    @Test func theAnswerOfSchemaFetchIsASchemaFile() throws {
        let schema = RecordSchema(types: [
            .user: RecordType(
                name: .user,
                fields: [try FieldName("age"): .integer, try FieldName("odd"): .unknown("x")]
            )
        ])
        let document = try read(writtenJSON { $0.schema(schema) })
        #expect(
            document.types[.user]?.fields.mapValues(\.type) == [
                try FieldName("age"): .integer, try FieldName("odd"): .unknown("unknown"),
            ]
        )
    }

    @Test func anIntegerIsANumbersDefaultAndSpacesInAnEmptyListMeanNothing() throws {
        let document = try read(
            #"{"record_types":{"n":{"fields":[{"name":"w","type":"number","default":2},{"name":"j","type":"json","default":{ }}]}}}"#
        )
        let fields = try #require(document.types[try RecordTypeName("n")]).fields
        #expect(fields[try FieldName("w")]?.defaultValue == .number(2))
        #expect(fields[try FieldName("j")]?.defaultValue == .json(JSONText(validated: Array("{}".utf8))))
    }

    @Test(
        arguments: [
            ("[]", "the file is not an object."),
            ("{}", "the file has no member \"record_types\"."),
            (
                #"{"types":{}}"#,
                "the file has the unknown member \"types\"; allowed are: record_types, access, accepted_drift."
            ),
            (#"{"record_types":[]}"#, "record_types is not an object."),
            (#"{"record_types":{"a":{"fields":[]},"a":{"fields":[]}}}"#, "record_types has a member twice."),
            (
                #"{"record_types":{"_a":{"fields":[]}}}"#,
                "record_types._a: A record type name must be a letter followed by at most 62 letters, digits or underscores."
            ),
            (#"{"record_types":{"a":{}}}"#, "record_types.a has no member \"fields\"."),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"string","defualt":1}]}}}"#,
                "record_types.a.fields[0] has the unknown member \"defualt\"; allowed are: name, type, sql_type, generated, default, comment, renamed_from, on_delete, text."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b"}]}}}"#,
                "record_types.a.fields[0] needs the members \"name\" and \"type\"."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"text"}]}}}"#,
                "record_types.a.fields[0]: The field type does not exist."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"json"},{"name":"b","type":"json"}]}}}"#,
                "record_types.a has the field \"b\" twice."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"integer","default":1.5}]}}}"#,
                "record_types.a.fields[0] has a default that a field of the type integer cannot have."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"json","default":[1]}]}}}"#,
                "record_types.a.fields[0] has a default that a field of the type json cannot have."
            ),
            (
                #"{"record_types":{"a":{"fields":[{"name":"b","type":"string","default":"\u0000"}]}}}"#,
                "record_types.a.fields[0]: Text cannot contain the character NUL (U+0000)."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":["b down"]}]}}}"#,
                "record_types.a.indexes[0] has \"b down\", which is not a field name with an optional asc or desc."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":[]}]}}}"#,
                "record_types.a.indexes[0] has no field."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":["b","b desc"]}]}}}"#,
                "record_types.a.indexes[0] has \"b\" twice."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":["b"],"method":"rum"}]}}}"#,
                "record_types.a.indexes[0] has the method \"rum\"; allowed are: btree, hash, gin, gist, brin."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":["b"],"method":"gin","unique":true}]}}}"#,
                "record_types.a.indexes[0] has the method gin, which can be neither unique nor descending."
            ),
            (
                #"{"record_types":{"a":{"fields":[],"indexes":[{"fields":["b"]},{"fields":["b asc"]}]}}}"#,
                "record_types.a.indexes[1] occurs twice."
            ),
            (#"{"record_types":{},"accepted_drift":[1]}"#, "accepted_drift is not an array of strings."),
        ]
    )
    func whatIsWrongIsToldWithItsPlace(_ text: String, _ sentence: String) throws {
        let error = try refusal(text) { try SchemaDocument(schemaFile: $0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == sentence)
    }
}
