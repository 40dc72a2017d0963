import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Users with a verified address, whom access lists and rules name.
@Suite(.timeLimit(.minutes(60))) struct VerifiedUserTests {
    /// Whether the user of a session reads a record, as a request of it finds out.
    private func reads(_ fixture: ServiceFixture, _ token: String, _ id: String = "note/1") async throws -> Bool {
        let caller = try await fixture.service.authenticate(.token(token), for: .user)
        return try await fixture.service.fetch(id, by: caller) == ["saved"]
    }

    @Test func aVerifiedAddressOpensWhatIsForVerifiedUsersUntilItChanges() async throws {
        try await withService { fixture in
            let (_, owner) = try await fixture.service.signUp("owner")
            var note = draft("note/1", ["title": "x"])
            note.access = AccessList([AccessEntry(.verified, .read)])
            #expect(try await fixture.service.save(SaveRequest(note), by: owner).summaries == ["saved"])
            let (ann, _) = try await fixture.service.signUp("ann")
            let (bob, _) = try await fixture.service.signUp("bob")
            let id = ann.userID
            try await fixture.psql("UPDATE \"user\" SET email = username || '@example.org'")
            // Each change is made in psql. The clock of the cache stands still, so only a notice makes the service look again.
            for (change, isOpen) in [
                ("SELECT", false), ("UPDATE _user SET verified_email = 'ann@example.org' WHERE id = '\(id)'", true),
                ("UPDATE \"user\" SET email = 'other@example.org' WHERE _id = '\(id)'", false),
                ("UPDATE \"user\" SET email = 'ann@example.org' WHERE _id = '\(id)'", true),
                ("UPDATE \"user\" SET email = 'Ann@example.org' WHERE _id = '\(id)'", false),
                ("UPDATE _user SET verified_email = 'Ann@example.org' WHERE id = '\(id)'", true),
                ("UPDATE \"user\" SET email = NULL WHERE _id = '\(id)'", false),
            ] {
                try await fixture.psql(change)
                try await waiting(until: "\(change) is heard") {
                    try await reads(fixture, ann.accessToken) == isOpen
                }
                #expect(try await !reads(fixture, bob.accessToken))
            }
        }
    }

    @Test func aNewSessionIsOfAVerifiedUserFromTheStart() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            try await fixture.psql("UPDATE \"user\" SET email = 'ann@example.org'")
            for isVerified in [false, true] {
                if isVerified { try await fixture.psql("UPDATE _user SET verified_email = 'ann@example.org'") }
                let login = try await fixture.service.logIn(
                    LogInRequest(authData: ["username": "ann"], password: "secret")
                )
                // What the log-in has remembered, and what the database says.
                for _ in 0..<2 {
                    let caller = try await fixture.service.authenticate(.token(login.accessToken), for: .user)
                    #expect(caller.isVerified == isVerified)
                    fixture.service.forget(.all)
                }
            }
        }
    }

    @Test func rulesOfTypesAndFieldsNameThem() async throws {
        try await withService { fixture in
            let (_, owner) = try await fixture.service.signUp("owner")
            _ = try await fixture.service.save(SaveRequest(draft("memo/1", ["title": "x", "secret": "y"])), by: owner)
            var change = ClassAccessChange(type: type("memo"))
            change.rules[.update] = ClassRule([.verified], .override)
            change.fields[field("secret")] = [.update: [.verified]]
            _ = try await fixture.service.run(Actions.schemaAccessSet, change, by: ServiceFixture.masterCaller)
            let verified = Caller(kind: .user("ann"), isRegistered: true, isVerified: true)
            let other = Caller(kind: .user("bob"), isRegistered: true)
            for (caller, outcome) in [(verified, "saved"), (other, "PermissionDenied")] {
                let saved = try await fixture.service.save(SaveRequest(draft("memo/1", ["secret": "z"])), by: caller)
                #expect(saved.summaries == [outcome])
            }
        }
    }
}
