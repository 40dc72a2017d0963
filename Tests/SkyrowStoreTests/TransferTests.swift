import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Records that get another owner.
@Suite(.timeLimit(.minutes(60))) struct TransferTests {
    private static func transfer(
        _ f: RecordsFixture,
        _ ids: [String],
        to owner: UserID,
        by caller: Caller
    ) async throws -> [RecordOutcome] {
        let request = RecordTransfer(ids: try ids.map { try RecordID($0) }, owner: owner)
        return try await f.store.transfer(request, with: RecordAccess(caller, in: .everyone, for: .writing))
    }

    private static func change(_ f: RecordsFixture, _ change: (inout ClassAccessChange) -> Void) async throws {
        var asked = ClassAccessChange(type: type("note"))
        change(&asked)
        _ = try await f.store.classAccess.change(asked)
    }

    private static func owners(_ f: RecordsFixture) async throws -> String {
        try await f.psql("SELECT string_agg(_id || '=' || coalesce(_owner, ''), ' ' ORDER BY _id) FROM note")
    }

    private static func fill(_ f: RecordsFixture) async throws {
        try await f.save("note/hidden", ["title": "x"], access: AccessList([]))
        try await f.save("note/mine", ["title": "x"], .bob)
        let shared = AccessList([AccessEntry(.user("bob"), .write)])
        try await f.save("note/shared", ["title": "x"], access: shared)
        try await f.save("note/private", ["title": "x"], in: .user("ann"))
    }

    private static let ids = [
        "note/mine", "note/shared", "note/hidden", "note/gone", "note/private", "film/1", "user/bob",
    ]

    /// Which of them have another owner afterwards, and with what the others are refused.
    @Test func recordsAreGivenAwayByTheMasterKeyAndAsTheirTypeSaysByTheirOwner() async throws {
        for byOwner in [false, true] {
            try await withRecords { f in
                try await Self.fill(f)
                if byOwner { try await Self.change(f) { $0.transferrers = .owner } }
                let asked = try await Self.transfer(f, Self.ids, to: "ann", by: .bob)
                #expect(
                    asked.map { $0.error?.code } == [
                        byOwner ? nil : .permissionDenied, .permissionDenied, .resourceNotFound, .resourceNotFound,
                        .resourceNotFound, .resourceNotFound, .permissionDenied,
                    ]
                )
                let owners = try await Self.owners(f)
                #expect(owners == "hidden=ann mine=\(byOwner ? "ann" : "bob") shared=ann ~ann/private=ann")
            }
        }
    }

    @Test func theMasterKeyGivesAnyPublicRecordAndNoProfile() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            let before = try await f.fetch("note/hidden")
            let ids = Self.ids + ["note/hidden"]
            let given = try await Self.transfer(f, ids, to: "bob", by: .master)
            #expect(
                given.map { $0.error?.code } == [
                    nil, nil, nil, .resourceNotFound, .resourceNotFound, .resourceNotFound, .permissionDenied, nil,
                ]
            )
            let hidden = try given[2].record
            #expect(hidden.owner == "bob" && hidden.access == AccessList([]) && hidden.updatedBy == nil)
            #expect(hidden.revision != before?.revision && hidden.createdBy == "ann")
            let owners = try await Self.owners(f)
            #expect(owners == "hidden=bob mine=bob shared=bob ~ann/private=ann")
            // The one who had it has it no more.
            let seen = try await f.fetch("note/hidden")
            #expect(seen == nil)
        }
    }

    @Test func anOwnerWhoMayNotUpdateGivesNothingAway() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            try await Self.change(f) {
                $0.transferrers = .owner
                $0.rules[.update] = ClassRule([.role("editor")], .override)
            }
            let mine = try await Self.transfer(f, ["note/mine"], to: "ann", by: .bob)[0]
            #expect(mine.error?.code == .permissionDenied)
            // A rule that lets all users update makes none of them the owner.
            try await Self.change(f) { $0.rules[.update] = ClassRule([.users], .override) }
            let shared = try await Self.transfer(f, ["note/shared", "note/mine"], to: "bob", by: .bob)
            #expect(shared.map { $0.error?.code } == [.permissionDenied, nil])
            try await Self.change(f) { $0.rules[.read] = ClassRule([], .override) }
            let hidden = try await Self.transfer(f, ["note/mine"], to: "ann", by: .bob)[0]
            #expect(hidden.error?.code == .resourceNotFound)
        }
    }

    /// A user whose profile is hidden is as one whom there is not.
    @Test func theNewOwnerIsAUserWhomTheCallerMaySee() async throws {
        try await withRecords { f in
            try await Self.fill(f)
            try await Self.change(f) { $0.transferrers = .owner }
            try await f.psql("INSERT INTO \"user\" (_id, _owner) VALUES ('ghost', 'ghost')")
            var profiles = ClassAccessChange(type: .user)
            profiles.rules[.read] = ClassRule([.owner], .override)
            _ = try await f.store.classAccess.change(profiles)
            func refusal(_ owner: UserID, _ caller: Caller) async -> SkyrowError? {
                do {
                    _ = try await Self.transfer(f, ["note/mine"], to: owner, by: caller)
                    return nil
                } catch {
                    return error as? SkyrowError
                }
            }
            let hidden = await refusal("ann", .bob)
            #expect(hidden?.code == .resourceNotFound && hidden?.path == "to")
            for owner in ["gone", "ghost"] as [UserID] {
                #expect(await refusal(owner, .bob) == hidden)
                #expect(await refusal(owner, .master) == hidden)
            }
            let owners = try await Self.owners(f)
            #expect(owners.contains("mine=bob"))
            #expect(await refusal("ann", .master) == nil)
        }
    }
}
