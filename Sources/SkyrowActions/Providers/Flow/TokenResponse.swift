import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote

/// A provider's response to a code (RFC 6749, 5.1; OpenID Connect Core 1.0, 3.1.3.3).
struct TokenResponse: Hashable, Sendable {
    let accessToken: String
    let idToken: String?
    /// The whole response, a JSON object.
    let text: JSONText

    /// Throws ``FlowFault`` for an invalid response, including GitHub's errors with the status 200.
    init(_ response: WebResponse) throws(FlowFault) {
        guard response.status == 200 else {
            throw FlowFault(
                response.status >= 500 || response.status == 429 ? .temporarilyUnavailable : .serverError,
                "the code exchange had the status \(response.status)"
            )
        }
        guard let json = try? JSONDocument(response.bytes, depthLimit: 16) else {
            throw FlowFault(.serverError, "the response with the tokens is not JSON")
        }
        let read = json.withRoot { root -> (String, String?, JSONText)? in
            guard root.isObject, root.uniqueMembers.count == root.count, root["error"] == nil,
                let token = root["access_token"]?.string, Self.isToken(token),
                root["token_type"].map({ $0.string?.lowercased() == "bearer" }) ?? true
            else { return nil }
            return (token, root["id_token"]?.string, root.jsonText)
        }
        guard let read else { throw FlowFault(.serverError, "the response has no access token") }
        (accessToken, idToken, text) = read
    }

    /// Returns whether the text may be in a header field (RFC 6750, 2.1).
    private static func isToken(_ text: String) -> Bool {
        (1...ProviderToken.maximumBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

/// The request that exchanges a code (RFC 6749, 4.1.3), with client authentication (2.3.1).
struct TokenRequest: Sendable {
    let code: String
    let verifier: String

    /// - Parameter now: in seconds since 1970.
    func request(of flow: ProviderFlow, to endpoints: ProviderEndpoints, at now: Int64) throws(FlowFault) -> WebRequest
    {
        var form: [(name: String, value: String)] = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", flow.callback),
            ("code_verifier", verifier),
        ]
        var fields: [(name: String, value: String)] = [("Accept", "application/json")]
        let secret: String
        switch flow.authentication {
        case .none:
            return WebRequest(endpoints.token, fields: fields, form: form + [("client_id", flow.clientID)])
        case .secret(let given): secret = given.exposed
        case .apple(let key):
            guard let made = key.secret(of: flow.clientID, at: now) else {
                throw FlowFault(.serverError, "the client secret could not be created")
            }
            secret = made
        }
        if endpoints.postsSecret {
            form += [("client_id", flow.clientID), ("client_secret", secret)]
        } else {
            let pair = "\(WebForm.encoded(flow.clientID)):\(WebForm.encoded(secret))"
            fields.append(("Authorization", "Basic \(encodeBase64(Array(pair.utf8)))"))
        }
        return WebRequest(endpoints.token, fields: fields, form: form)
    }
}
