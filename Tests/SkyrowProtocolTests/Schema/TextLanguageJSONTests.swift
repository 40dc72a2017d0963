import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct TextLanguageJSONTests {
    private static let text =
        #"{"record_types":{"film":{"fields":[{"name":"name","type":"string"},{"name":"title","type":"string","text":"english"}]}}}"#

    private static let film = RecordType(
        name: type("film"),
        fields: [field("name"): .string, field("title"): .string],
        textLanguages: [field("title"): .english]
    )

    @Test func aSchemaSaysTheLanguagesOfItsTexts() throws {
        #expect(try readJSON(Self.text) { try Actions.schemaCreate.parameters.read($0) } == [Self.film])
        #expect(writtenJSON { Actions.schemaCreate.parameters.write([Self.film], $0) } == Self.text)
        let schema = RecordSchema(types: [type("film"): Self.film])
        #expect(writtenJSON { $0.schema(schema) } == Self.text)
        #expect(try readJSON(Self.text) { try RecordSchema(result: $0) } == schema)
        // A newer server may have more of them.
        let newer = Self.text.replacing("english", with: "klingon")
        #expect(try readJSON(newer) { try RecordSchema(result: $0) }.types[type("film")]?.textLanguages == [:])
    }

    @Test func aSchemaSaysWhichTextsAreStored() throws {
        let text = Self.text.replacing(#""english""#, with: #"{"language":"english","stored":true}"#)
        var film = Self.film
        film.storedTexts = [field("title")]
        #expect(try readJSON(text) { try Actions.schemaCreate.parameters.read($0) } == [film])
        #expect(writtenJSON { Actions.schemaCreate.parameters.write([film], $0) } == text)
        let schema = RecordSchema(types: [type("film"): film])
        #expect(writtenJSON { $0.schema(schema) } == text)
        #expect(try readJSON(text) { try RecordSchema(result: $0) } == schema)
        let document = try readJSON(text) { try SchemaDocument(schemaFile: $0) }
        let title = document.types[type("film")]?.fields[field("title")]
        #expect(title?.textLanguage == .english && title?.storesWords == true)
        #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
        // Said and not so.
        let plain = text.replacing("true", with: "false")
        #expect(try readJSON(plain) { try Actions.schemaCreate.parameters.read($0) } == [Self.film])
    }

    @Test func aFileKeepsTheLanguages() throws {
        let document = try readJSON(Self.text) { try SchemaDocument(schemaFile: $0) }
        #expect(document.types[type("film")]?.fields[field("title")]?.textLanguage == .english)
        #expect(document.types[type("film")]?.fields[field("name")]?.textLanguage == .words)
        #expect(try readJSON(document.schemaFile) { try SchemaDocument(schemaFile: $0) } == document)
    }

    private static func record(_ field: String) -> String {
        #"{"record_types":{"film":{"fields":["# + field + "]}}}"
    }

    @Test(arguments: [
        #"{"name":"a","type":"string","text":"none"}"#, #"{"name":"a","type":"string","text":null}"#,
        #"{"name":"a","type":"integer","text":null}"#, #"{"name":"a","type":"string","text":"simple"}"#,
        #"{"name":"a","type":"string","text":{"language":"english","stored":true}}"#,
        #"{"name":"a","type":"string","text":{"language":"none","stored":false}}"#,
        #"{"name":"a","type":"string","text":{"language":"none"}}"#,
    ])
    func whatAFieldMayHaveIsRead(field: String) throws {
        _ = try readJSON(Self.record(field)) { try Actions.schemaCreate.parameters.read($0) }
        _ = try readJSON(Self.record(field)) { try SchemaDocument(schemaFile: $0) }
    }

    @Test(arguments: [
        #"{"name":"a","type":"string","text":"English"}"#, #"{"name":"a","type":"string","text":""}"#,
        #"{"name":"a","type":"string","text":1}"#,
        #"{"name":"a","type":"string","text":{"language":"none","stored":true}}"#,
        #"{"name":"a","type":"string","text":{"language":"english","stored":1}}"#,
        #"{"name":"a","type":"string","text":{"stored":true}}"#, #"{"name":"a","type":"string","text":{}}"#,
        #"{"name":"a","type":"string","text":{"language":"english","kept":true}}"#,
        #"{"name":"a","type":"integer","text":{"language":"english","stored":true}}"#,
        #"{"name":"a","type":"array(string)","text":"english"}"#, #"{"name":"a","type":"integer","text":"none"}"#,
        #"{"name":"a","type":"string","text":"pg_catalog.english'"}"#,
    ])
    func anyOtherLanguageIsRefused(field: String) throws {
        let error = try refusal(Self.record(field)) { try Actions.schemaCreate.parameters.read($0) }
        #expect(error?.code == .invalidArgument)
        let file = try refusal(Self.record(field)) { try SchemaDocument(schemaFile: $0) }
        #expect(file?.message.contains("record_types.film.fields[0]") == true)
    }
}
