package import SkyrowActions
package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowRemote
package import SkyrowSystem

/// A client secret in a setting.
package struct ProviderSecret: Sendable {
    package let name: String
    package let secret: Secret

    /// Parses `google=GOCSPX-…`.
    init?(_ text: Substring) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ProviderEntry.isName(parts[0]), (1...4096).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        name = String(parts[0])
        secret = Secret(String(parts[1]))
    }
}

/// A provider in a setting.
package struct ProviderEntry: Hashable, Sendable {
    package var name: String
    package var kind: ProviderKind
    /// The issuer; nil for providers without id tokens.
    package var issuer: WebAddress?
    package var keys: WebAddress?
    package var clientIDs: [String]
    package var algorithms: [SignatureAlgorithm] = [.rs256]
    package var allowsLogIn = true
    package var allowsSignUp = true
    package var trustsEmail = false
    package var saysSignInTime = true
    package var keepsTokens = false
    package var domains: [String] = []
    package var redirects: [RegisteredRedirect] = []
    /// The scopes; nil for the defaults of the kind.
    package var scopes: [String]?
    /// Additional scopes that a sign-in may request.
    package var furtherScopes: [String] = []
    /// Addresses that replace those of the provider's document or kind.
    package var authorization: WebAddress?
    package var token: WebAddress?
    package var user: WebAddress?
    package var emails: WebAddress?
    /// Apple's team and key id.
    package var team: String?
    package var keyID: String?

    /// Parses entries separated by semicolons; nil if one is invalid or a name occurs twice.
    static func list(_ text: String) -> [ProviderEntry]? {
        let texts = text.split(separator: ";")
        let entries = texts.compactMap { ProviderEntry($0) }
        let isFit = (1...20).contains(entries.count) && entries.count == texts.count
        return isFit && Set(entries.map(\.name)).count == entries.count ? entries : nil
    }

    private init?(_ text: Substring) {
        let words = text.split { $0.isWhitespace }
        guard let name = words.first, ProviderEntry.isName(name) else { return nil }
        var values: [Substring: Substring] = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty, values.updateValue(parts[1], forKey: parts[0]) == nil else {
                return nil
            }
        }
        func texts(_ key: String) -> [String]? {
            values.removeValue(forKey: key[...])?.split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
        }
        guard let clientIDs = texts("client-ids"), clientIDs.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.name = String(name)
        self.clientIDs = clientIDs
        kind = .openID
        // Loopback addresses are for development mode, which is checked elsewhere.
        for (key, path) in [
            ("issuer", \ProviderEntry.issuer), ("keys", \.keys), ("authorize", \.authorization), ("token", \.token),
            ("user", \.user), ("emails", \.emails),
        ] {
            guard let text = values.removeValue(forKey: key[...]) else { continue }
            guard let address = WebAddress(String(text), allowsLoopback: true) else { return nil }
            self[keyPath: path] = address
        }
        if let issuer, issuer.description.contains("?") { return nil }
        if let text = values.removeValue(forKey: "kind") {
            guard let kind = ProviderKind(rawValue: String(text)) else { return nil }
            self.kind = kind
        } else {
            kind = issuer == nil ? ProviderKind(rawValue: self.name) ?? .openID : .openID
        }
        if issuer == nil { issuer = kind.issuers.first.flatMap { WebAddress($0) } }
        guard kind.hasIDTokens == (issuer != nil) else { return nil }
        if let names = texts("algorithms") {
            algorithms = names.compactMap { SignatureAlgorithm(rawValue: $0) }.filter { $0 != .hs256 }
            guard !algorithms.isEmpty, algorithms.count == names.count else { return nil }
        }
        for (key, path) in [
            ("login", \ProviderEntry.allowsLogIn), ("sign-up", \.allowsSignUp), ("trust-email", \.trustsEmail),
            ("keep-tokens", \.keepsTokens), ("auth-time", \.saysSignInTime),
        ] {
            switch values.removeValue(forKey: key[...]) {
            case nil: break
            case "on": self[keyPath: path] = true
            case "off": self[keyPath: path] = false
            default: return nil
            }
        }
        if let names = texts("domains") {
            guard names.allSatisfy({ MailAddress("x@\($0)") != nil }) else { return nil }
            domains = names
        }
        if let addresses = texts("redirects") {
            redirects = addresses.compactMap { RegisteredRedirect($0) }
            guard (1...50).contains(addresses.count), redirects.count == addresses.count else { return nil }
        }
        scopes = texts("scopes")
        furtherScopes = texts("further-scopes") ?? []
        let areScopes = ((scopes ?? []) + furtherScopes).allSatisfy { name in
            !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        }
        guard areScopes else { return nil }
        team = values.removeValue(forKey: "team").map(String.init)
        keyID = values.removeValue(forKey: "key-id").map(String.init)
        guard values.isEmpty else { return nil }
    }

    /// Returns whether the text is a letter followed by letters, digits and hyphens, and not the reserved name of
    /// custom tokens.
    static func isName(_ text: Substring) -> Bool {
        guard (1...32).contains(text.utf8.count), text != AccountIdentity.customToken[...],
            let first = text.utf8.first, (0x61...0x7a).contains(first)
        else { return false }
        return text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
    }

    /// All addresses that the service fetches.
    fileprivate var addresses: [WebAddress] {
        [issuer, keys, authorization, token, user, emails].compactMap { $0 }
    }

    /// Returns the addresses that override the provider's document; nil if they depend on it.
    fileprivate func endpoints() -> ProviderEndpoints? {
        let ready = kind.addresses
        guard let authorization = authorization ?? ready.flatMap({ WebAddress($0.authorization) }),
            let token = token ?? ready.flatMap({ WebAddress($0.token) })
        else { return nil }
        return ProviderEndpoints(
            authorization: authorization,
            token: token,
            user: user ?? ready.flatMap { WebAddress($0.user) },
            emails: emails ?? ready.flatMap { $0.emails.flatMap { WebAddress($0) } },
            postsSecret: kind == .facebook || kind == .github || kind == .apple
        )
    }
}

