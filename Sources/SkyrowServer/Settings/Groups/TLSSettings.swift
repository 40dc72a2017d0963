package import SkyrowHTTP
package import SkyrowSystem

/// Settings of HTTPS and HTTP/2.
package final class TLSSettings: SettingGroup {
    package static let title = "TLS"

    package init() {}

    package let certificate = Setting<String?>.file(
        "tls-certificate",
        "The certificate to serve HTTPS and HTTP/2 with, PEM, and after it those that lead to one that clients know."
    )

    package let key = Setting<String?>.file("tls-key", "Its private key, PEM, without a passphrase.")

    package let strictTransport = Setting.duration(
        "hsts-max-age",
        .seconds(365 * 86_400),
        in: .zero...(.seconds(3650 * 86_400)),
        or: "none",
        "How long browsers that came over TLS refuse to come without (HSTS); `0s` has them forget, `none` sends nothing."
    )

    package static func check(_ settings: SettingValues<TLSSettings>) throws(ToolError) {
        guard (settings.certificate == nil) == (settings.key == nil) else {
            throw .configuration("tls-certificate and tls-key belong together: give both, or neither.")
        }
    }
}

extension SettingValues<TLSSettings> {
    /// The certificate files; nil to serve without TLS.
    package var files: CertificateFiles? {
        guard let certificate = self.certificate, let key = self.key else { return nil }
        return CertificateFiles(certificate: certificate, key: key)
    }
}
