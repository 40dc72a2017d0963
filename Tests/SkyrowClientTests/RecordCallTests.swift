import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient

/// Calls of records against the request that each sends and the answer that it reads.
@Suite struct RecordCallTests {
    @Test func savesAnswerWhatBecameOfEach() async throws {
        let scripted = ScriptedClient([
            .result(
                #"""
                [{"_id":"note/1","_type":"record","_access":null,"title":"Milk","_revision":7},
                 {"_id":"note/2","_type":"error","name":"PermissionDenied","code":102,"message":"No."}]
                """#
            )
        ])
        let drafts = [
            try RecordDraft("note/1", ["title": "Milk"]), try RecordDraft("note/2", [:], precondition: .isNew),
        ]
        let results = try await scripted.client.privateDatabase.save(drafts, atomically: true)
        #expect(try results[0].get()["title"] == "Milk")
        #expect(try results[0].get().revision == 7)
        #expect(throws: SkyrowError(.permissionDenied, "No.")) { try results[1].get() }
        let sent = scripted.parameters()
        #expect(
            sent.hasPrefix(
                #"record:save {"database_id":"_private","records":[{"_id":"note/1","title":"Milk"},{"_id":"note/2","_if_revision":"new"}],"atomic":true,"idempotency_key":""#
            )
        )
    }

    @Test func oneRecordIsSavedFetchedAndDeletedByItself() async throws {
        let entry = #"[{"_id":"note/1","_type":"record","_access":null}]"#
        let missing = #"[{"_id":"note/1","_type":"error","name":"ResourceNotFound","code":110,"message":"No."}]"#
        let scripted = ScriptedClient([
            .result(entry), .result(entry), .result(entry), .result(missing), .result(missing),
        ])
        let database = scripted.client.publicDatabase
        let id = try RecordID("note/1")
        #expect(try await database.save(RecordDraft("note/1", [:])).id == id)
        #expect(try await database.fetch(id).id == id)
        try await database.delete(id)
        let error = await #expect(throws: ClientError.self) { try await database.fetch(id) }
        #expect(error?.serverCode == .resourceNotFound)
        await #expect(throws: ClientError.self) { try await database.delete(id) }
        #expect(scripted.parameters(1) == #"record:fetch {"database_id":"_public","ids":["note/1"]}"#)
        #expect(
            scripted.parameters(2).hasPrefix(
                #"record:delete {"database_id":"_public","ids":["note/1"],"idempotency_key":""#
            )
        )
    }

    @Test func anAnswerWithAnotherNumberOfEntriesIsNone() async throws {
        let scripted = ScriptedClient([.result("[]")])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.fetch([RecordID("note/1")])
        }
        #expect(error?.code == .invalidResponse)
    }

    @Test func nothingIsSentForNothing() async throws {
        let scripted = ScriptedClient([])
        let database = scripted.client.publicDatabase
        #expect(try await database.save([]).isEmpty)
        #expect(try await database.fetch([]).isEmpty)
        #expect(try await database.delete([]).isEmpty)
        #expect(scripted.transport.requests.isEmpty)
    }

    @Test func anAtomicFailureHasTheErrorsByRecord() async throws {
        let info = #"{"note/2":{"name":"PermissionDenied","code":102,"message":"No."}}"#
        let scripted = ScriptedClient([.error(115, "AtomicOperationFailure", info: info)])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.save([RecordDraft("note/2", [:])], atomically: true)
        }
        #expect(error?.serverError?.info == ["note/2": .error(SkyrowError(.permissionDenied, "No."))])
    }

    @Test func aConflictBringsTheStoredRecord() async throws {
        let entry = #"""
            [{"_id":"note/1","_type":"error","name":"Conflict","code":130,"message":"No.","info":{"record":{"_id":"note/1","_type":"record","_access":null,"n":2}}}]
            """#
        let scripted = ScriptedClient([.result(entry)])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.publicDatabase.save(RecordDraft("note/1", ["n": 1], precondition: .revision(1)))
        }
        guard case .record(let record) = error?.serverError?.info["record"] else {
            Issue.record("no record: \(String(describing: error))")
            return
        }
        #expect(record["n"]?.integerValue == 2)
    }

    @Test func queriesAnswerRecordsAndCount() async throws {
        let scripted = ScriptedClient([
            .result(#"{"records":[{"_id":"note/1","_type":"record","_access":null}],"info":{"count":12}}"#),
            .result(#"{"records":[]}"#),
        ])
        let query = try RecordQuery("note").filter(Field("stars") > 2).sorted(by: "_created_at", .descending)
            .including("category").selecting(["title"]).limited(to: 20, offset: 40).counted()
        let page = try await scripted.client.publicDatabase.query(query)
        #expect(page.records.map(\.id.description) == ["note/1"])
        #expect(page.count == 12)
        #expect(try await scripted.client.publicDatabase.query(RecordQuery("note")).count == nil)
        #expect(
            scripted.parameters() == #"""
                record:query {"database_id":"_public","record_type":"note","predicate":["gt",{"$type":"keypath","$val":"stars"},2],\#
                "sort":[[{"$type":"keypath","$val":"_created_at"},"desc"]],"include":{"category":{"$type":"keypath","$val":"category"}},\#
                "desired_keys":["title"],"limit":20,"offset":40,"count":true}
                """#
        )
    }

    @Test func recordsGetOtherOwnersAndLists() async throws {
        let scripted = ScriptedClient([
            .result(#"{"default_access":[{"users":true,"level":"read"}]}"#),
            .result(
                #"""
                [{"_id":"note/1","_type":"record","_access":null,"_ownerID":"u2"},
                 {"_id":"note/2","_type":"error","name":"ResourceNotFound","code":110,"message":"No."}]
                """#
            ),
        ])
        try await scripted.client.setDefaultAccess(AccessList([AccessEntry(.users, .read)]))
        let results = try await scripted.client.transfer([RecordID("note/1"), RecordID("note/2")], to: "u2")
        #expect(try results[0].get().owner == "u2")
        #expect(throws: SkyrowError(.resourceNotFound, "No.")) { try results[1].get() }
        #expect(try await scripted.client.transfer([], to: "u2").isEmpty)
        #expect(
            (0..<2).map { scripted.parameters($0) } == [
                #"auth:default_access:set {"default_access":[{"users":true,"level":"read"}]}"#,
                #"record:transfer {"ids":["note/1","note/2"],"to":"u2"}"#,
            ]
        )
    }
}
