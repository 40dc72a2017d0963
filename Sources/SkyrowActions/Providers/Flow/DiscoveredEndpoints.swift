import SkyrowConcurrency
import SkyrowJSON
import SkyrowModel
import SkyrowRemote

/// The metadata document of a provider (OpenID Connect Discovery 1.0).
struct ProviderDocument: Hashable, Sendable {
    var keys: WebAddress?
    var endpoints: ProviderEndpoints?

    /// Throws ``WebFailure`` for a document of another issuer, and for an invalid one.
    init(_ document: WebDocument, at place: WebAddress, issuer: String, allowsLoopback: Bool) throws(WebFailure) {
        guard let json = try? JSONDocument(document.bytes, depthLimit: 16) else {
            throw WebFailure("\(place) is not JSON.")
        }
        let named = json.withRoot { $0["issuer"]?.string }
        // A document of another issuer is not authoritative for this provider.
        guard let named, named.isSameText(as: issuer) else { throw WebFailure("\(place) is from another issuer.") }
        (keys, endpoints) = json.withRoot { root -> (WebAddress?, ProviderEndpoints?) in
            func address(_ name: StaticString) -> WebAddress? {
                root[name]?.string.flatMap { WebAddress($0, allowsLoopback: allowsLoopback) }
            }
            guard let authorization = address("authorization_endpoint"), let token = address("token_endpoint") else {
                return (address("jwks_uri"), nil)
            }
            let methods = root["token_endpoint_auth_methods_supported"]?.elements.compactMap(\.string) ?? []
            return (
                address("jwks_uri"),
                ProviderEndpoints(
                    authorization: authorization,
                    token: token,
                    user: address("userinfo_endpoint"),
                    namesIssuer: root["authorization_response_iss_parameter_supported"]?.boolean ?? false,
                    postsSecret: methods.contains("client_secret_post") && !methods.contains("client_secret_basic")
                )
            )
        }
    }
}

/// The endpoints of a provider for all requests of a process: one request fetches them while the others wait.
actor EndpointCache {
    /// How long endpoints are used without another fetch, and how long while fetches fail.
    private static let freshness = Duration.seconds(3600)
    private static let maximumAge = Duration.seconds(86_400)
    /// The pause after a failed fetch.
    private static let pause = Duration.seconds(5)

    private let locate: @Sendable () async -> Result<ProviderEndpoints, WebFailure>
    private let instant: @Sendable () -> ContinuousClock.Instant
    private let report: @Sendable (WebFailure) -> Void
    private var found: (endpoints: ProviderEndpoints, at: ContinuousClock.Instant)?
    private var failedAt: ContinuousClock.Instant?
    private let looks = SingleFlight<Void, Void>()

    /// - Parameter report: receives the failures to fetch the endpoints.
    init(
        instant: @escaping @Sendable () -> ContinuousClock.Instant,
        report: @escaping @Sendable (WebFailure) -> Void,
        locate: @escaping @Sendable () async -> Result<ProviderEndpoints, WebFailure>
    ) {
        self.locate = locate
        self.instant = instant
        self.report = report
    }

    /// Returns the endpoints; throws `10002` with `retry_after` if they are unavailable.
    func endpoints() async throws(SkyrowError) -> ProviderEndpoints {
        if let found, instant() - found.at < Self.freshness { return found.endpoints }
        let mayAsk = failedAt.map { instant() - $0 >= Self.pause } ?? true
        if mayAsk { await looks.join { await self.refresh() }.value() }
        guard let found, instant() - found.at < Self.maximumAge else {
            throw .providerUnavailable(retryAfter: Self.pause)
        }
        return found.endpoints
    }

    private func refresh() async {
        switch await locate() {
        case .success(let endpoints):
            found = (endpoints, instant())
            failedAt = nil
        case .failure(let failure):
            failedAt = instant()
            report(failure)
        }
    }
}
