import SkyrowConcurrency
package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowRemote
import Synchronization

/// A key with which a provider signs.
package struct SigningKey: Sendable {
    package var id: String?
    /// The key's algorithm, if it is restricted to one.
    package var algorithm: SignatureAlgorithm?
    package var key: VerificationKey
}

/// The keys of a provider as fetched.
package struct FetchedKeys: Sendable {
    package var keys: [SigningKey]
    /// The validity of the response according to the provider.
    package var maximumAge: Duration?
    /// The provider's time when it sent them, in whole seconds since 1970, if it sent one.
    package var date: Int64?
}

extension FetchedKeys {
    /// Upper bound on the keys of a provider.
    private static let maximumCount = 100

    /// Parses a key set (RFC 7517), without keys that are not for signatures or of an unsupported kind.
    ///
    /// Throws ``WebFailure`` for an invalid set, and for one without a usable key.
    package init(_ document: WebDocument) throws(WebFailure) {
        guard let json = try? JSONDocument(document.bytes, depthLimit: 8) else {
            throw WebFailure("The keys of the provider are not JSON.")
        }
        keys = try json.withRoot { root throws(WebFailure) in
            guard let keys = root["keys"], keys.isArray, keys.count <= Self.maximumCount else {
                throw WebFailure("The keys of the provider are not a list of at most \(Self.maximumCount) keys.")
            }
            return keys.elements.compactMap { SigningKey($0) }
        }
        guard !keys.isEmpty else { throw WebFailure("The provider has no signing key for RSA, P-256 or Ed25519.") }
        maximumAge = document.maximumAge
        date = document.date
    }
}

extension SigningKey {
    /// nil for a key that is not usable.
    fileprivate init?(_ json: JSONView) {
        func bytes(_ name: StaticString) -> [UInt8] {
            json[name]?.string.flatMap { $0.utf8.count <= 2048 ? Base64URL.decode($0) : nil } ?? []
        }
        if let use = json["use"]?.string, use != "sig" { return nil }
        if let uses = json["key_ops"], !uses.elements.contains(where: { $0.equals("verify") }) { return nil }
        let made: VerificationKey? =
            switch (json["kty"]?.string, json["crv"]?.string) {
            case ("RSA", _): VerificationKey(rsaModulus: bytes("n"), exponent: bytes("e"))
            case ("EC", "P-256"): VerificationKey(p256X: bytes("x"), y: bytes("y"))
            case ("OKP", "Ed25519"): VerificationKey(ed25519: bytes("x"))
            default: nil
            }
        guard let key = made else { return nil }
        if let name = json["alg"]?.string {
            guard let algorithm = SignatureAlgorithm(rawValue: name), key.fits(algorithm) else { return nil }
            self.init(id: json["kid"]?.string, algorithm: algorithm, key: key)
        } else {
            self.init(id: json["kid"]?.string, key: key)
        }
    }
}

extension [SigningKey] {
    /// Checks that a token was signed with one of the keys, by this algorithm. A token that names no key must leave no choice.
    func haveSigned(_ token: SignedToken, _ algorithm: SignatureAlgorithm) throws(TokenFault) {
        var candidates = filter { $0.key.fits(algorithm) && ($0.algorithm ?? algorithm) == algorithm }
        if let id = token.keyID {
            candidates = candidates.filter { $0.id?.isSameText(as: id) ?? false }
        } else if candidates.count > 1 {
            throw .key
        }
        guard !candidates.isEmpty else { throw .key }
        guard candidates.contains(where: { $0.key.isSignature(token.signature, of: token.message, algorithm) }) else {
            throw .signature
        }
    }
}

/// A process's copy of a provider's keys, and when to fetch them; a value without a clock.
struct KeySetState: Sendable {
    enum Verdict: Sendable {
        case use([SigningKey])
        case fetch
        /// There are no keys, and the last fetch was too recent.
        case unavailable(retryAfter: Duration)
    }

    /// The bounds on how long keys are fresh, regardless of the provider's response.
    static let freshness = Duration.seconds(300)...Duration.seconds(86_400)
    /// How long they are fresh if the response does not tell.
    static let defaultFreshness = Duration.seconds(3600)
    /// How long they are used while fetches fail.
    static let maximumAge = Duration.seconds(86_400)
    /// The pause between two fetches.
    static let pause = Duration.seconds(60)
    /// The pause after a failed fetch while there are no keys.
    static let pauseWithoutKeys = Duration.seconds(5)

