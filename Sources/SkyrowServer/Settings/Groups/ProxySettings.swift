package import SkyrowHTTP
package import SkyrowModel

/// Settings of proxies between the service and its clients.
package final class ProxySettings: SettingGroup {
    package static let title = "Proxies"

    package init() {}

    package let trusted = Setting.ranges(
        "trusted-proxies",
        [],
        "The proxies whose headers about clients are trusted, such as `10.0.0.0/8,::1`."
    )

    package let masterNetworks = Setting.ranges(
        "master-key-networks",
        ClientIdentification.loopback,
        shown: "127.0.0.0/8,::1",
        """
        The client addresses from which the master key is accepted; from others it is refused like a wrong one. Behind proxies \
        the address is the one that they report; `0.0.0.0/0,::/0` is everywhere.
        """
    )

    package let header = Setting(
        "forwarded-header",
        TrustedProxies.Header.forwardedFor,
        shown: TrustedProxies.Header.forwardedFor.rawValue,
        .choice("name", of: TrustedProxies.Header.allCases.map(\.rawValue)),
        mustBe: TrustedProxies.Header.allCases.map(\.rawValue).joined(separator: " or "),
        "The header that the proxies write; the other one is ignored."
    ) { TrustedProxies.Header(rawValue: $0.lowercased()) }
}
