import SkyrowActions
package import SkyrowHTTP
package import SkyrowSystem

/// Settings of the listening address, and limits of client requests.
package final class ListeningSettings: SettingGroup {
    package static let title = "Clients"

    package init() {}

    package let host = Setting(
        "host",
        "127.0.0.1",
        shown: "127.0.0.1",
        .text("address"),
        mustBe: "a host name or an address",
        "The address to listen on; 0.0.0.0 is every address of this machine."
    ) { text in
        text.isEmpty || text.contains(where: { $0.isWhitespace || $0 == "/" }) ? nil : text
    }

    package let port = Setting.integer("port", 3000, in: 0...65535, "The port to listen on; 0 selects a free port.")

    package let corsOrigins = Setting(
        "cors-origins",
        CORSPolicy.anyOrigin,
        shown: "*",
        .text("origins"),
        mustBe: "'*', 'none', or origins such as https://app.example, separated by commas",
        "The origins whose web pages may call the service: `*`, `none`, or a list.",
        parse: ListeningSettings.corsPolicy
    )

    package let maximumBody = Setting.integer(
        "maximum-body",
        8 << 20,
        in: 1024...1 << 30,
        unit: "bytes",
        "The maximum size of a request body, in bytes."
    )

    package let maximumBodyMemory = Setting.integer(
        "maximum-body-memory",
        256 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        "The maximum total size of requests in memory, in bytes."
    )

    package let maximumUnreadMemory = Setting.integer(
        "maximum-unread-memory",
        256 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        "The maximum size of responses that wait for slow clients, in bytes; beyond it, a client that reads nothing for a second "
            + "is disconnected."
    )

    package let maximumAnswer = Setting.integer(
        "maximum-answer",
        32 << 20,
        in: 1 << 20...1 << 30,
        unit: "bytes",
        "The maximum size of a response, in bytes, for one call or for all calls of a batch."
    )

    package let maximumAnswerMemory = Setting.integer(
        "maximum-answer-memory",
        128 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        "The maximum total size of results that are being built or wait for clients, in bytes; one client has at most half of it."
    )

    package let maximumHeader = Setting.integer(
        "maximum-header",
        64 << 10,
        in: 4096...1 << 20,
        unit: "bytes",
        "The maximum size of a request head, in bytes."
    )

    package let maximumConnections = Setting.integer(
        "maximum-connections",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of open connections."
    )

    package let clientShare = Setting.integer(
        "client-share",
        ClientShare.usualPercent,
        in: 1...100,
        unit: "percent",
        "The percentage of maximum-connections, maximum-body-memory and maximum-reads that one client may use."
    )

    package let minimumBodyRate = Setting.integer(
        "minimum-body-rate",
        1024,
        in: 0...1 << 30,
        unit: "bytes",
        "The minimum rate at which a request body must arrive, in bytes per second over ten seconds; 0 sets no limit."
    )

    package let ipv6Prefix = Setting.integer(
        "client-prefix-ipv6",
        ClientIdentification.usualPrefixLength,
        in: 32...128,
        unit: "bits",
        "The length of the IPv6 prefix that identifies one client, for limits and shares per client."
    )

    package static func check(_ settings: SettingValues<ListeningSettings>) throws(ToolError) {
        guard settings.maximumBody <= settings.maximumBodyMemory else {
            throw .configuration(
                "maximum-body must not exceed maximum-body-memory: no request of that size would fit."
            )
        }
        guard settings.maximumAnswer <= settings.maximumAnswerMemory / 4 else {
            throw .configuration(
                "maximum-answer-memory must be at least four times maximum-answer: building a response takes twice its size, and "
                    + "one client may use half of the memory."
            )
        }
    }

    /// Parses `*`, `none`, or the origins of web pages, separated by commas.
    @Sendable private static func corsPolicy(_ text: String) -> CORSPolicy? {
        switch text {
        case "*": return .anyOrigin
        case "none": return .off
        default:
            let origins = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let areOrigins = origins.allSatisfy { origin in
                guard let scheme = ["https://", "http://"].first(where: origin.hasPrefix) else { return false }
                let host = origin.dropFirst(scheme.count)
                return !host.isEmpty && !host.contains { $0 == "/" || $0.isWhitespace }
            }
            return areOrigins ? .origins(Set(origins)) : nil
        }
    }
}
