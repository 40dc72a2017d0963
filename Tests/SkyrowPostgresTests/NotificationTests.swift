import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct NotificationTests {
    @Test func notificationsArriveInOrder() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                var events = client.listen("Change d").makeAsyncIterator()
                #expect(await events.next() == .connected)
                try await database.psql("NOTIFY \"Change d\", 'one'; NOTIFY other, 'x'; NOTIFY \"Change d\", 'two'")
                for expected in ["one", "two"] {
                    let event = await events.next()
                    guard case .notification(let channel, let payload, _) = event else {
                        Issue.record("'\(expected)' did not arrive, but \(String(describing: event))")
                        return
                    }
                    #expect(channel == "Change d")
                    #expect(payload == expected)
                }
            }
        }
    }

    @Test func everyListenerOfAChannelIsTold() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                var first = client.listen("changed").makeAsyncIterator()
                #expect(await first.next() == .connected)
                var second = client.listen("changed").makeAsyncIterator()
                #expect(await second.next() == .connected)
                try await database.psql("NOTIFY changed")
                guard case .notification = await first.next(), case .notification = await second.next() else {
                    Issue.record("A listener got no event")
                    return
                }
            }
        }
    }

    @Test func listeningSurvivesTheLossOfItsConnection() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                var events = client.listen("changed").makeAsyncIterator()
                #expect(await events.next() == .connected)
                for number in 1...3 {
                    try await database.psql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            + "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
                    )
                    #expect(await events.next() == .reconnected)
                    try await database.psql("NOTIFY changed, '\(number)'")
                    guard case .notification(_, "\(number)", _) = await events.next() else {
                        Issue.record("Notification \(number) did not arrive")
                        return
                    }
                }
            }
        }
    }

    @Test func aReaderThatFallsFarBehindIsToldSo() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                let stream = client.listen("changed")
                var events = stream.makeAsyncIterator()
                #expect(await events.next() == .connected)
                var witness = client.listen("changed").makeAsyncIterator()
                #expect(await witness.next() == .connected)
                try await database.psql("SELECT pg_notify('changed', n::text) FROM generate_series(1, 5000) n")
                var seen = 0
                while seen < 5000, case .notification = await witness.next() { seen += 1 }
                var found = await events.next()
                if case .notification = found {
                    // The other one was served first; the last notifications are on their way.
                    found = await events.next()
                }
                #expect(found == .reconnected)
            }
        }
    }

    @Test func listeningEndsWithTheClientAndWithTheTask() async throws {
        try await withTemporaryDatabase { url in
            let kept = try await withPostgresClient(url) { client in
                let task = Task {
                    for await _ in client.listen("changed") {}
                    return true
                }
                task.cancel()
                let hasEnded = await task.value
                #expect(hasEnded)
                return client.listen("changed")
            }
            try await waiting(for: "the end of the notifications") {
                for await event in kept { #expect(event == .connected) }
            }
        }
    }
}
