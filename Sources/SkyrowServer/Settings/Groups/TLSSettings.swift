package import SkyrowHTTP
package import SkyrowSystem

/// Settings of HTTPS and HTTP/2.
package final class TLSSettings: SettingGroup {
    package static let title = "TLS"

    package init() {}

    package let certificate = Setting<String?>.file(
        "tls-certificate",
        "The certificate for HTTPS and HTTP/2 in PEM, followed by its intermediate certificates."
    )

    package let key = Setting<String?>.file("tls-key", "Its private key in PEM, without a passphrase.")

    package let strictTransport = Setting.duration(
        "hsts-max-age",
        .seconds(365 * 86_400),
        in: .zero...(.seconds(3650 * 86_400)),
        or: "none",
        "How long browsers that connected over TLS refuse connections without it (HSTS); `0s` makes them forget, `none` sends "
            + "nothing."
    )

    package static func check(_ settings: SettingValues<TLSSettings>) throws(ToolError) {
        guard (settings.certificate == nil) == (settings.key == nil) else {
            throw .configuration("tls-certificate and tls-key must be set together, or not at all.")
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
