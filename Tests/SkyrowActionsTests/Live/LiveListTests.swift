import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What events say of the access lists of records.
@Suite(.timeLimit(.minutes(60))) struct LiveListTests {
    /// A change, and how many events each of them gets: the owner, bob, who may update, and one who is not logged in.
    private static let steps: [(change: String, events: [Int])] = [
        // Of what he does not see nothing is told, not even that it changed.
        (#"_access = '{"public": "read", "user:{bob}": "write", "role:editor": "read"}'"#, [1, 0, 0]),
        (#"_access = '{"public": "read", "user:{bob}": "write", "role:editor": "write"}'"#, [1, 0, 0]),
        (#"title = 'b'"#, [1, 1, 1]),
        (#"title = 'c', _access = '{"public": "read", "user:{bob}": "write"}'"#, [1, 1, 1]),
        (#"_access = '{"public": "read", "users": "read", "user:{bob}": "write"}'"#, [1, 1, 1]),
        // A record that is saved as it was is an event.
        (#"title = title"#, [1, 1, 1]),
    ]

    private struct Reader {
        let user: LiveUser
        let outlet = MemoryOutlet()
    }

    @Test(arguments: [nil, .update, .read] as [ClassAccess.ListReaders?])
    func whoDoesNotSeeAListLearnsNothingOfIt(_ readers: ClassAccess.ListReaders?) async throws {
        try await withLiveService(.logical) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            let ids = (ann.caller.userID?.rawValue ?? "", bob.caller.userID?.rawValue ?? "")
            var change = ClassAccessChange(type: type("note"))
            change.listReaders = .some(readers)
            _ = try await fixture.service.store.classAccess.change(change)
            try await fixture.psql("ALTER TABLE note REPLICA IDENTITY FULL")
            try await fixture.change(
                """
                INSERT INTO note (_id, _owner, title, _access)
                VALUES ('1', '\(ids.0)', 'a', '{"public": "read", "user:\(ids.1)": "write"}')
                """
            )
            let all = [ann, bob, .anonymous].map { Reader(user: $0) }
            var sessions: [LiveSession] = []
            for reader in all {
                let session = LiveSession(of: fixture.service, outlet: reader.outlet)
                for (name, of) in [("s", "note"), ("marks", "category")] {
                    let request = LiveSubscribeRequest(
                        name: name,
                        type: type(of),
                        predicate: nil,
                        sendsInitial: name == "s"
                    )
                    try await session.subscribe(request, as: reader.user)
                    try await reader.outlet.waitUntilReady(name)
                }
                sessions.append(session)
            }
            let namesSomeone = ["user_id", "role"]
            for (number, step) in Self.steps.enumerated() {
                for reader in all { reader.outlet.clear() }
                let statement = step.change.replacing("{bob}", with: ids.1)
                try await fixture.change(
                    "UPDATE note SET \(statement), _updated_at = now()",
                    "INSERT INTO category (_id) VALUES ('mark\(number)')"
                )
                let seesAll = [true, readers != nil, readers == .read]
                for (place, reader) in all.enumerated() {
                    try await waiting(until: "the mark \(number) arrives", hearing: [reader.outlet]) {
                        reader.outlet.held("marks")["category/mark\(number)"] != nil
                    }
                    let events = reader.outlet.events.filter { $0.subscription == "s" }
                    let expected = seesAll[place] ? 1 : step.events[place]
                    #expect(events.map(\.event) == Array(repeating: "updated", count: expected), "\(step) \(place)")
                    for event in events {
                        let list = event.record["_access"] ?? ""
                        #expect(list.contains("public"))
                        #expect(namesSomeone.contains { list.contains($0) } == seesAll[place], "\(place): \(list)")
                    }
                    #expect(reader.outlet.faults == [])
                }
            }
            for session in sessions { session.end() }
        }
    }
}