    private var keys: [SigningKey] = []
    private var fetchedAt: ContinuousClock.Instant?
    private var freshness = KeySetState.defaultFreshness
    private var triedAt: ContinuousClock.Instant?

    /// Decides for a token that names a key, or none.
    func verdict(on id: String?, at now: ContinuousClock.Instant) -> Verdict {
        let usable = usable(at: now)
        if let usable, let fetchedAt, now - fetchedAt < freshness {
            guard let id else { return .use(usable) }
            if usable.contains(where: { $0.id?.isSameText(as: id) ?? false }) { return .use(usable) }
        }
        let pause = usable == nil ? Self.pauseWithoutKeys : Self.pause
        if let triedAt, now - triedAt < pause {
            return usable.map { .use($0) } ?? .unavailable(retryAfter: pause - (now - triedAt))
        }
        return .fetch
    }

    /// Returns the keys, unless they are too old.
    private func usable(at now: ContinuousClock.Instant) -> [SigningKey]? {
        guard let fetchedAt, now - fetchedAt < Self.maximumAge else { return nil }
        return keys
    }

    /// Stores fetched keys.
    mutating func took(_ fetched: FetchedKeys, at now: ContinuousClock.Instant) {
        keys = fetched.keys
        fetchedAt = now
        triedAt = now
        let age = fetched.maximumAge ?? Self.defaultFreshness
        freshness = min(max(age, Self.freshness.lowerBound), Self.freshness.upperBound)
    }

    /// Notes a failed fetch.
    mutating func failed(at now: ContinuousClock.Instant) {
        triedAt = now
    }
}

/// The keys of a provider for all requests of a process: one request fetches them while the others wait.
actor KeySetCache {
    typealias Fetch = @Sendable () async -> Result<FetchedKeys, WebFailure>

    private let fetch: Fetch
    private let instant: @Sendable () -> ContinuousClock.Instant
    private let observe: @Sendable (WebFailure?) -> Void
    private var state = KeySetState()
    private let fetches = SingleFlight<Void, Void>()
    /// The time of the last fetch, for metrics, which do not wait for the actor.
    private nonisolated let lastFetch = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter observe: receives the outcome of each fetch.
    init(
        instant: @escaping @Sendable () -> ContinuousClock.Instant,
        observe: @escaping @Sendable (WebFailure?) -> Void,
        fetch: @escaping Fetch
    ) {
        self.fetch = fetch
        self.instant = instant
        self.observe = observe
    }

    /// Returns the time since the keys were fetched; nil before that.
    nonisolated func age(at now: ContinuousClock.Instant) -> Duration? {
        lastFetch.withLock { $0 }.map { now - $0 }
    }

    /// Returns the keys, after a fetch if necessary.
    ///
    /// Throws `10002` with `retry_after` if there are none.
    func keys(for id: String?) async throws(SkyrowError) -> [SigningKey] {
        // The second iteration uses the fetched keys.
        for _ in 0..<2 {
            switch state.verdict(on: id, at: instant()) {
            case .use(let keys): return keys
            case .unavailable(let wait): throw .providerUnavailable(retryAfter: wait)
            case .fetch: await fetches.join { await self.refresh() }.value()
            }
        }
        throw .providerUnavailable(retryAfter: KeySetState.pauseWithoutKeys)
    }

    private func refresh() async {
        switch await fetch() {
        case .success(let fetched):
            let now = instant()
            state.took(fetched, at: now)
            lastFetch.withLock { $0 = now }
            observe(nil)
        case .failure(let failure):
            state.failed(at: instant())
            observe(failure)
        }
    }
}

extension SkyrowError {
    /// `10002` for a provider whose keys are unavailable.
    static func providerUnavailable(retryAfter wait: Duration) -> SkyrowError {
        let (seconds, attoseconds) = wait.components
        return SkyrowError(
            .unexpectedUnableToOpenDatabase,
            "The provider cannot be reached at the moment.",
            info: ["retry_after": .integer(max(1, seconds + (attoseconds > 0 ? 1 : 0)))]
        )
    }
}
