package import SkyrowActions
package import SkyrowCrypto
package import SkyrowModel
package import SkyrowRemote
package import SkyrowSystem

/// By whose word users log in.
package struct ProviderSettings: SettingGroup {
    package static let title = "Providers"

    package init() {}

    package let entries = Setting<[ProviderEntry]>(
        "providers",
        [],
        shown: "",
        .text("providers"),
        mustBe:
            "providers with a semicolon between them, each a name with issuer=https://… and client-ids=…, and if need be with keys=https://…, "
            + "algorithms=RS256,PS256,ES256,EdDSA, login=off or sign-up=off",
        """
        The providers of OpenID Connect that users log in by: `google issuer=https://accounts.google.com \
        client-ids=123.apps.googleusercontent.com`. `algorithms` is RS256 unless others are named; `keys` is where the signing keys \
        are, which the provider's own document says where it is not given. With `login=off` users do not log in by it, and with \
        `sign-up=off` it makes no accounts. Each application has its own; these are those of the default one.
        """
    ) {
        ProviderEntry.list($0)
    }.ofEachApplication

    package let networks = Setting<[AddressRange]>(
        "provider-networks",
        [],
        shown: "",
        .text("networks"),
        mustBe: "addresses and ranges such as 10.1.0.0/16 with commas between them",
        """
        The private networks that providers may be in. Their documents are fetched from nowhere else but public addresses, whatever \
        their names say.
        """
    ) { text in
        let texts = text.split(separator: ",", omittingEmptySubsequences: false)
        let ranges = texts.compactMap { AddressRange(String($0)) }
        return ranges.count == texts.count ? ranges : nil
    }

    package let customTokenKeys = Setting<[CustomTokenKey]>(
        "custom-token-keys",
        [],
        shown: "",
        .text("keys"),
        mustBe:
            "up to 10 keys with spaces or line breaks between them, HS256:<base64 of at least 32 bytes>, RS256:<key> or ES256:<key> with "
            + "the base64 lines of a public key in PEM, each with a name and = before it if need be",
        """
        The keys by which a server of the application's own signs tokens for `sso:custom_token:login`: `HS256:` and a secret, or \
        `RS256:` or `ES256:` and a public key, in base64. Several hold at once, so that one replaces the other without an \
        interruption. Each application has its own; these are those of the default one.
        """
    ) { text in
        let texts = text.split { $0.isWhitespace }
        let keys = texts.compactMap { CustomTokenKey(String($0)) }
        return (1...10).contains(texts.count) && keys.count == texts.count ? keys : nil
    }.secret(hasFlag: false).ofEachApplication
}

/// A provider as a setting names it.
package struct ProviderEntry: Hashable, Sendable {
    package var name: String
    package var issuer: WebAddress
    package var keys: WebAddress?
    package var clientIDs: [String]
    package var algorithms: [SignatureAlgorithm] = [.rs256]
    package var allowsLogIn = true
    package var allowsSignUp = true

    /// Entries with a semicolon between them; nil where one is wrong or a name comes twice.
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
        // An address of the machine itself is for development, which is not known here.
        guard
            let issuer = values.removeValue(forKey: "issuer").flatMap({ WebAddress(String($0), allowsLoopback: true) }),
            !issuer.description.contains("?"),
            let clientIDs = values.removeValue(forKey: "client-ids")?
                .split(separator: ",", omittingEmptySubsequences: false).map(String.init),
            clientIDs.allSatisfy({ !$0.isEmpty })
        else { return nil }
        self.name = String(name)
        self.issuer = issuer
        self.clientIDs = clientIDs
        if let text = values.removeValue(forKey: "keys") {
            guard let address = WebAddress(String(text), allowsLoopback: true) else { return nil }
            keys = address
        }
        if let text = values.removeValue(forKey: "algorithms") {
            let names = text.split(separator: ",", omittingEmptySubsequences: false)
            algorithms = names.compactMap { SignatureAlgorithm(rawValue: String($0)) }.filter { $0 != .hs256 }
            guard !algorithms.isEmpty, algorithms.count == names.count else { return nil }
        }
        for (key, path) in [("login", \ProviderEntry.allowsLogIn), ("sign-up", \.allowsSignUp)] {
            switch values.removeValue(forKey: key[...]) {
            case nil, "on": break
            case "off": self[keyPath: path] = false
            default: return nil
            }
        }
        guard values.isEmpty else { return nil }
    }

    /// A letter, then letters, digits and hyphens; not the name under which the identities of custom tokens are stored.
    private static func isName(_ text: Substring) -> Bool {
        guard (1...32).contains(text.utf8.count), text != AccountIdentity.customToken[...],
            let first = text.utf8.first, (0x61...0x7a).contains(first)
        else { return false }
        return text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
    }
}

extension SettingValues<ProviderSettings> {
    /// The providers of an application.
    ///
    /// Throws ``ToolError`` about one of the machine itself outside of development mode, and where libcurl is missing.
    ///
    /// - Parameter isDevelopment: whether providers may be on the machine itself.
    package func configuration(isDevelopment: Bool) throws(ToolError) -> [ProviderConfiguration] {
        let entries = self.entries
        guard !entries.isEmpty else { return [] }
        let fetcher: WebFetcher
        do throws(WebFailure) {
            fetcher = try WebFetcher(exceptions: self.networks)
        } catch {
            throw .failure(error.description)
        }
        var configurations: [ProviderConfiguration] = []
        for entry in entries {
            guard isDevelopment || !entry.issuer.isLoopback && entry.keys?.isLoopback != true else {
                throw .configuration("providers: \(entry.name) is reached without TLS, which takes development mode.")
            }
            let source = ProviderKeySource(
                issuer: entry.issuer.description,
                address: entry.keys,
                allowsLoopback: isDevelopment,
                fetcher: fetcher
            )
            configurations.append(
                ProviderConfiguration(
                    name: entry.name,
                    issuers: [entry.issuer.description],
                    clientIDs: entry.clientIDs,
                    algorithms: entry.algorithms,
                    allowsLogIn: entry.allowsLogIn,
                    allowsSignUp: entry.allowsSignUp,
                    fetchKeys: { await source.keys() }
                )
            )
        }
        return configurations
    }
}
