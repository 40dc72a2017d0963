package import SkyrowHTTP
package import SkyrowModel

/// What stands between the service and its clients.
package struct ProxySettings: SettingGroup {
    package static let title = "Proxies"

    package init() {}

    package let trusted = Setting<[AddressRange]>(
        "trusted-proxies",
        [],
        shown: "",
        .text("ranges"),
        mustBe: "addresses and ranges such as 10.0.0.0/8,::1 with commas between them, with no bits beyond a length",
        "The proxies whose word about their clients is taken, as `10.0.0.0/8,::1`."
    ) { text in
        let ranges = text.split(separator: ",", omittingEmptySubsequences: false).map { AddressRange($0) }
        let known = ranges.compactMap { $0 }
        return known.count == ranges.count ? known : nil
    }

    package let masterNetworks = Setting<[AddressRange]>(
        "master-key-networks",
        ClientIdentification.loopback,
        shown: "127.0.0.0/8,::1",
        .text("ranges"),
        mustBe: "addresses and ranges such as 10.0.0.0/8,::1 with commas between them, with no bits beyond a length",
        """
        From where the master key counts; from anywhere else it is refused like a wrong one. The client's address counts, behind \
        proxies the one that they say; `0.0.0.0/0,::/0` is everywhere.
        """
    ) { text in
        let ranges = text.split(separator: ",", omittingEmptySubsequences: false).map { AddressRange($0) }
        let known = ranges.compactMap { $0 }
        return known.count == ranges.count ? known : nil
    }

    package let header = Setting(
        "forwarded-header",
        TrustedProxies.Header.forwardedFor,
        shown: TrustedProxies.Header.forwardedFor.rawValue,
        .choice("name", of: TrustedProxies.Header.allCases.map(\.rawValue)),
        mustBe: TrustedProxies.Header.allCases.map(\.rawValue).joined(separator: " or "),
        "The header that they write; the other one is ignored."
    ) { TrustedProxies.Header(rawValue: $0.lowercased()) }
}
