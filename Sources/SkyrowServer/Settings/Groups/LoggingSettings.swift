package import Logging

/// Settings of the service's log on standard error.
package final class LoggingSettings: SettingGroup {
    package static let title = "Logging"

    package init() {}

    private static let levels = Logger.Level.allCases.map(\.rawValue)

    package let level = Setting(
        "log-level",
        Logger.Level.info,
        shown: "info",
        .choice("level", of: levels),
        mustBe: "one of \(levels.joined(separator: ", "))",
        "The lowest level of log lines that are written."
    ) { Logger.Level(rawValue: $0.lowercased()) }.reloading

    package let format = Setting(
        "log-format",
        LogFormat.automatic,
        shown: "auto",
        .choice("format", of: LogFormat.allCases.map(\.rawValue)),
        mustBe: "one of \(LogFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        "The format of log lines: `json`, `text`, or `auto`, which is text on a terminal and JSON elsewhere."
    ) { LogFormat(rawValue: $0.lowercased()) }
}

/// The format of log lines.
package enum LogFormat: String, CaseIterable, Hashable, Sendable {
    case automatic = "auto"
    case json
    case text
}