/// The other settings that providers depend on.
package struct ProviderSurroundings: Sendable {
    /// Whether loopback providers are allowed.
    package var isDevelopment: Bool
    /// The service's URL for clients.
    package var publicURL: String?
    /// Whether account addresses are verified.
    package var verifiesAddresses: Bool
    /// The proxy through which providers are reached.
    package var proxy: WebProxy?

    package init(isDevelopment: Bool, publicURL: String? = nil, verifiesAddresses: Bool = false) {
        self.isDevelopment = isDevelopment
        self.publicURL = publicURL
        self.verifiesAddresses = verifiesAddresses
    }

    package init(_ settings: Settings) {
        isDevelopment = settings.records.isDevelopment
        publicURL = settings.mail.publicURL
        verifiesAddresses = settings.mail.verification != .off
        proxy = settings.outgoing.proxy
    }
}

extension SettingValues<ProviderSettings> {
    /// Returns the providers of an application.
    ///
    /// Throws ``ToolError`` for an entry that conflicts with other settings, or if libcurl is missing.
    package func configuration(_ surroundings: ProviderSurroundings) throws(ToolError) -> [ProviderConfiguration] {
        let entries = self.entries
        let secrets = self.secrets
        for secret in secrets where !entries.contains(where: { $0.name == secret.name }) {
            throw .configuration("provider-secrets: the provider \(secret.name) does not exist.")
        }
        guard !entries.isEmpty else { return [] }
        let fetcher: WebFetcher
        do throws(WebFailure) {
            fetcher = try WebFetcher(
                exceptions: self.networks,
                proxy: surroundings.proxy,
                timeout: TestPatience.isSet ? .seconds(3600) : .seconds(5)
            )
        } catch {
            throw .failure(error.description)
        }
        var configurations: [ProviderConfiguration] = []
        for entry in entries {
            let secret = secrets.first { $0.name == entry.name }?.secret
            configurations.append(try entry.configuration(secret, surroundings, fetcher))
        }
        return configurations
    }
}

