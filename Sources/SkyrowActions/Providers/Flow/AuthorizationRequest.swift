import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowRemote

/// Random texts of 256 bits for a flow; tables get their hashes.
enum FlowSecret {
    /// A text of 43 characters of base64url.
    static func draw() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    static func hash(of text: String) -> [UInt8] {
        SHA256.hash(of: text).bytes
    }

    /// The challenge of a verifier (RFC 7636, S256).
    static func challenge(of verifier: String) -> String {
        Base64URL.encode(hash(of: verifier))
    }
}

/// What the browser of a user asks a provider for (RFC 6749, 4.1.1; OpenID Connect Core 1.0, 3.1.2.1).
struct AuthorizationRequest: Hashable, Sendable {
    let state: String
    /// What the exchange proves that it belongs to this request with.
    let verifier: String
    /// What the id token has to have; nil for a provider without id tokens.
    let nonce: String?

    init(for kind: ProviderKind) {
        state = FlowSecret.draw()
        verifier = FlowSecret.draw()
        nonce = kind.hasIDTokens ? FlowSecret.draw() : nil
    }

    /// The address with the request in its query.
    func url(at address: WebAddress, of flow: ProviderFlow, _ purpose: ProviderFlowPurpose) -> String {
        var fields: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", flow.clientID), ("redirect_uri", flow.callback),
            ("scope", flow.scopes.joined(separator: " ")), ("state", state),
            ("code_challenge", FlowSecret.challenge(of: verifier)), ("code_challenge_method", "S256"),
        ]
        if let nonce { fields.append(("nonce", nonce)) }
        // With a name or an address among the scopes Apple sends its response no other way.
        if flow.kind == .apple { fields.append(("response_mode", "form_post")) }
        // Google gives a refresh token to those who ask for one.
        if flow.kind == .google, flow.keepsTokens { fields.append(("access_type", "offline")) }
        if purpose == .stepUp {
            switch flow.kind {
            case .openID, .google, .apple:
                // With an age asked for, the id token says when the user signed in (OpenID Connect Core 1.0, 3.1.2.1).
                fields.append(("prompt", "login"))
                fields.append(("max_age", "\(Elevation.lifetime)"))
                if flow.kind == .google {
                    // Google says it to those who ask for the claim.
                    fields.append(("claims", #"{"id_token":{"auth_time":{"essential":true}}}"#))
                }
            case .facebook: fields.append(("auth_type", "reauthenticate"))
            case .github, .twitter: break
            }
        }
        return address.adding(fields)
    }
}

/// What a provider has the browser bring back.
package struct AuthorizationResponse: Hashable, Sendable {
    /// The largest of its parts, in bytes.
    package static let maximumBytes = 4096

    package var state: String?
    package var code: String?
    package var error: String?
    /// By which name the provider calls itself (RFC 9207).
    package var issuer: String?
    /// What Apple says of the user the first time, an object.
    package var user: String?

    /// - Parameter field: the value of a field of the query or the form.
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

    /// The code; throws what the response says instead, or what is wrong with it.
    ///
    /// - Parameters:
    ///   - issuers: by which names the provider calls itself; none where it has none, and is recognised by the path alone.
    ///   - namesIssuer: whether each response of the provider names it.
    func code(from issuers: [String], namesIssuer: Bool) throws(FlowFault) -> String {
        if !issuers.isEmpty {
            if let issuer {
                guard issuers.contains(where: { $0.isSameText(as: issuer) }) else {
                    throw FlowFault(.serverError, "the response is of another provider")
                }
            } else if namesIssuer {
                throw FlowFault(.serverError, "the response does not name the provider")
            }
        }
        switch error {
        case nil: break
        // Apple's and Facebook's words for a user who turns back.
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
