import SkyrowHTTP
import SkyrowModel

/// What a service reports about itself.
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
        Who may read `/metrics`: holders of a `key`, all (`open`), none (`off`); or an address that it has to itself, \
        where this machine alone needs no key, such as 127.0.0.1:9464.
        """,
        parse: MetricsAccess.init(text:)
    )

    package let metricsKey = Setting.key(
        "metrics-key",
        minimumLength: 16,
        "Opens `/metrics` and nothing else, so that monitoring needs no master key."
    )

    package let slowStatement = Setting(
        "slow-statement",
        Optional(Duration.seconds(1)),
        shown: "1s",
        .text("duration"),
        mustBe: "a duration such as 500ms, 0 for every statement, or 'off'",
        "Statements that run at least as long are logged, without their values; 0 logs all, `off` none.",
        parse: ObservabilitySettings.threshold
    )

    package let traceFile = Setting.file(
        "trace-file",
        "Where spans are written, one JSON document of OpenTelemetry a line; without it nothing is traced."
    )

    package let traceRatio = Setting(
        "trace-ratio",
        1.0,
        shown: "1",
        .text("part"),
        mustBe: "a number from 0 to 1",
        "Which part of the traces is written; one whose caller does not record it never is."
    ) { text in
        Double(text).flatMap { (0...1).contains($0) ? $0 : nil }
    }

    package let traceFileSize = Setting.integer(
        "trace-file-size",
        256 << 20,
        in: 1 << 16...1 << 40,
        unit: "bytes",
        "At which size, in bytes, the file of spans is renamed to `<path>.1` and begun anew."
    )

    @Sendable private static func threshold(_ text: String) -> Duration?? {
        if text.lowercased() == "off" { return .some(nil) }
        return DurationText.duration(text).map { .some($0) }
    }
}

/// Who may read the metrics, and where.
package enum MetricsAccess: Hashable, Sendable {
    /// Holders of the metrics key or the master key, on the service's own port.
    case keyHolders
    /// Everybody, on the service's own port.
    case everybody
    case nobody
    /// Those who reach that address, on which nothing else is served; holders of a key when other machines can.
    case address(host: String, port: Int)

    /// `key`, `open`, `off`, `127.0.0.1:9464`, `[::1]:9464`; nil for anything else.
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
            // Without brackets it is unclear which colon ends an IPv6 address.
            let hasColon = host.contains(":")
            guard !host.isEmpty, hasColon == isBracketed, !host.contains(where: { $0.isWhitespace || $0 == "/" }) else {
                return nil
            }
            self = .address(host: String(host), port: port)
        }
    }

    /// Whether readers must show a key.
    ///
    /// - Parameter hasOne: whether there is a key for metrics alone.
    func needsKey(hasOne: Bool) -> Bool {
        switch self {
        case .keyHolders, .nobody: true
        case .everybody: false
        // An address for this machine alone is a fence of its own; with a key there are two.
        case .address(let host, _): hasOne || !MetricsAccess.isLoopback(host)
        }
    }

    /// Whether `host` is an address, or the name, that a machine has for itself alone.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let address = ClientAddress(host) else { return false }
        return ["127.0.0.0/8", "::1"].contains { AddressRange($0)?.contains(address) == true }
    }
}
