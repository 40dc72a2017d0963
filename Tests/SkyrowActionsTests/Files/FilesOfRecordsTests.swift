import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Who may put a file into a record, and what comes out of records.
@Suite struct FilesOfRecordsTests {
    private static let unknown = AssetName(id: "00000000-0000-4000-8000-000000000000", filename: "cat.png")

    /// A record with a file, by default one that its owner alone reads.
    private static func photo(
        _ recordID: String,
        _ name: AssetName,
        access: AccessList? = AccessList([])
    ) -> RecordDraft {
        RecordDraft(id: id(recordID), access: access, fields: [(field("photo"), .asset(Asset(name)))])
    }

    // MARK: Saves

    @Test func aFileIsPutIntoARecordByThoseWhoMayReadIt() async throws {
        try await withFiles(uploads: .key) { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let (annID, service) = (try #require(ann.caller.userID), files.service)
            let ofAnn = try await files.upload(by: ann.sender)
            let shown = try await files.upload(by: ann.sender)
            let own = try await files.upload(by: ann.sender)
            let open = try await files.upload(by: FilesFixture.key)
            let expected = try await files.announce(by: ann.caller).file.asset.name
            var record = Self.photo("note/shown", shown)
            record.access = AccessList([AccessEntry(.everyone, .read)])
            #expect(try await service.save(SaveRequest(record), by: ann.caller).summaries == ["saved"])
            let inOwn = SaveRequest(Self.photo("note/own", own, access: nil), database: .own)
            #expect(try await service.save(inOwn, by: ann.caller).summaries == ["saved"])
            let master = ServiceFixture.masterCaller
            let rows: [(AssetName, Caller, Bool)] = [
                (ofAnn, ann.caller, true), (ofAnn, bob.caller, false), (ofAnn, master, true),
                (ofAnn, Caller(kind: .master(actingAs: annID)), true),
                (shown, bob.caller, true), (own, bob.caller, false), (own, ann.caller, true),
                (open, ann.caller, true), (open, bob.caller, true),
                (expected, ann.caller, false), (expected, master, false),
                (Self.unknown, ann.caller, false), (Self.unknown, master, false),
            ]
            var refusals: Set<SkyrowError> = []
            for (number, (name, caller, isAllowed)) in rows.enumerated() {
                for database in [DatabaseName.everyone, .own] where database == .everyone || caller.userID != nil {
                    let access = database == .own ? nil : AccessList([])
                    let draft = Self.photo("note/\(number)", name, access: access)
                    let request = SaveRequest(draft, database: database)
                    let outcome = try await service.save(request, by: caller).outcomes.first
                    #expect(outcome?.summary == (isAllowed ? "saved" : "InvalidArgument"), "row \(number)")
                    if case .failure(let error, _) = outcome { refusals.insert(error) }
                }
            }
            // All refusals are the same, so none shows that the file exists.
            #expect(
                refusals == [
                    SkyrowError(
                        .invalidArgument,
                        "The file does not exist.",
                        info: ["arguments": .list([.string("photo")])]
                    )
                ]
            )
        }
    }

