import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowRemote

/// Random texts of 256 bits for a sign-in flow; tables store their hashes.
enum FlowSecret {
    /// Generates a text of 43 characters of base64url.
    static func draw() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    static func hash(of text: String) -> [UInt8] {
        SHA256.hash(of: text).bytes
    }

    /// Returns the associated data with which a secret of a flow is authenticated.
    static func place(_ hash: [UInt8]) -> [String] { ["_flow", Hexadecimal.text(hash)] }

    /// Returns the challenge of a verifier (RFC 7636, S256).
    static func challenge(of verifier: String) -> String {
        Base64URL.encode(hash(of: verifier))
    }
}

/// The request that the user's browser sends to a provider (RFC 6749, 4.1.1; OpenID Connect Core 1.0, 3.1.2.1).
struct AuthorizationRequest: Hashable, Sendable {
    let state: String
    /// The secret with which the exchange proves that it belongs to this request.
    let verifier: String
    /// The nonce that the ID token must have; nil for a provider without ID tokens.
    let nonce: String?

    init(for kind: ProviderKind) {
        state = FlowSecret.draw()
        verifier = FlowSecret.draw()
        nonce = kind.hasIDTokens ? FlowSecret.draw() : nil
    }

    /// Returns the URL with the request in its query.
    func url(at address: WebAddress, of flow: ProviderFlow, _ purpose: ProviderFlowPurpose) -> String {
        var fields: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", flow.clientID), ("redirect_uri", flow.callback),
            ("scope", flow.scopes.joined(separator: " ")), ("state", state),
            ("code_challenge", FlowSecret.challenge(of: verifier)), ("code_challenge_method", "S256"),
        ]
        if let nonce { fields.append(("nonce", nonce)) }
        // With the scope `name` or `email` Apple accepts only this response mode.
        if flow.kind == .apple { fields.append(("response_mode", "form_post")) }
        // Google issues a refresh token only on request.
        if flow.kind == .google, flow.keepsTokens { fields.append(("access_type", "offline")) }
        if purpose == .stepUp {
            switch flow.kind {
            case .openID, .google, .apple:
                // With `max_age` the ID token has the time of the sign-in (OpenID Connect Core 1.0, 3.1.2.1).
                fields.append(("prompt", "login"))
                fields.append(("max_age", "\(Elevation.lifetime)"))
                if flow.kind == .google {
                    // Google sends the time only if the claim is requested.
                    fields.append(("claims", #"{"id_token":{"auth_time":{"essential":true}}}"#))
                }
            case .facebook: fields.append(("auth_type", "reauthenticate"))
            case .github, .twitter: break
            }
        }
        return address.adding(fields)
    }
}

/// The parameters with which a provider sends the browser back.
package struct AuthorizationResponse: Hashable, Sendable {
    /// Upper bound on the size of a parameter, in bytes.
    package static let maximumBytes = 4096

    package var state: String?
    package var code: String?
    package var error: String?
    /// The provider's name for itself (RFC 9207).
    package var issuer: String?
    /// Apple's description of the user at the first sign-in, a JSON object.
    package var user: String?

    /// - Parameter field: returns the value of a field of the query or the form.
    package init(_ field: (String) -> String?) {
        func text(_ name: String) -> String? {
            field(name).flatMap { (1...Self.maximumBytes).contains($0.utf8.count) && !$0.hasNUL ? $0 : nil }
        }
        state = text("state")
        code = text("code")
        error = text("error")
        issuer = text("iss")
        user = text("user")
    }

    /// Returns the code; throws the error of the response, or its fault.
    ///
    /// - Parameters:
    ///   - issuers: the provider's names for itself; empty for a provider that is identified only by the path.
    ///   - namesIssuer: whether each response of the provider names it.
    func code(from issuers: [String], namesIssuer: Bool) throws(FlowFault) -> String {
        if !issuers.isEmpty {
            if let issuer {
                guard issuers.contains(where: { $0.isSameText(as: issuer) }) else {
                    throw FlowFault(.serverError, "the response is from another provider")
                }
            } else if namesIssuer {
                throw FlowFault(.serverError, "the response does not name the provider")
            }
        }
        switch error {
        case nil: break
        // The error codes of Apple and Facebook for a user who cancels are among these.
        case "access_denied", "user_cancelled_authorize", "user_cancelled_login", "login_required", "consent_required",
            "interaction_required", "account_selection_required":
            throw FlowFault(.accessDenied, "the user did not sign in")
        case "temporarily_unavailable": throw FlowFault(.temporarilyUnavailable, "the provider is not available")
        default: throw FlowFault(.serverError, "the provider responded with an error")
        }
        guard let code else { throw FlowFault(.serverError, "the response has no code") }
        return code
    }
}
