import SkyrowConcurrency
package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowRemote
import Synchronization

/// One of the keys that a provider signs with.
package struct SigningKey: Sendable {
    package var id: String?
    /// The algorithm that it is for, if it is for one.
    package var algorithm: SignatureAlgorithm?
    package var key: VerificationKey
}

/// The keys of a provider as they were fetched.
package struct FetchedKeys: Sendable {
    package var keys: [SigningKey]
    /// For how long they may be kept, as the provider says.
    package var maximumAge: Duration?
    /// The time of the provider when it sent them, in whole seconds since 1970, where it said that.
    package var date: Int64?

    package init(keys: [SigningKey], maximumAge: Duration? = nil) {
        self.keys = keys
        self.maximumAge = maximumAge
    }

    /// How many keys a provider may have.
    private static let maximumCount = 100

    /// Reads a set of keys (RFC 7517); those that are not for signatures, or of a kind that is not used, are left out.
    ///
    /// Throws ``WebFailure`` for what is no such set, and for one without any key that can be used.
    package init(_ document: WebDocument) throws(WebFailure) {
        guard let json = try? JSONDocument(document.bytes, depthLimit: 8) else {
            throw WebFailure("The keys of the provider are not JSON.")
        }
        keys = try json.withRoot { root throws(WebFailure) in
            guard let keys = root["keys"], keys.isArray, keys.count <= Self.maximumCount else {
                throw WebFailure("The keys of the provider are no list of at most \(Self.maximumCount) keys.")
            }
            return keys.elements.compactMap { SigningKey($0) }
        }
        guard !keys.isEmpty else {
            throw WebFailure("The provider has no key for signatures of RSA, P-256 or Ed25519.")
        }
        maximumAge = document.maximumAge
        date = document.date
    }
}

extension SigningKey {
    /// nil for a key that is for something else.
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
    /// Whether a token was signed with one of the keys, by this algorithm. One that names no key has to leave no choice.
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

/// What a process has of a provider's keys, and when they are to be fetched; a value without a clock.
struct KeySetState: Sendable {
    enum Verdict: Sendable {
        case use([SigningKey])
        case fetch
        /// There are none, and they were asked for a moment ago.
        case unavailable(retryAfter: Duration)
    }

    /// For how long keys are fresh, whatever the provider says.
    static let freshness = Duration.seconds(300)...Duration.seconds(86_400)
    /// For how long they are where it says nothing.
    static let defaultFreshness = Duration.seconds(3600)
    /// For how long they serve while they cannot be fetched.
    static let maximumAge = Duration.seconds(86_400)
    /// How long is waited between two fetches.
    static let pause = Duration.seconds(60)
    /// The same after one that failed where there are no keys.
    static let pauseWithoutKeys = Duration.seconds(5)

    private var keys: [SigningKey] = []
    private var fetchedAt: ContinuousClock.Instant?
    private var freshness = KeySetState.defaultFreshness
    private var triedAt: ContinuousClock.Instant?

    /// What is to be done for a token that names a key, or none.
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

    /// The keys, while they are not too old.
    private func usable(at now: ContinuousClock.Instant) -> [SigningKey]? {
        guard let fetchedAt, now - fetchedAt < Self.maximumAge else { return nil }
        return keys
    }

    /// Takes what a fetch has brought.
    mutating func took(_ fetched: FetchedKeys, at now: ContinuousClock.Instant) {
        keys = fetched.keys
        fetchedAt = now
        triedAt = now
        let age = fetched.maximumAge ?? Self.defaultFreshness
        freshness = min(max(age, Self.freshness.lowerBound), Self.freshness.upperBound)
    }

    /// Notes that a fetch has brought nothing.
    mutating func failed(at now: ContinuousClock.Instant) {
        triedAt = now
    }
}

/// The keys of a provider for all requests of a process: they are fetched by one of them, and the others wait for it.
actor KeySetCache {
    typealias Fetch = @Sendable () async -> Result<FetchedKeys, WebFailure>

    private let fetch: Fetch
    private let instant: @Sendable () -> ContinuousClock.Instant
    private let observe: @Sendable (WebFailure?) -> Void
    private var state = KeySetState()
    private let fetches = SingleFlight<Void, Void>()
    /// When the keys were fetched last, for metrics, which do not wait.
    private nonisolated let lastFetch = Mutex<ContinuousClock.Instant?>(nil)

    /// - Parameter observe: learns of each fetch, with what was wrong with it.
    init(
        instant: @escaping @Sendable () -> ContinuousClock.Instant,
        observe: @escaping @Sendable (WebFailure?) -> Void,
        fetch: @escaping Fetch
    ) {
        self.fetch = fetch
        self.instant = instant
        self.observe = observe
    }

    /// How long ago they were fetched; nil while they were not.
    nonisolated func age(at now: ContinuousClock.Instant) -> Duration? {
        lastFetch.withLock { $0 }.map { now - $0 }
    }

    /// The keys, fetched where need be.
    ///
    /// Throws `10002` with `retry_after` when there are none.
    func keys(for id: String?) async throws(SkyrowError) -> [SigningKey] {
        // The second look is at what the fetch has brought.
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
    /// `10002` for a provider whose keys cannot be had.
    static func providerUnavailable(retryAfter wait: Duration) -> SkyrowError {
        let (seconds, attoseconds) = wait.components
        return SkyrowError(
            .unexpectedUnableToOpenDatabase,
            "The provider cannot be reached at the moment.",
            info: ["retry_after": .integer(max(1, seconds + (attoseconds > 0 ? 1 : 0)))]
        )
    }
}
