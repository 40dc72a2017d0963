package import SkyrowActions

/// Settings of rate limits.
package final class RateLimitSettings: SettingGroup {
    package static let title = "Rate limits"

    package init() {}

    package let client = rateLimit(
        "rate-limit-client",
        RateLimit(60_000, per: .seconds(60)),
        "The rate of calls of one client: an IPv4 address, or an IPv6 network of `client-prefix-ipv6` bits."
    )
    package let user = rateLimit("rate-limit-user", nil, "The rate of calls of one user, from all addresses.")
    package let login = rateLimit(
        "rate-limit-login",
        RateLimit(60, per: .seconds(60)),
        "The rate of signups, logins and password changes of one client."
    )

    private static func rateLimit(_ name: String, _ defaultValue: RateLimit?, _ sentence: String) -> Setting<RateLimit?>
    {
        Setting(
            name,
            defaultValue,
            shown: defaultValue.map(RateLimitText.text) ?? "off",
            .text("rate"),
            mustBe: "'off', or calls per second, minute or hour, such as 100/s, 600/m or 1000/h",
            sentence
        ) { text in
            text == "off" ? .some(nil) : RateLimitText.limit(text).map { .some($0) }
        }.reloading.ofApplications
    }
}

/// The text form of rates: `600/m` allows a burst of 600, then one every tenth of a second.
enum RateLimitText {
    private static let units: [(name: String, period: Duration)] = [
        ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3600)),
    ]

    static func limit(_ text: String) -> RateLimit? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count),
            let unit = units.first(where: { $0.name == parts[1] })
        else { return nil }
        return RateLimit(count, per: unit.period)
    }

    static func text(_ limit: RateLimit) -> String {
        let unit = units.first { $0.period == limit.period }
        return "\(limit.count)/\(unit?.name ?? "\(limit.period)")"
    }
}
