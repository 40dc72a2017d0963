import SkyrowCrypto
import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions
@testable import SkyrowRemote

@Suite struct KeySetTests {
    private static func keys(_ ids: String...) throws -> [SigningKey] {
        let key = try #require(VerificationKey(secret: [UInt8](repeating: 1, count: 32)))
        return ids.map { SigningKey(id: $0, key: key) }
    }

    /// What a verdict comes to, to be compared.
    private static func text(_ verdict: KeySetState.Verdict) -> String {
        switch verdict {
        case .use(let keys): "use " + keys.compactMap(\.id).joined(separator: " ")
        case .fetch: "fetch"
        case .unavailable(let wait): "wait \(wait / .seconds(1))"
        }
    }

    @Test func keysAreFetchedWhenTheyAreNeeded() throws {
        var state = KeySetState()
        let start = ContinuousClock.now
        func verdict(_ id: String?, after seconds: Int) -> String {
            Self.text(state.verdict(on: id, at: start + .seconds(seconds)))
        }
        #expect(verdict("a", after: 0) == "fetch")
        state.failed(at: start)
        #expect(verdict("a", after: 1) == "wait 4.0")
        #expect(verdict("a", after: 5) == "fetch")
        state.took(FetchedKeys(keys: try Self.keys("a", "b"), maximumAge: .seconds(600)), at: start + .seconds(5))
        #expect(verdict("a", after: 604) == "use a b")
        #expect(verdict(nil, after: 604) == "use a b")
        // An unknown one may be new, which is asked for once a minute.
        #expect(verdict("c", after: 64) == "use a b")
        #expect(verdict("c", after: 65) == "fetch")
        state.failed(at: start + .seconds(65))
        #expect(verdict("c", after: 124) == "use a b")
        #expect(verdict("c", after: 125) == "fetch")
        // They are too old to be taken for granted, but serve while there are no others.
        #expect(verdict("a", after: 605) == "fetch")
        state.failed(at: start + .seconds(605))
        #expect(verdict("a", after: 664) == "use a b")
        state.failed(at: start + .seconds(86_400))
        #expect(verdict("a", after: 86_404) == "use a b")
        // For a day at most.
        #expect(verdict("a", after: 86_405) == "fetch")
        state.failed(at: start + .seconds(86_405))
        #expect(verdict("a", after: 86_406) == "wait 4.0")
    }

    @Test(
        arguments: [
            (nil, 3600), (0, 300), (299, 300), (301, 301), (86_399, 86_399), (86_401, 86_400), (1_000_000_000, 86_400),
        ] as [(Int?, Int)]
    )
    func theirAgeIsBounded(_ said: Int?, _ fresh: Int) throws {
        var state = KeySetState()
        let start = ContinuousClock.now
        state.took(FetchedKeys(keys: try Self.keys("a"), maximumAge: said.map { .seconds($0) }), at: start)
        #expect(Self.text(state.verdict(on: "a", at: start + .seconds(fresh - 1))) == "use a")
        #expect(Self.text(state.verdict(on: "a", at: start + .seconds(fresh))) == "fetch")
    }

    @Test func oneRequestFetchesForAll() async throws {
        let fetches = Atomic(0)
        let gate = AsyncStream.makeStream(of: Void.self)
        let keys = try Self.keys("a")
        let cache = KeySetCache(
            instant: { ContinuousClock.now },
            observe: { _ in },
            fetch: {
                fetches.add(1, ordering: .relaxed)
                for await _ in gate.stream { break }
                return .success(FetchedKeys(keys: keys))
            }
        )
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await cache.keys(for: "a").count } }
            try await waiting(until: "one fetches") { fetches.load(ordering: .relaxed) == 1 }
            gate.continuation.finish()
            return try await group.reduce(0, +)
        }
        #expect(found == 20)
        #expect(fetches.load(ordering: .relaxed) == 1)
    }

    @Test func setsOfKeysAreRead() throws {
        func count(_ text: String) -> Int? {
            try? FetchedKeys(WebDocument(bytes: Array(text.utf8))).keys.count
        }
        let ed25519 = #""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
        let secret =
            #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#
        #expect(count("{\"keys\":[{\(ed25519)}]}") == 1)
        #expect(count("{\"keys\":[{\(ed25519)},\(secret),{\"kty\":\"EC\",\"crv\":\"P-521\"},{},1]}") == 1)
        #expect(count("{\"keys\":[{\(ed25519),\"use\":\"sig\",\"key_ops\":[\"verify\"],\"alg\":\"EdDSA\"}]}") == 1)
        for other in [
            "{\"keys\":[{\(ed25519),\"use\":\"enc\"}]}", "{\"keys\":[{\(ed25519),\"key_ops\":[\"sign\"]}]}",
            "{\"keys\":[{\(ed25519),\"alg\":\"RS256\"}]}", "{\"keys\":[{\(ed25519),\"alg\":\"HS256\"}]}",
            "{\"keys\":[\(secret)]}", "{\"keys\":[]}", "{\"keys\":{}}", "{}", "[]", "<html>", "",
            "{\"keys\":[" + Array(repeating: "{\(ed25519)}", count: 101).joined(separator: ",") + "]}",
        ] {
            #expect(count(other) == nil, "\(other.prefix(200))")
        }
    }
}
