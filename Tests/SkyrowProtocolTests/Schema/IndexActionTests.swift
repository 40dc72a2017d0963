import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct IndexActionTests {
    /// What is sent, and what it means; written again it means the same.
    @Test(arguments: [
        (
            #"{"record_type":"film","fields":[["year","desc"],["rating"]]}"#,
            IndexDefinition(of: typeName("film"), [IndexField("year", .descending), IndexField("rating")])
        ),
        (
            #"{"record_type":"film","fields":["order",["year","desc"]]}"#,
            IndexDefinition(of: typeName("film"), [IndexField("order"), IndexField("year", .descending)])
        ),
        (
            #"{"record_type":"film","fields":[[{"$type":"keypath","$val":"year"},"asc"]],"unique":true,"nulls":"equal"}"#,
            IndexDefinition(of: typeName("film"), [IndexField("year")], isUnique: true, treatsNullsAsEqual: true)
        ),
        (
            #"{"record_type":"film","fields":[[["func","fold","title"],"desc"],["_created_at"]],"nulls":"distinct"}"#,
            IndexDefinition(
                of: typeName("film"),
                [IndexField("title", .descending, isFolded: true), IndexField("_created_at")]
            )
        ),
        (
            #"{"record_type":"film","fields":[[{"$type":"keypath","$val":"meta.size.w","$as":"number"},"desc"],["year"]]}"#,
            IndexDefinition(
                of: typeName("film"),
                [IndexField("meta.size.w", as: .number, .descending), IndexField("year")]
            )
        ),
        (
            #"{"record_type":"film","fields":[["title"]],"kind":"trigram","fold":true}"#,
            IndexDefinition(of: typeName("film"), [IndexField("title", isFolded: true)], kind: .trigram)
        ),
        (
            #"{"record_type":"film","fields":[["tags"]],"kind":"contains","unique":null,"fold":false}"#,
            IndexDefinition(of: typeName("film"), [IndexField("tags")], kind: .contains)
        ),
    ])
    func anIndexToCreateIsRead(_ text: String, _ definition: IndexDefinition) throws {
        let form = Actions.schemaIndexCreate.parameters
        #expect(try readJSON(text) { try form.read($0) } == definition)
        #expect(try form.checked(definition) == definition)
    }

    private static let seventeen = Array(repeating: "7", count: 17).joined(separator: ",")

    @Test(arguments: [
        (#"{"record_type":"film"}"#, ErrorCode.invalidArgument, "fields"),
        (#"{"record_type":"film","fields":[]}"#, .invalidArgument, "fields"),
        (#"{"record_type":"film","fields":[["year"]],"kind":"hash"}"#, .invalidArgument, "kind"),
        (#"{"record_type":"film","fields":[["year"]],"nulls":"first"}"#, .invalidArgument, "nulls"),
        (#"{"record_type":"film","fields":[["year"],7]}"#, .invalidArgument, "fields[1]"),
        (#"{"record_type":"film","fields":[["year","up"]]}"#, .invalidArgument, "fields[0]"),
        (#"{"record_type":"film","fields":[["year","asc","last"]]}"#, .invalidArgument, "fields[0]"),
        (#"{"record_type":"film","fields":[[["func","rank","title"]]]}"#, .invalidArgument, "fields[0]"),
        (#"{"record_type":"film","fields":[[]]}"#, .invalidArgument, "fields[0]"),
        (
            #"{"record_type":"film","fields":[["year"],[{"$type":"keypath","$val":"meta.w","$as":"money"}]]}"#,
            .invalidArgument,
            "fields[1]"
        ),
        (
            #"{"record_type":"film","fields":[[{"$type":"keypath","$val":"meta","$as":"number"}]]}"#, .invalidArgument,
            "fields[0]"
        ),
        (
            #"{"record_type":"film","fields":[[{"$type":"keypath","$val":"a..b","$as":"number"}]]}"#, .invalidArgument,
            "fields[0]"
        ),
        (
            #"{"record_type":"film","fields":[\#(seventeen)]}"#, .invalidArgument, "fields"
        ),
        (#"{"record_type":"film","fields":"year"}"#, .badRequest, "fields"),
        (#"{"record_type":"film","fields":[["year"]],"unique":1}"#, .badRequest, "unique"),
    ])
    func anIndexThatCannotBeReadIsRefused(_ text: String, _ code: ErrorCode, _ place: String) throws {
        let error = try refusal(text) { try Actions.schemaIndexCreate.parameters.read($0) }
        #expect(error?.code == code)
        #expect(error?.path ?? error?.arguments.first == place)
    }

    @Test func whatIsToBeDeletedAndListedIsRead() throws {
        let (deleting, listing) = (Actions.schemaIndexDelete.parameters, Actions.schemaIndexList.parameters)
        for deletion in [IndexDeletion(name: "a_b_idx"), IndexDeletion(name: "a_b_idx", forces: true)] {
            #expect(try deleting.checked(deletion) == deletion)
        }
        for type in [nil, typeName("film")] {
            #expect(try listing.checked(type) == type)
        }
        // A name has 63 bytes at most, whichever characters it has.
        let most = String(repeating: "n", count: 63)
        #expect(try readJSON(#"{"name":"\#(most)"}"#) { try deleting.read($0) } == IndexDeletion(name: most))
        for name in ["", "n" + most, String(repeating: "é", count: 32), #"a\u0000"#] {
            #expect(try refusal(#"{"name":"\#(name)"}"#) { try deleting.read($0) }?.arguments == ["name"])
        }
        #expect(try refusal("{}") { try deleting.read($0) }?.arguments == ["name"])
        #expect(try refusal(#"{"record_type":"_a"}"#) { try listing.read($0) }?.arguments == ["record_type"])
    }

    @Test func aListIsReadAsItIsWritten() throws {
        let film = typeName("film")
        let indexes = [
            RecordIndex(
                name: "film_title_key",
                type: film,
                state: .failed,
                definition: IndexDefinition(of: film, [IndexField("title", isFolded: true)], isUnique: true),
                attempts: 1,
                failure: IndexFailure(.duplicate, duplicates: 7)
            ),
            RecordIndex(
                name: "film_year_idx",
                type: film,
                state: .building,
                definition: IndexDefinition(of: film, [IndexField("year", .descending)]),
                attempts: 2,
                failure: IndexFailure(.error, sqlState: "53100"),
                progress: RecordIndex.Progress(phase: "building index", blocksDone: 7, blocksTotal: 9),
                bytes: 8192
            ),
            RecordIndex(
                name: "old",
                type: film,
                state: .foreign,
                bytes: 16384,
                isValid: false,
                statement: "CREATE INDEX old ON app.film USING hash (year)"
            ),
        ]
        let list = Actions.schemaIndexList.result
        let text = writtenJSON { list.write(indexes, $0) }
        #expect(try readJSON(text) { try list.read($0, "result") } == indexes)
    }

    @Test func whatANewerServerSaysIsReadAsFarAsItIsKnown() throws {
        let text =
            #"{"indexes":[{"name":"i","record_type":"film","kind":"spiral","fields":[],"state":"new","reason":"odd"}]}"#
        let index = try #require(try readJSON(text) { try Actions.schemaIndexList.result.read($0, "result") }.first)
        #expect(index.state == .foreign && index.definition == nil && index.failure?.reason == .error)
    }
}
