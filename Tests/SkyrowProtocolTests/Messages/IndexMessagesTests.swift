import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct IndexMessagesTests {
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
        let request = try readJSON(text) { try IndexCreateRequest(parameters: $0) }
        #expect(request.definition == definition)
        let written = writtenJSON { $0.indexCreateParameters(request) }
        #expect(try readJSON(written) { try IndexCreateRequest(parameters: $0) } == request)
    }

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
        (#"{"record_type":"film","fields":"year"}"#, .badRequest, "fields"),
        (#"{"record_type":"film","fields":[["year"]],"unique":1}"#, .badRequest, "unique"),
    ])
    func anIndexThatCannotBeReadIsRefused(_ text: String, _ code: ErrorCode, _ place: String) throws {
        let error = try refusal(text) { try IndexCreateRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.path ?? error?.arguments.first == place)
    }

    @Test func whatIsToBeDeletedAndListedIsRead() throws {
        for request in [IndexDeleteRequest(name: "a_b_idx"), IndexDeleteRequest(name: "a_b_idx", forces: true)] {
            let text = writtenJSON { $0.indexDeleteParameters(request) }
            #expect(try readJSON(text) { try IndexDeleteRequest(parameters: $0) } == request)
        }
        for request in [IndexListRequest(), IndexListRequest(type: typeName("film"))] {
            let text = writtenJSON { $0.indexListParameters(request) }
            #expect(try readJSON(text) { try IndexListRequest(parameters: $0) } == request)
        }
        for text in [#"{"name":""}"#, "{}", #"{"name":"\#(String(repeating: "n", count: 64))"}"#] {
            #expect(try refusal(text) { try IndexDeleteRequest(parameters: $0) }?.arguments == ["name"])
        }
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
        let text = writtenJSON { $0.indexes(indexes) }
        #expect(try readJSON(text) { try RecordIndex.list(result: $0) } == indexes)
    }

    @Test func whatANewerServerSaysIsReadAsFarAsItIsKnown() throws {
        let text =
            #"{"indexes":[{"name":"i","record_type":"film","kind":"spiral","fields":[],"state":"new","reason":"odd"}]}"#
        let index = try #require(try readJSON(text) { try RecordIndex.list(result: $0) }.first)
        #expect(index.state == .foreign && index.definition == nil && index.failure?.reason == .error)
    }
}
