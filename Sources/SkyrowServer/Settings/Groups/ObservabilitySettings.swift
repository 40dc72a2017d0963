import SkyrowHTTP
import SkyrowModel

/// Settings of metrics and traces.
package final class ObservabilitySettings: SettingGroup {
    package static let title = "Observability"

    package init() {}

    package let metrics = Setting(
        "metrics",
        MetricsAccess.keyHolders,
        shown: "key",
        .text("access"),
        mustBe: "'key', 'open', 'off', or an address with a port such as 127.0.0.1:9464",
        """
        Who may read `/metrics`: holders of a `key`, everyone (`open`) or no client (`off`); or a separate address such as \
        127.0.0.1:9464, where requests from this machine need no key.
        """,
        parse: MetricsAccess.init(text:)
    )

    package let metricsKey = Setting.key(
        "metrics-key",
        minimumLength: 16,
        "A key for `/metrics` only, so that monitoring does not need the master key."
    )

    package let slowStatement = Setting(
        "slow-statement",
        Optional(Duration.seconds(1)),
        shown: "1s",
        .text("duration"),
        mustBe: "a duration such as 500ms, 0 for every statement, or 'off'",
        "Statements that run at least this long are logged, without their values; 0 logs all, `off` none.",
        parse: ObservabilitySettings.threshold
    )

    package let traceFile = Setting.file(
        "trace-file",
        "The file for spans, one OpenTelemetry JSON document per line; without it nothing is traced."
    )

    package let traceRatio = Setting(
        "trace-ratio",
        1.0,
        shown: "1",
        .text("part"),
        mustBe: "a number from 0 to 1",
        "The fraction of traces that are written; traces that the caller does not sample are not."
    ) { text in
        Double(text).flatMap { (0...1).contains($0) ? $0 : nil }
    }

    package let traceFileSize = Setting.integer(
        "trace-file-size",
        256 << 20,
        in: 1 << 16...1 << 40,
        unit: "bytes",
        "The size, in bytes, at which the file is renamed to `<path>.1` and a new one is started."
    )

    @Sendable private static func threshold(_ text: String) -> Duration?? {
        if text.lowercased() == "off" { return .some(nil) }
        return DurationText.duration(text).map { .some($0) }
    }
}

/// The access to metrics.
package enum MetricsAccess: Hashable, Sendable {
    /// Requests with the metrics key or the master key, on the service's own port.
    case keyHolders
    /// All requests, on the service's own port.
    case everybody
    case nobody
    /// Requests to a separate address; they need a key if other machines can connect to it.
    case address(host: String, port: Int)

    /// Parses `key`, `open`, `off`, `127.0.0.1:9464` or `[::1]:9464`; nil for anything else.
    @Sendable init?(text: String) {
        switch text {
        case "key": self = .keyHolders
        case "open": self = .everybody
        case "off": self = .nobody
        default:
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (0...65535).contains(port)
            else { return nil }
            var host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            if isBracketed { host = host.dropFirst().dropLast() }
            // An IPv6 address without brackets has no unambiguous port.
            let hasColon = host.contains(":")
            guard !host.isEmpty, hasColon == isBracketed, !host.contains(where: { $0.isWhitespace || $0 == "/" }) else {
                return nil
            }
            self = .address(host: String(host), port: port)
        }
    }

    /// Returns whether requests need a key.
    ///
    /// - Parameter hasOne: Whether there is a metrics key.
    func needsKey(hasOne: Bool) -> Bool {
        switch self {
        case .keyHolders, .nobody: true
        case .everybody: false
        // A loopback address is protection enough; a metrics key is required in addition if set.
        case .address(let host, _): hasOne || !MetricsAccess.isLoopback(host)
        }
    }

    /// Returns whether `host` is `localhost` or a loopback address.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let address = ClientAddress(host) else { return false }
        return ["127.0.0.0/8", "::1"].contains { AddressRange($0)?.contains(address) == true }
    }
}
