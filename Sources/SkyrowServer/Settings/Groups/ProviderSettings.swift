package import SkyrowActions
package import SkyrowModel

/// Settings of identity providers.
package final class ProviderSettings: SettingGroup {
    package static let title = "Providers"

    package init() {}

    package let entries = Setting<[ProviderEntry]>(
        "providers",
        [],
        shown: "",
        .text("providers"),
        mustBe:
            "providers separated by semicolons, each a name with issuer=https://… (except google, apple, facebook, github and "
            + "twitter), client-ids=…, and options of the section Providers of Operations.md",
        """
        The providers that users log in with: `google client-ids=123.apps.googleusercontent.com`, or any OpenID Connect \
        provider, `own issuer=https://id.example.org client-ids=web`. `google`, `apple`, `facebook`, `github` and `twitter` need \
        no `issuer`. With `redirects=https://app.example.org/in` users sign in through their browsers. `algorithms` is RS256 by \
        default; `keys` is the address of the signing keys, by default that in the provider's document. With `login=off` users \
        cannot log in with it, and with `sign-up=off` it does not create accounts. The section "Providers" of Operations.md has \
        all options. Each application has its own; these are those of the default one.
        """
    ) {
        ProviderEntry.list($0)
    }.ofEachApplication

    package let secrets = Setting<[ProviderSecret]>(
        "provider-secrets",
        [],
        shown: "",
        .text("secrets"),
        mustBe: "up to 20 secrets separated by spaces or line breaks, each the name of a provider, = and the secret",
        """
        The client secrets for the exchange of codes: `google=GOCSPX-… github=…`. That of `apple` is the private key of a file \
        AuthKey_….p8, in base64 without the first and the last line. Each application has its own; these are those of the \
        default one.
        """
    ) { text in
        let texts = text.split { $0.isWhitespace }
        let secrets = texts.compactMap { ProviderSecret($0) }
        let isFit = (1...20).contains(texts.count) && secrets.count == texts.count
        return isFit && Set(secrets.map(\.name)).count == secrets.count ? secrets : nil
    }.secret(hasFlag: false).ofEachApplication

    package let networks = Setting.ranges(
        "provider-networks",
        [],
        valueName: "networks",
        mustBe: "addresses and ranges separated by commas, such as 10.1.0.0/16",
        """
        The private networks that providers may be in. Otherwise their documents are fetched only from public addresses.
        """
    )

    package let customTokenKeys = Setting<[CustomTokenKey]>(
        "custom-token-keys",
        [],
        shown: "",
        .text("keys"),
        mustBe:
            "up to 10 keys separated by spaces or line breaks, HS256:<base64 of at least 32 bytes>, RS256:<key> or ES256:<key> "
            + "with the base64 lines of a PEM public key, each with an optional name and = before it",
        """
        The keys for tokens that the application's own server signs for `sso:custom_token:login`: `HS256:` and a secret, or \
        `RS256:` or `ES256:` and a public key, in base64. Several are valid at once, so that a key can be replaced without an \
        interruption. Each application has its own; these are those of the default one.
        """
    ) { text in
        let texts = text.split { $0.isWhitespace }
        let keys = texts.compactMap { CustomTokenKey(String($0)) }
        return (1...10).contains(texts.count) && keys.count == texts.count ? keys : nil
    }.secret(hasFlag: false).ofEachApplication
}