    @Test func theOthersOfABatchAreSaved() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let mine = try await files.upload(by: bob.sender)
            let foreign = try await files.upload(by: ann.sender)
            let drafts = [
                Self.photo("note/1", mine), Self.photo("note/2", foreign), draft("note/3"),
            ]
            var request = SaveRequest(database: .everyone, items: drafts.map { .draft($0) }, isAtomic: true)
            let error = try await expectError(.atomicOperationFailure) {
                try await files.service.save(request, by: bob.caller)
            }
            #expect(error?.info.keys.sorted() == ["note/2"])
            // The refused draft creates no field either.
            #expect(try await files.base.psql("SELECT to_regclass('app.note') IS NULL") == "t")
            request.isAtomic = false
            let saved = try await files.service.save(request, by: bob.caller)
            #expect(saved.summaries == ["saved", "InvalidArgument", "saved"])
            #expect(try await files.base.psql("SELECT photo FROM note WHERE _id = '1'") == "\(mine)")
        }
    }

    @Test func operatorsAndUpdatesOfManyRecordsAreJudged() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let mine = try await files.upload(by: bob.sender)
            let foreign = try await files.upload(by: ann.sender)
            #expect(
                try await files.service.save(SaveRequest(Self.photo("note/1", mine)), by: bob.caller).summaries == [
                    "saved"
                ]
            )
            for (name, expected) in [(mine, "saved"), (foreign, "InvalidArgument")] {
                var draft = RecordDraft(id: id("note/new-\(expected)"))
                draft.operators = [(field("photo"), FieldOperator(.setOnInsert(.asset(Asset(name)))))]
                #expect(try await files.service.save(SaveRequest(draft), by: bob.caller).summaries == [expected])
            }
            for key in [nil, "k"] {
                for isDryRun in [false, true] {
                    for (name, expected) in [(mine, "OK"), (foreign, "InvalidArgument")] {
                        let request = BulkRequest(
                            database: .everyone,
                            type: type("note"),
                            match: .ids([id("note/1")]),
                            change: .update(RecordChanges(Self.photo("note/set", name)), size: 100),
                            isDryRun: isDryRun,
                            idempotencyKey: key.map { "\($0) \(expected) \(isDryRun)" }
                        )
                        let found = await files.summary { () async throws(SkyrowError) in
                            try await files.service.perform(Actions.recordUpdate, request, Call(by: bob.caller))
                        }
                        #expect(found == expected)
                    }
                }
            }
            #expect(try await files.base.psql("SELECT DISTINCT photo FROM note") == "\(mine)")
        }
    }

    @Test func aNewAccountNamesNoForeignFile() async throws {
        try await withFiles(uploads: .key) { files in
            let ann = try await files.user("ann")
            let foreign = try await files.upload(by: ann.sender)
            let open = try await files.upload(by: FilesFixture.key)
            for (name, expected) in [(foreign, "InvalidArgument"), (Self.unknown, "InvalidArgument"), (open, "OK")] {
                let request = SignUpRequest(
                    authData: ["username": "bob"],
                    password: "secret",
                    profile: [(field("photo"), .asset(Asset(name)))]
                )
                let found = await files.summary { () async throws(SkyrowError) in
                    try await files.service.signUp(request)
                }
                #expect(found == expected)
            }
        }
    }

    @Test func aRetryGetsItsResultAfterTheFileIsGone() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let request = SaveRequest(Self.photo("note/1", name), key: "k")
            #expect(try await files.service.save(request, by: ann.caller).summaries == ["saved"])
            let deletion = FileDeletion(names: [name], forces: true)
            #expect(try await files.service.run(Actions.fileDelete, deletion, by: ServiceFixture.masterCaller) == 1)
            guard case .encoded(_, isReplay: true) = try await files.service.save(request, by: ann.caller) else {
                Issue.record("The request was not recognised.")
                return
            }
            let other = SaveRequest(Self.photo("note/1", name), key: "other")
            #expect(try await files.service.save(other, by: ann.caller).summaries == ["InvalidArgument"])
        }
    }

    // MARK: Addresses

    /// The result of a save as a response has it.
    private func text(of result: WriteResult<[RecordOutcome]>, _ links: (any AssetLinks)?) -> String {
        let writer = JSONWriter()
        writer.links = links
        Actions.recordSave.result.write(result, writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func aRetryGetsNewAddresses() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let request = SaveRequest(Self.photo("note/1", name), key: "k")
            let (service, signer) = (files.service, try await files.service.fileSigner())
            func file() -> String {
                #"{"$type":"asset","$name":"\#(name)","$url":"\#(signer.address(of: name))"}"#
            }
            let first = try await service.save(request, by: ann.caller)
            guard case .encoded(let bytes, isReplay: false) = first else {
                Issue.record("\(first)")
                return
            }
            #expect(!String(decoding: bytes, as: UTF8.self).contains("$url"))
            #expect(text(of: first, service.links).contains(file()))
            #expect(text(of: first, nil).contains(#"{"$type":"asset","$name":"\#(name)"}"#))
            let before = file()
            files.base.clock.advance(by: .seconds(3600))
            let again = text(of: try await service.save(request, by: ann.caller), service.links)
            #expect(file() != before && again.contains(file()) && !again.contains(before))
            // A save without a key has them from the start.
            let unkeyed = try await service.save(SaveRequest(Self.photo("note/2", name)), by: ann.caller)
            #expect(text(of: unkeyed, service.links).contains(file()))
        }
    }

    /// Otherwise everybody could open a file by writing its name.
    @Test func aFileInsideOfJSONGetsNoAddress() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let foreign = try await files.upload(by: ann.sender)
            let value =
                #"{"a":[{"$type":"asset","$name":"\#(foreign)"}],"b":"{\"$type\":\"asset\",\"$name\":\"\#(foreign)\"}"}"#
            for key in [nil, "k"] {
                let json = RecordValue.json(JSONText(validated: Array(value.utf8)))
                let draft = RecordDraft(id: id("note/\(key ?? "none")"), fields: [(field("data"), json)])
                let saved = try await files.service.save(SaveRequest(draft, key: key), by: bob.caller)
                #expect(saved.summaries == ["saved"])
                let written = text(of: saved, files.service.links)
                #expect(written.contains("\(foreign)") && !written.contains("$url"))
            }
        }
    }

    // MARK: file:sign

    private func signed(
        _ files: FilesFixture,
        _ names: [AssetName],
        in record: String,
        _ database: DatabaseName = .everyone,
        by caller: Caller
    ) async throws(SkyrowError) -> Set<AssetName> {
        let signing = FileSigning(record: id(record), names: names, database: database)
        let addresses = try await files.service.run(Actions.fileSign, signing, by: caller)
        for (name, address) in addresses {
            #expect(address.contains("/files/\(name)?expiredAt="))
        }
        return Set(addresses.keys)
    }

    @Test func filesOfARecordAreSignedForItsReaders() async throws {
        try await withFiles(uploads: .key) { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let ofAnn = try await files.upload(by: ann.sender)
            let inField = try await files.upload(by: ann.sender)
            let ofBob = try await files.upload(by: bob.sender)
            let open = try await files.upload(by: FilesFixture.key)
            let elsewhere = try await files.upload(by: ann.sender)
            let names = [ofAnn, inField, ofBob, open, elsewhere, Self.unknown]
            func json(_ names: [AssetName]) -> RecordValue {
                let list = names.map { #"{"deep":{"$type":"asset","$name":"\#($0)"}}"# }.joined(separator: ",")
                return .json(JSONText(validated: Array("[\(list)]".utf8)))
            }
            var note = Self.photo("note/1", inField)
            note.fields.append((field("data"), json([ofAnn, ofBob, open, Self.unknown])))
            note.access = AccessList([AccessEntry(.everyone, .read)])
            // The name of a foreign file in JSON is no reason to open it, for whoever asks.
            var trap = RecordDraft(id: id("note/trap"), fields: [(field("data"), json(names))])
            trap.access = AccessList([AccessEntry(.everyone, .read)])
            #expect(try await files.service.save(SaveRequest(note), by: ann.caller).summaries == ["saved"])
            #expect(try await files.service.save(SaveRequest(trap), by: bob.caller).summaries == ["saved"])
            let own = SaveRequest(
                RecordDraft(id: id("note/own"), fields: [(field("data"), json([ofAnn]))]),
                database: .own
            )
            #expect(try await files.service.save(own, by: ann.caller).summaries == ["saved"])
            for caller in [ann.caller, bob.caller, .anonymous, ServiceFixture.masterCaller] {
                #expect(try await signed(files, names, in: "note/1", by: caller) == [ofAnn, inField, open])
                #expect(try await signed(files, names, in: "note/trap", by: caller) == [ofBob, open])
                #expect(try await signed(files, [], in: "note/1", by: caller).isEmpty)
            }
            #expect(try await signed(files, names, in: "note/own", .own, by: ann.caller) == [ofAnn])
            try await expectError(.resourceNotFound) {
                try await signed(files, names, in: "note/own", .own, by: bob.caller)
            }
            try await expectError(.resourceNotFound) { try await signed(files, names, in: "note/none", by: ann.caller) }
            // An editor takes part in the record from then on.
            var edit = RecordDraft(id: id("note/trap"), fields: [(field("title"), .string("x"))])
            edit.access = nil
            let master = Caller(kind: .master(actingAs: ann.caller.userID))
            #expect(try await files.service.save(SaveRequest(edit), by: master).summaries == ["saved"])
            let all: Set = [ofAnn, inField, ofBob, open, elsewhere]
            #expect(try await signed(files, names, in: "note/trap", by: bob.caller) == all)
        }
    }

    @Test func recordsThatAreClosedSignNothing() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let name = try await files.upload(by: ann.sender)
            var note = Self.photo("note/1", name)
            note.access = AccessList([])
            #expect(try await files.service.save(SaveRequest(note), by: ann.caller).summaries == ["saved"])
            #expect(try await signed(files, [name], in: "note/1", by: ann.caller) == [name])
            try await expectError(.resourceNotFound) { try await signed(files, [name], in: "note/1", by: bob.caller) }
            try await expectError(.notAuthenticated) {
                try await signed(files, [name], in: "note/1", .own, by: .anonymous)
            }
        }
    }

    // MARK: file:delete and file:collect

    @Test func filesAreDeletedByTheirUploadersAndTheMasterKey() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            let used = try await files.upload(by: ann.sender)
            let free = try await files.upload(by: ann.sender)
            let other = try await files.upload(by: ann.sender)
            #expect(
                try await files.service.save(SaveRequest(Self.photo("note/1", used)), by: ann.caller).summaries == [
                    "saved"
                ]
            )
            let master = ServiceFixture.masterCaller
            let rows: [([AssetName], Bool, Caller, String)] = [
                ([free], false, .anonymous, "NotAuthenticated"),
                ([free], false, bob.caller, "ResourceNotFound"),
                ([Self.unknown], false, ann.caller, "ResourceNotFound"),
                ([used], false, ann.caller, "ConstraintViolated"),
                ([used], true, ann.caller, "PermissionDenied"),
                ([used], false, master, "ConstraintViolated"),
                // All of them or none.
                ([free, used], false, ann.caller, "ConstraintViolated"),
                ([free, Self.unknown], false, master, "ResourceNotFound"),
                ([], false, ann.caller, "OK"),
                ([free, free], false, ann.caller, "OK"),
                ([free], false, ann.caller, "ResourceNotFound"),
                ([other], false, master, "OK"),
                ([used], true, master, "OK"),
            ]
            for (number, (names, forces, caller, expected)) in rows.enumerated() {
                let deletion = FileDeletion(names: names, forces: forces)
                let before = files.storage.names
                let found = await files.summary { () async throws(SkyrowError) in
                    try await files.service.run(Actions.fileDelete, deletion, by: caller)
                }
                #expect(found == expected, "row \(number)")
                #expect(files.storage.names == (found == "OK" ? before.subtracting(names) : before), "row \(number)")
            }
            #expect(try await files.base.psql("SELECT photo IS NULL FROM note") == "t")
            await files.service.storeAudit()
            let events = try await files.base.psql(
                "SELECT event, count(*) FROM _audit WHERE event LIKE 'file.%' GROUP BY event"
            )
            #expect(events == "file.delete|3")
        }
    }

    @Test func unreferencedFilesAreCollectedAfterTheGrace() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let used = try await files.upload(by: ann.sender)
            let nested = try await files.upload(by: ann.sender)
            let unused = try await files.upload(by: ann.sender)
            var note = Self.photo("note/1", used)
            let json = #"{"a":{"$type":"asset","$name":"\#(nested)"}}"#
            note.fields.append((field("data"), .json(JSONText(validated: Array(json.utf8)))))
            #expect(try await files.service.save(SaveRequest(note), by: ann.caller).summaries == ["saved"])
            let (service, master) = (files.service, ServiceFixture.masterCaller)
            func collect(dry: Bool = false) async throws -> FileCollection {
                try await service.run(Actions.fileCollect, dry, by: master)
            }
            #expect(try await collect(dry: true) == FileCollection(unreferenced: 1, deleted: 0))
            #expect(try await collect() == FileCollection(unreferenced: 1, deleted: 0))
            #expect(try await collect() == FileCollection(unreferenced: 0, deleted: 0))
            try await files.base.psql("UPDATE _asset SET unreferenced_since = unreferenced_since - interval '1 day'")
            #expect(try await collect(dry: true) == FileCollection(unreferenced: 0, deleted: 1))
            #expect(files.storage.names == [used, nested, unused])
            #expect(try await collect() == FileCollection(unreferenced: 0, deleted: 1))
            #expect(files.storage.names == [used, nested])
            #expect(files.base.observations.count { $0 == .filesCollected(1) } == 1)
            await service.storeAudit()
            #expect(try await files.base.psql("SELECT count(*) FROM _audit WHERE event = 'file.collect'") == "3")
        }
    }

    /// Several files of one field are an array inside of JSON.
    @Test func anArrayOfFilesIsSignedAndKept() async throws {
        try await withFiles { files in
            let (ann, bob) = (try await files.user("ann"), try await files.user("bob"))
            var pages: [AssetName] = []
            for _ in 0..<3 { pages.append(try await files.upload(by: ann.sender)) }
            let unused = try await files.upload(by: ann.sender)
            func save(_ pages: ArraySlice<AssetName>) async throws {
                let list = pages.map { #"{"$type":"asset","$name":"\#($0)"}"# }.joined(separator: ",")
                let value = RecordValue.json(JSONText(validated: Array("[\(list)]".utf8)))
                let note = RecordDraft(id: id("note/1"), fields: [(field("pages"), value)])
                #expect(try await files.service.save(SaveRequest(note), by: ann.caller).summaries == ["saved"])
            }
            func collect() async throws -> FileCollection {
                let found = try await files.service.run(Actions.fileCollect, false, by: ServiceFixture.masterCaller)
                try await files.base.psql(
                    "UPDATE _asset SET unreferenced_since = unreferenced_since - interval '2 days'"
                )
                return found
            }
            try await save(pages[...])
            // Readers of the record get addresses of all of its files, in any order.
            let found = try await signed(files, pages.reversed() + [unused], in: "note/1", by: bob.caller)
            #expect(found == Set(pages))
            #expect(try await collect() == FileCollection(unreferenced: 1, deleted: 0))
            #expect(try await collect() == FileCollection(unreferenced: 0, deleted: 1))
            #expect(files.storage.names == Set(pages))
            // A file that leaves the array is one that nothing refers to.
            try await save(pages.dropLast())
            #expect(try await collect() == FileCollection(unreferenced: 1, deleted: 0))
            #expect(try await collect() == FileCollection(unreferenced: 0, deleted: 1))
            #expect(files.storage.names == Set(pages.dropLast()))
        }
    }

    @Test func oneProcessCollectsANight() async throws {
        try await withFiles { files in
            func age(_ hours: Int) async throws {
                try await files.base.psql("UPDATE _meta SET files_looked_at = now() - interval '\(hours) hours'")
            }
            let collections = { files.base.observations.count { $0 == .filesCollected(0) } }
            let assets = files.service.store.assets
            // A new application has nothing to collect.
            #expect(try await !assets.claimLook(notWithin: .seconds(20 * 3600)))
            try await age(21)
            #expect(try await !assets.claimLook(notWithin: .seconds(48 * 3600)))
            #expect(try await assets.claimLook(notWithin: .seconds(20 * 3600)))
            #expect(try await !assets.claimLook(notWithin: .seconds(20 * 3600)))
            await files.service.collectFilesIfDue()
            #expect(collections() == 0)
            try await age(49)
            await files.service.collectFilesIfDue()
            await files.service.collectFilesIfDue()
            #expect(collections() == 1)
            // A collection that a backup has ended is due again.
            try await assets.yieldLook()
            await files.service.collectFilesIfDue()
            #expect(collections() == 2)
        }
    }

    /// A backup locks `_garbage`.
    @Test func besideABackupADeletionIsRefusedAndACollectionIsLate() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(by: ann.sender)
            let (service, master) = (files.service, ServiceFixture.masterCaller)
            try await files.base.psql(
                """
                UPDATE _asset SET unreferenced_since = now() - interval '2 days';
                UPDATE _meta SET files_looked_at = now() - interval '3 days'
                """
            )
            try await service.store.client.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE app_internal._garbage IN SHARE MODE")
                let error = try await expectError(.overloaded) {
                    try await service.run(Actions.fileDelete, FileDeletion(names: [name]), by: ann.caller)
                }
                #expect(error?.message == SkyrowError.filesAreHeld.message && error?.isStorageFull == false)
                try await expectError(.overloaded) { try await service.run(Actions.fileCollect, false, by: master) }
                let found = try await service.run(Actions.fileCollect, true, by: master)
                #expect(found == FileCollection(unreferenced: 0, deleted: 1))
                await service.collectFilesIfDue()
                await service.sweepFiles()
                #expect(files.storage.names == [name])
                #expect(try await files.download(name, by: ann.sender).bytes == FilesFixture.png)
            }
            // It is no failure that an operator has to look at.
            let isFailure: (Observation) -> Bool = { if case .fileUpkeepFailed = $0 { true } else { false } }
            #expect(files.base.observations.count(isFailure) == 0)
            await service.collectFilesIfDue()
            #expect(files.storage.names.isEmpty)
        }
    }
}
