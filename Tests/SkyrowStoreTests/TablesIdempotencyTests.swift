import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct TablesIdempotencyTests {
    /// One request as a service handles it: claims the key, works, and remembers the answer.
    private func handle(
        _ store: RecordStore,
        _ key: String = "k",
        scope: String = "ann",
        fingerprint: [UInt8] = [1],
        result: [UInt8],
        working: () async throws -> Void = {}
    ) async throws -> IdempotencyTable.Claim {
        try await store.client.withTransaction { transaction in
            let claim = try await store.idempotency.claim(key, scope: scope, fingerprint: fingerprint, in: transaction)
            guard claim == .claimed else { return claim }
            try await working()
            try await store.idempotency.complete(key, scope: scope, result: result, in: transaction)
            return claim
        }
    }

    @Test func aRetryGetsTheFirstAnswer() async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            #expect(try await handle(store, result: [7]) == .claimed)
            #expect(try await handle(store, result: [8]) == .completed([7]))
            #expect(try await handle(store, "other", result: [9]) == .claimed)
            #expect(try await handle(store, scope: "bob", result: [9]) == .claimed)
            #expect(try await handle(store, result: [8]) == .completed([7]))
        }
    }

    @Test func anotherRequestUnderTheKeyIsRefused() async throws {
        try await withStore { fixture async throws in
            _ = try await handle(fixture.store, result: [7])
            let error = await #expect(throws: SkyrowError.self) {
                try await handle(fixture.store, fingerprint: [2], result: [8])
            }
            #expect(error?.code == .idempotencyKeyReused)
        }
    }

    @Test func aRequestThatFailedFreesItsKey() async throws {
        struct Failure: Error {}
        try await withStore { fixture async throws in
            await #expect(throws: Failure.self) {
                try await handle(fixture.store, result: [7]) { throw Failure() }
            }
            #expect(try await handle(fixture.store, fingerprint: [2], result: [8]) == .claimed)
        }
    }

    @Test func aKeyIsFreeAfterADay() async throws {
        try await withStore { fixture async throws in
            _ = try await handle(fixture.store, result: [7])
            try await fixture.psql("UPDATE _idempotency SET created_at = now() - interval '25 hours'")
            #expect(try await handle(fixture.store, fingerprint: [2], result: [8]) == .claimed)
            #expect(try await handle(fixture.store, fingerprint: [2], result: [9]) == .completed([8]))
            #expect(try await fixture.store.idempotency.purgeExpired() == 0)
            try await fixture.psql("UPDATE _idempotency SET created_at = now() - interval '25 hours'")
            #expect(try await fixture.store.idempotency.purgeExpired() == 1)
        }
    }

    @Test func aRetryWaitsForTheFirstToEnd() async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            async let second = {
                try await until {
                    try await fixture.database.locks(where: "locktype = 'advisory'") == 1
                }
                return try await handle(store, result: [8])
            }()
            let first = try await handle(store, result: [7]) {
                // Tells the second to come, and waits until it stands in line.
                try await store.client.withTransaction { transaction in
                    _ = try await transaction.query("SELECT pg_advisory_xact_lock(1)")
                    try await until {
                        try await fixture.database.sessionsWaitingForALock() == 1
                    }
                }
            }
            #expect(first == .claimed)
            #expect(try await second == .completed([7]))
        }
    }

    /// Claims two keys in one transaction; before the second, waits until two transactions have claimed their first.
    private func claim(
        _ keys: [String],
        _ store: RecordStore,
        _ runs: Counter
    ) async throws(SkyrowError) -> [IdempotencyTable.Claim] {
        try await store.withTransaction { transaction throws(SkyrowError) in
            var claims: [IdempotencyTable.Claim] = []
            for key in keys {
                claims.append(try await store.idempotency.claim(key, scope: "ann", fingerprint: [1], in: transaction))
                if claims.count == 1 {
                    runs.count.withLock { $0 += 1 }
                    while runs.count.withLock({ $0 }) < 2 { await Task.yield() }
                }
            }
            for key in keys { try await store.idempotency.complete(key, scope: "ann", result: [7], in: transaction) }
            return claims
        }
    }

    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    @Test func claimsThatWaitForEachOtherAreTriedAgain() async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            let runs = Counter()
            async let first = claim(["a", "b"], store, runs)
            let second = try await claim(["b", "a"], store, runs)
            let claims = [try await first, second]
            // One of them was the victim of a deadlock, which left as an error of the service, and ran again.
            #expect(runs.count.withLock { $0 } == 3)
            #expect(Set(claims) == [[.claimed, .claimed], [.completed([7]), .completed([7])]])
        }
    }
}
