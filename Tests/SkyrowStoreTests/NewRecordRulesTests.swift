import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// What new records begin with: the list of the application, and no owner where the type says so.
@Suite(.timeLimit(.minutes(60))) struct NewRecordRulesTests {
    private static let ofApplication = AccessList([AccessEntry(.role("staff"), .read)])
    private static let ofType = AccessList([AccessEntry(.everyone, .read)])
    private static let ofUser = AccessList([AccessEntry(.user("bob"), .read)])

    private func store(_ f: RecordsFixture, maximumAccessEntries: Int = 100) async throws -> RecordStore {
        let store = RecordStore(
            client: f.client,
            schema: "app",
            mode: .production,
            sharedAccessLists: [type("category")],
            defaultAccess: Self.ofApplication,
            maximumAccessEntries: maximumAccessEntries,
            logger: .silent
        )
        try await store.prepare()
        return store
    }

    private func save(
        _ draft: RecordDraft,
        _ caller: Caller = .ann,
        in database: DatabaseScope = .everyone,
        with store: RecordStore
    ) async throws -> Record {
        try await store.save([.draft(draft)], in: database, caller: caller, atomic: false)[0].record
    }

    @Test func aNewRecordHasTheListOfTheApplicationWhereNothingNearerSaysAnother() async throws {
        try await withRecords { f in
            let store = try await store(f)
            #expect(try await save(draft("note/1"), with: store).access == Self.ofApplication)
            // A type of which a setting says something else too.
            #expect(try await save(draft("category/1"), with: store).access == Self.ofApplication)
            #expect(try await save(draft("note/2", access: AccessList([])), with: store).access == AccessList([]))
            #expect(try await save(draft("note/3"), in: .user("ann"), with: store).access == nil)
            // Not what is saved again.
            _ = try await f.client.write("INSERT INTO app.note (_id, _owner) VALUES ('4', 'ann')")
            #expect(try await save(draft("note/4"), with: store).access == nil)
            var change = ClassAccessChange(type: type("note"))
            change.defaultAccess = .some(Self.ofType)
            _ = try await store.classAccess.change(change)
            #expect(try await save(draft("note/5"), with: store).access == Self.ofType)
            change.defaultAccess = .some(nil)
            _ = try await store.classAccess.change(change)
            #expect(try await save(draft("note/6"), with: store).access == Self.ofApplication)
        }
    }

    @Test func aRecordWithoutAnOwnerIsOpenToItsCreatorByRulesAlone() async throws {
        try await withRecords { f in
            let store = try await store(f)
            var change = ClassAccessChange(type: type("note"))
            change.newOwner = .noOne
            change.defaultAccess = .some(Self.ofType)
            change.fields = [field("title"): [.create: [.owner]]]
            _ = try await store.classAccess.change(change)
            let made = try await save(draft("note/1"), with: store)
            #expect(made.owner == nil && made.createdBy == "ann" && made.access == Self.ofType)
            // The creator does not pass as the owner of a new record.
            let titled = try await store.save(
                [.draft(draft("note/2", ["title": .string("a")]))],
                in: .everyone,
                caller: .ann,
                atomic: false
            )[0]
            #expect(titled.error?.code == .deniedArgument)
            let again = try await store.save([.draft(draft("note/1"))], in: .everyone, caller: .ann, atomic: false)[0]
            #expect(again.error?.code == .permissionDenied)
            // Lists admit as ever, and what was there keeps its owner.
            let opened = AccessList([AccessEntry(.user("ann"), .write)])
            let shared = try await save(draft("note/3", access: opened), with: store)
            #expect(shared.owner == nil)
            #expect(try await save(draft("note/3"), with: store).revision ?? 0 > shared.revision ?? 0)
            _ = try await f.client.write("INSERT INTO app.note (_id, _owner) VALUES ('4', 'ann')")
            #expect(try await save(draft("note/4"), with: store).owner == "ann")
            // In a private database its user owns all records; the master key may own for a user no more than the user.
            let own = try await save(draft("note/5", ["title": .string("a")]), in: .user("ann"), with: store)
            #expect(own.owner == "ann")
            let acting = try await save(draft("note/6"), Caller(kind: .master(actingAs: "ann")), with: store)
            #expect(acting.owner == nil && acting.createdBy == "ann")
        }
    }

    @Test(arguments: [(2, 2, true), (2, 3, false), (150, 150, true), (150, 151, false)])
    func rulesAreAsLongAsTheSettingSays(_ maximum: Int, _ count: Int, _ fits: Bool) async throws {
        try await withRecords { f in
            let store = try await store(f, maximumAccessEntries: maximum)
            let subjects = (0..<count).map { Subject.user(UserID("u\($0)")) }
            var ofType = ClassAccessChange(type: type("note"))
            ofType.rules = [.read: ClassRule(subjects)]
            var ofField = ClassAccessChange(type: type("note"))
            ofField.fields = [field("title"): [.read: FieldSubjects(subjects)]]
            var ofEvery = ClassAccessChange(type: type("note"))
            ofEvery.everyField = [.update: FieldSubjects(subjects)]
            for (change, path) in [
                (ofType, "rules.read.allow"), (ofField, "fields.title.read"), (ofEvery, "fields.*.update"),
            ] {
                if fits {
                    _ = try await store.classAccess.change(change)
                } else {
                    let error = await #expect(throws: SkyrowError.self) {
                        try await store.classAccess.change(change)
                    }
                    #expect(error?.code == .invalidArgument && error?.path == path)
                }
            }
            guard fits else { return }
            // The last of them reads what the rule opens, and one who is none of them does not.
            _ = try await f.client.write("INSERT INTO app.note (_id, _owner, title) VALUES ('1', 'ann', 'a')")
            for (user, isSeen) in [("u\(count - 1)", true), ("u\(count)", false)] {
                let caller = Caller(kind: .user(UserID(user)))
                let outcome = try await store.fetch([id("note/1")], in: .everyone, caller: caller)[0]
                #expect((try? outcome.record)?.fields[field("title")] == (isSeen ? .string("a") : nil))
            }
        }
    }
}
