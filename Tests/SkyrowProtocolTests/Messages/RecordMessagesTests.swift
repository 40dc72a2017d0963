import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

extension SaveRequest.Item {
    var draft: RecordDraft? { if case .draft(let draft) = self { draft } else { nil } }
    var failure: (SkyrowError, String?)? { if case .failure(let error, let id) = self { (error, id) } else { nil } }
}

@Suite struct RecordMessagesTests {
    @Test func oneRecordThatCannotBeReadLeavesTheOthers() throws {
        let request = try readJSON(
            #"""
            {"database_id":"_private","atomic":true,"records":[{"_id":"note/1","title":"Milk"},{"_id":"nonsense"},
             {"_recordType":"note","_recordID":"~","a":1},3,{"_id":"note/1","b":{"$type":"asset"}}]}
            """#
        ) { try SaveRequest(parameters: $0) }
        #expect(request.database == .own)
        #expect(request.isAtomic)
        #expect(request.items.map { $0.draft?.id.description } == ["note/1", nil, nil, nil, nil])
        #expect(
            request.items.map { $0.failure?.0.code } == [
                nil, .invalidArgument, .invalidArgument, .invalidArgument, .invalidArgument,
            ]
        )
        #expect(request.items.map { $0.failure?.1 } == [nil, "nonsense", "note/~", nil, "note/1"])
        #expect(request.idempotencyKey == nil)
        #expect(request.fingerprintSource.isEmpty)
    }

    @Test func oneKeyAndTheSameRequestHaveOneFingerprint() throws {
        func fingerprint(_ text: String) throws -> [UInt8] {
            try readJSON(text) { try SaveRequest(parameters: $0) }.fingerprintSource
        }
        let one = try fingerprint(#"{"idempotency_key":"k","records":[{"_id":"n/1","a":1,"b":"é"}]}"#)
        #expect(!one.isEmpty)
        #expect(
            try fingerprint(#"{"records":[{"b":"\u00e9", "a":1, "_id":"n/1"}], "idempotency_key":"k2","atomic":false}"#)
                == one
        )
        #expect(try fingerprint(#"{"idempotency_key":"k","records":[{"_id":"n/1","a":2,"b":"é"}]}"#) != one)
        #expect(
            try fingerprint(#"{"idempotency_key":"k","atomic":true,"records":[{"_id":"n/1","a":1,"b":"é"}]}"#) != one
        )
        #expect(
            try fingerprint(
                #"{"idempotency_key":"k","database_id":"_private","records":[{"_id":"n/1","a":1,"b":"é"}]}"#
            ) != one
        )
    }

    @Test(
        arguments: [
            ("{}", .invalidArgument, "records"), (#"{"records":null}"#, .invalidArgument, "records"),
            (#"{"records":[]}"#, .invalidArgument, "records"), (#"{"records":{}}"#, .badRequest, "records"),
            (#"{"records":[{}],"atomic":1}"#, .badRequest, "atomic"),
            (#"{"records":[{}],"database_id":1}"#, .badRequest, "database_id"),
            (#"{"records":[{}],"database_id":"_other"}"#, .invalidArgument, "database_id"),
            (#"{"records":[{}],"idempotency_key":""}"#, .invalidArgument, "idempotency_key"),
            (#"{"records":[{}],"idempotency_key":7}"#, .badRequest, "idempotency_key"),
            (
                #"{"records":[{}],"idempotency_key":"\#(String(repeating: "k", count: 65))"}"#, .invalidArgument,
                "idempotency_key"
            ),
        ] as [(String, ErrorCode, String)]
    )
    func savesThatCannotBeReadAtAllAreRefused(text: String, code: ErrorCode, argument: String) throws {
        let error = try refusal(text) { try SaveRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.arguments == [argument])
    }

    @Test func batchesAreBounded() throws {
        func records(_ count: Int) -> String {
            "{\"records\":[" + Array(repeating: "{\"_id\":\"n/1\"}", count: count).joined(separator: ",") + "]}"
        }
        #expect(try readJSON(records(10_000)) { try SaveRequest(parameters: $0) }.items.count == 10_000)
        #expect(try refusal(records(10_001)) { try SaveRequest(parameters: $0) }?.arguments == ["records"])
        func ids(_ count: Int) -> String {
            "{\"ids\":[" + Array(repeating: "\"n/1\"", count: count).joined(separator: ",") + "]}"
        }
        #expect(try readJSON(ids(10_000)) { try RecordIDsRequest(parameters: $0) }.ids.count == 10_000)
        #expect(try refusal(ids(10_001)) { try RecordIDsRequest(parameters: $0) }?.arguments == ["ids"])
    }

    @Test func idsComeInTwoForms() throws {
        let old = try readJSON(#"{"ids":["note/1","note/a/b"],"atomic":false,"idempotency_key":"k"}"#) {
            try RecordIDsRequest(parameters: $0)
        }
        #expect(old.ids == [recordID("note/1"), recordID("note/a/b")])
        #expect(old.idempotencyKey == "k")
        let new = try readJSON(#"{"records":[{"_recordType":"note","_recordID":"1"},{"_id":"note/2"}],"ids":null}"#) {
            try RecordIDsRequest(parameters: $0)
        }
        #expect(new.ids == [recordID("note/1"), recordID("note/2")])
    }

    @Test(
        arguments: [
            ("{}", .invalidArgument, "ids"), (#"{"ids":[]}"#, .invalidArgument, "ids"),
            (#"{"ids":"note/1"}"#, .badRequest, "ids"),
            (#"{"ids":["note"]}"#, .invalidArgument, "ids"), (#"{"ids":[1]}"#, .invalidArgument, "ids"),
            (#"{"ids":["_auth/1"]}"#, .invalidArgument, "ids"), (#"{"records":[{}]}"#, .invalidArgument, "records"),
            (#"{"ids":["note/a\u0000"]}"#, .invalidArgument, "ids"),
        ] as [(String, ErrorCode, String)]
    )
    func idsThatCannotBeReadRefuseTheRequest(text: String, code: ErrorCode, argument: String) throws {
        let error = try refusal(text) { try RecordIDsRequest(parameters: $0) }
        #expect(error?.code == code)
        #expect(error?.arguments == [argument])
    }

    @Test func clientRequestsAreReadAsTheyWereWritten() throws {
        let drafts = [RecordDraft("note/1", [("a", .integer(1))]), RecordDraft("note/2")]
        let save = try Actions.recordSave.parameters.checked(
            SaveRequest(database: .own, items: drafts.map { .draft($0) }, isAtomic: true, idempotencyKey: "k\"")
        )
        #expect(save.items.map(\.draft) == drafts)
        #expect(save.database == .own && save.isAtomic && save.idempotencyKey == "k\"")
        let ids = [recordID("note/1"), recordID("note/\"2")]
        for database: DatabaseName in [.everyone, .own, .union, .user("u1")] {
            let request = try Actions.recordFetch.parameters.checked(RecordIDsRequest(database: database, ids: ids))
            #expect(request.ids == ids && request.database == database)
        }
        let query = QueryRequest(
            database: .own,
            query: RecordQuery(type: typeName("note")),
            explanation: .analyze,
            timeLimit: .milliseconds(1500)
        )
        let explained = try Actions.recordQuery.parameters.checked(query)
        #expect(explained.explanation == .analyze && explained.timeLimit == query.timeLimit)
    }

    @Test(arguments: [
        ("k", true), (String(repeating: "k", count: 64), true), ("", false), (String(repeating: "k", count: 65), false),
        ("a\0", false),
    ])
    func aKeyIsOneToSixtyFourBytesForEveryWrite(key: String, isGood: Bool) {
        let predicate = RecordPredicate.comparison(.gt, .keyPath(keyPath("n")), .value(.integer(1)))
        let deletion = BulkRequest(
            database: .everyone,
            type: typeName("note"),
            match: .predicate(predicate),
            change: .delete,
            idempotencyKey: key
        )
        let update = BulkRequest(
            database: .everyone,
            type: typeName("note"),
            match: .predicate(predicate),
            change: .update(RecordChanges(RecordDraft("note/1", [("n", .integer(1))])), size: 0),
            idempotencyKey: key
        )
        let ids = RecordIDsRequest(database: .everyone, ids: [recordID("note/1")], idempotencyKey: key)
        let save = SaveRequest(database: .everyone, items: [.draft(RecordDraft("note/1"))], idempotencyKey: key)
        checkKey(Actions.recordSave.parameters, save, isGood)
        checkKey(Actions.recordUpdate.parameters, update, isGood)
        checkKey(Actions.recordDelete.parameters, .ids(ids), isGood)
        checkKey(Actions.recordDelete.parameters, .matches(deletion), isGood)
    }

    private func checkKey<Parameters>(_ form: Form<Parameters>, _ value: Parameters, _ isGood: Bool) {
        do throws(SkyrowError) {
            _ = try form.checked(value)
            #expect(isGood)
        } catch {
            #expect(!isGood && error.code == .invalidArgument && error.arguments == ["idempotency_key"])
            #expect(error.message == "An idempotency key must be 1 to 64 bytes without NUL.")
        }
    }

    @Test func anAtomicSaveNamesEveryRecordThatCannotBeRead() throws {
        let drafts: [SaveRequest.Item] = [.draft(RecordDraft("note/1")), .draft(RecordDraft("note/2"))]
        try drafts.requireReadable()
        let one = SkyrowError.invalidArgument("One.", "a")
        let two = SkyrowError.invalidArgument("Two.", "b")
        let error = #expect(throws: SkyrowError.self) {
            try ([.failure(one, id: nil)] + drafts + [.failure(two, id: "note/3")]).requireReadable()
        }
        #expect(error?.message == "Nothing was saved, because some of the records could not be read.")
        #expect(error?.arguments == ["records"])
        #expect(error?.info["errors"] == .list([.error(one), .error(two)]))
    }

    @Test func aResultThatIsKeptHasASentenceOfItsOwn() {
        let kept = Actions.recordSave.writer(of: .encoded([], isReplay: false))
        #expect(kept.refusalMessage?.hasSuffix("send it again by itself, with the same key.") == true)
        #expect(Actions.recordSave.writer(of: .fresh([])).refusalMessage == nil)
        #expect(Actions.recordFetch.writer(of: []).refusalMessage == nil)
    }
}