extension ProviderEntry {
    fileprivate func configuration(
        _ secret: Secret?,
        _ surroundings: ProviderSurroundings,
        _ fetcher: WebFetcher
    ) throws(ToolError) -> ProviderConfiguration {
        guard surroundings.isDevelopment || !addresses.contains(where: \.isLoopback) else {
            throw .configuration("providers: \(name) has an address without TLS, which requires development mode.")
        }
        guard !trustsEmail || surroundings.verifiesAddresses else {
            throw .configuration(
                "providers: \(name) has trust-email=on, which requires verification: without it no account has a verified "
                    + "address."
            )
        }
        let source = issuer.map {
            ProviderKeySource(
                issuer: $0.description,
                address: keys,
                allowsLoopback: surroundings.isDevelopment,
                fetcher: fetcher
            )
        }
        return ProviderConfiguration(
            name: name,
            issuers: issuer.map { issuer in
                kind.issuers.contains(issuer.description) ? kind.issuers : [issuer.description]
            } ?? [],
            clientIDs: clientIDs,
            algorithms: algorithms,
            allowsLogIn: allowsLogIn,
            allowsSignUp: allowsSignUp,
            domains: domains,
            trustsEmail: trustsEmail,
            saysSignInTime: saysSignInTime,
            flow: try flow(secret, source, surroundings, fetcher),
            fetchKeys: {
                guard let source else { return .failure(WebFailure("The provider has no keys.")) }
                return await source.keys()
            }
        )
    }

    private func flow(
        _ secret: Secret?,
        _ source: ProviderKeySource?,
        _ surroundings: ProviderSurroundings,
        _ fetcher: WebFetcher
    ) throws(ToolError) -> ProviderFlow? {
        guard !redirects.isEmpty else {
            guard kind.hasIDTokens else {
                throw .configuration("providers: \(name) has no id tokens, and therefore requires redirects.")
            }
            return nil
        }
        guard let publicURL = surroundings.publicURL else {
            throw .configuration("providers: \(name) has redirects, which require public-url.")
        }
        let given = endpoints()
        let (user, emails) = (self.user, self.emails)
        var flow = ProviderFlow(
            kind: kind,
            clientID: clientIDs[0],
            authentication: try authentication(secret),
            scopes: scopes,
            redirects: redirects,
            callback: "\(publicURL)/auth/callback/\(name)",
            keepsTokens: keepsTokens,
            locate: {
                if let given { return .success(given) }
                guard let source else { return .failure(WebFailure("The provider has no document.")) }
                return await source.endpoints().map { found in
                    var endpoints = found
                    endpoints.user = user ?? found.user
                    endpoints.emails = emails
                    return endpoints
                }
            },
            send: { request in
                do throws(WebFailure) {
                    return .success(try await fetcher.response(to: request))
                } catch {
                    return .failure(error)
                }
            }
        )
        flow.furtherScopes = furtherScopes
        return flow
    }

    private func authentication(_ secret: Secret?) throws(ToolError) -> ClientAuthentication {
        switch kind {
        case .apple:
            guard let team, let keyID, let secret, let der = decodeBase64(Array(secret.exposed.utf8)),
                let key = ES256SigningKey(pkcs8: der)
            else {
                throw .configuration(
                    "providers: \(name) requires team, key-id, and the private key of the file AuthKey_….p8 in provider-secrets."
                )
            }
            return .apple(AppleClientKey(team: team, keyID: keyID, key: key))
        case .facebook, .github, .google:
            guard let secret else {
                throw .configuration("providers: \(name) has redirects, which require its secret in provider-secrets.")
            }
            return .secret(secret)
        case .openID, .twitter:
            return secret.map { .secret($0) } ?? .none
        }
    }
}
