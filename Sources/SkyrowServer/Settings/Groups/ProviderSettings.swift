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
            "providers with a semicolon between them, each a name with issuer=https://… (but google, apple, facebook, github and twitter) and "
            + "client-ids=…, and if need be with the options that the section Providers of Operations.md has",
        """
        The providers that users log in by: `google client-ids=123.apps.googleusercontent.com`, or any of OpenID Connect, \
        `own issuer=https://id.example.org client-ids=web`. `google`, `apple`, `facebook`, `github` and `twitter` need no `issuer`. \
        With `redirects=https://app.example.org/in` users sign in by way of their browsers. `algorithms` is RS256 unless \
        others are named; `keys` is where the signing keys are, which the provider's own document says where it is not given. With \
        `login=off` users do not log in by it, and with `sign-up=off` it makes no accounts. The section "Providers" of \
        Operations.md has all options. Each application has its own; these are those of the default one.
        """
    ) {
        ProviderEntry.list($0)
    }.ofEachApplication

    package let secrets = Setting<[ProviderSecret]>(
        "provider-secrets",
        [],
        shown: "",
        .text("secrets"),
        mustBe: "up to 20 secrets with spaces or line breaks between them, each a name of providers, = and the secret",
        """
        The secrets of clients, which the exchange of a code takes: `google=GOCSPX-… github=…`. That of `apple` is the private key of a \
        file AuthKey_….p8, in base64 without the first and the last line. Each application has its own; these are those of \
        the default one.
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
        mustBe: "addresses and ranges such as 10.1.0.0/16 with commas between them",
        """
        The private networks that providers may be in. Their documents are fetched from nowhere else but public addresses, whatever \
        their names say.
        """
    )

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
