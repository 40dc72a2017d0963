import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowRemote
import SkyrowStore
import Synchronization

/// The sign-ins with one provider through browsers: its endpoints, and the exchanges in progress.
final class BrowserSignIn: Sendable {
    /// Upper bound on concurrent exchanges of codes; each occupies a thread until the provider responds.
    static let maximumExchanges = 8

    let flow: ProviderFlow
    private let cache: EndpointCache
    private let exchanges = Mutex(0)

    /// - Parameter report: receives the failures to find the provider's endpoints.
    init(
        _ flow: ProviderFlow,
        instant: @escaping @Sendable () -> ContinuousClock.Instant,
        report: @escaping @Sendable (WebFailure) -> Void
    ) {
        self.flow = flow
        cache = EndpointCache(instant: instant, report: report, locate: flow.locate)
    }

    /// Returns the endpoints of the provider; throws `10002` with `retry_after` if they are unavailable.
    func endpoints() async throws(SkyrowError) -> ProviderEndpoints {
        try await cache.endpoints()
    }

    /// Runs an exchange; returns nil when there are too many.
    func exchanging<Success: Sendable, Failure: Error>(
        _ body: () async throws(Failure) -> Success
    ) async throws(Failure) -> Success? {
        let mayBegin = exchanges.withLock { count in
            guard count < Self.maximumExchanges else { return false }
            count += 1
            return true
        }
        guard mayBegin else { return nil }
        defer { exchanges.withLock { $0 -= 1 } }
        return try await body()
    }

    /// Exchanges a code for tokens.
    func tokens(
        for code: String,
        verifier: String,
        at endpoints: ProviderEndpoints,
        now: Timestamp
    ) async throws(FlowFault) -> TokenResponse {
        let request = try TokenRequest(code: code, verifier: verifier)
            .request(of: flow, to: endpoints, at: Int64(now.secondsSince1970))
        return try TokenResponse(try await response(to: request))
    }

    /// Returns the user of an access token, according to a provider without ID tokens.
    func user(of accessToken: String, at endpoints: ProviderEndpoints) async throws(FlowFault) -> ProviderUser {
        guard let place = endpoints.user else {
            throw FlowFault(.serverError, "the provider has no user info address")
        }
        var address: WebAddress? = place
        if flow.kind == .facebook, case .secret(let secret) = flow.authentication {
            let proof = ProviderUser.proof(of: accessToken, secret: secret.exposed)
            address = WebAddress(place.adding([("appsecret_proof", proof)]), allowsLoopback: place.isLoopback)
        }
        guard let address else { throw FlowFault(.serverError, "the user info address is too long") }
        let user = try await document(at: address, accessToken)
        var emails: JSONDocument?
        if let place = endpoints.emails { emails = try await document(at: place, accessToken) }
        return try ProviderUser(user, emails: emails, of: flow.kind)
    }

    /// Returns the claims of an OpenID Connect provider's userinfo endpoint, which must be about the subject of the ID token.
    func claims(
        of subject: String,
        _ accessToken: String,
        at place: WebAddress
    ) async throws(FlowFault) -> (profile: JSONText, verifiedEmail: String?) {
        let document = try await document(at: place, accessToken)
        let read = document.withRoot { root -> (JSONText, String?)? in
            guard let named = root["sub"]?.string, named.isSameText(as: subject) else { return nil }
            return (IDTokenClaims.profile(root), IDTokenClaims.verifiedEmail(root))
        }
        guard let read else { throw FlowFault(.serverError, "the user info is of another user") }
        return read
    }

    private func document(at address: WebAddress, _ accessToken: String) async throws(FlowFault) -> JSONDocument {
        let fields = [
            (name: "Accept", value: "application/json"), (name: "Authorization", value: "Bearer \(accessToken)"),
        ]
        let response = try await response(to: WebRequest(address, fields: fields))
        guard response.status == 200, let json = try? JSONDocument(response.bytes, depthLimit: 16) else {
            throw FlowFault(
                response.status >= 500 ? .temporarilyUnavailable : .serverError,
                "the request for the user info had the status \(response.status)"
            )
        }
        return json
    }

    private func response(to request: WebRequest) async throws(FlowFault) -> WebResponse {
        switch await flow.send(request) {
        case .success(let response): return response
        case .failure(let failure): throw FlowFault(.temporarilyUnavailable, failure.description)
        }
    }
}
