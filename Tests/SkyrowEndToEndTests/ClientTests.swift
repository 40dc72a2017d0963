import SkyrowClient
import SkyrowModel
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The client against the built service: what an application does, from its accounts to its private notes.
@Suite struct ClientTests {
    @Test func aKeyOpensWhatItIsForUntilItIsRevoked() async throws {
        try await withService { service in
            let operatorsClient = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_MASTER_KEY"))
            _ = try await operatorsClient.publicDatabase.save(RecordDraft("note/1", ["title": "Milk"]))
            let issued = try await operatorsClient.createKey("kiosk", scopes: ["read", "type:note"])
            let kiosk = SkyrowClient(endpoint: service.address, apiKey: issued.text)
            let note = try RecordID("note/1")
            #expect(try await kiosk.publicDatabase.fetch(note)["title"] == "Milk")
            let refused = await #expect(throws: ClientError.self) {
                try await kiosk.publicDatabase.query(RecordQuery("film"))
            }
            #expect(refused?.serverError?.code == .permissionDenied)

            let renewed = try await operatorsClient.rotateKey(issued.key.id, overlap: .zero)
            let renewedKiosk = SkyrowClient(endpoint: service.address, apiKey: renewed.text)
            #expect(try await renewedKiosk.publicDatabase.fetch(note)["title"] == "Milk")

            try await operatorsClient.revokeKey(issued.key.id)
            let ended = await #expect(throws: ClientError.self) { try await renewedKiosk.publicDatabase.fetch(note) }
            #expect(ended?.serverError?.code == .accessKeyNotAccepted)
            #expect(try await operatorsClient.keys().map(\.revokedAt).contains { $0 != nil })
        }
    }

    @Test func anApplicationsDay() async throws {
        try await withService { service in
            let key = try service.key("SKYROW_API_KEY")
            let ann = SkyrowClient(endpoint: service.address, apiKey: key)
            let ben = SkyrowClient(endpoint: service.address, apiKey: key)
            _ = try await ann.signUp(["username": "ann"], password: "correct horse")
            _ = try await ben.signUp(["username": "ben"], password: "battery staple")

            let note = try RecordID("note/1")
            let saved = try await ann.publicDatabase.save(RecordDraft("note/1", ["title": "Milk", "stars": 3]))
            #expect(saved.owner == ann.currentUserID)
            #expect(try await ben.publicDatabase.fetch(note).fields == saved.fields)

            // Everybody reads, the owner writes.
            let refusal = await #expect(throws: ClientError.self) {
                try await ben.publicDatabase.save(RecordDraft("note/1", ["title": "Beer"]))
            }
            #expect(refusal?.serverError?.code == .permissionDenied)
            let starred = try await ben.publicDatabase.query(RecordQuery("note").filter(Field("stars") > 2))
            #expect(starred.records.map(\.id) == [note])

            // What is private is nobody else's, and its ids do not collide with anybody's.
            for client in [ann, ben] {
                _ = try await client.privateDatabase.save(RecordDraft("setting/main", ["color": "red"]))
            }
            let mine = try await ann.privateDatabase.query(RecordQuery("setting"))
            #expect(mine.records.map(\.owner) == [ann.currentUserID])
            #expect(try await service.psql("SELECT count(*) FROM setting") == "2")

            try await ann.logOut()
            let stranger = await #expect(throws: ClientError.self) { try await ann.me() }
            #expect(stranger?.serverError?.code == .notAuthenticated)
        }
    }
}
