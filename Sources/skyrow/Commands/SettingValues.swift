import SkyrowModel

/// The settings as they were given, each by a flag, by the environment, or not at all; a flag wins.
struct SettingValues: Sendable {
    /// The names of one setting.
    struct Name: Hashable, Sendable {
        /// Without its dashes; nil for a secret, which belongs in no command line.
        var flag: String?
        var environment: String
    }

    /// By the flag's name without dashes.
    var flags: [String: String]
    var environment: [String: String]

    /// The text of a setting and, for a message, where it comes from; an empty variable counts as none.
    func text(_ name: Name) -> (text: String, origin: String)? {
        if let flag = name.flag, let text = flags[flag] { return (text, "--\(flag)") }
        if let text = environment[name.environment], !text.isEmpty { return (text, name.environment) }
        return nil
    }

    /// The setting, read by `parse`; throws ``ToolError`` when that gives nil.
    func value<Value>(
        _ name: Name,
        default standard: Value,
        mustBe expectation: String,
        _ parse: (String) -> Value?
    ) throws(ToolError) -> Value {
        guard let (text, origin) = text(name) else { return standard }
        guard let value = parse(text) else { throw .usage("\(origin) must be \(expectation); it is '\(text)'.") }
        return value
    }

    /// A whole number of a range.
    func integer(_ name: Name, default standard: Int, in range: ClosedRange<Int>) throws(ToolError) -> Int {
        try value(name, default: standard, mustBe: "a whole number from \(range.lowerBound) to \(range.upperBound)") {
            text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A switch, spelled in the environment as `1`, `true`, `yes` or `on` and their opposites.
    func boolean(_ name: Name, default standard: Bool) throws(ToolError) -> Bool {
        try value(name, default: standard, mustBe: "true or false") { text in
            switch text.lowercased() {
            case "1", "true", "yes", "on": true
            case "0", "false", "no", "off": false
            default: nil
            }
        }
    }

    /// A key that must not print, not even in a complaint.
    func secret(_ name: Name, minimumLength: Int) throws(ToolError) -> String? {
        guard let (text, origin) = text(name) else { return nil }
        guard text.utf8.count >= minimumLength, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw .usage("\(origin) must have at least \(minimumLength) characters, all of them visible ASCII.")
        }
        return text
    }
}
