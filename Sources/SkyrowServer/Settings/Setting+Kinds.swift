import SkyrowModel

extension Setting where Value == Int {
    /// Makes a setting for an integer in a range.
    package static func integer(
        _ name: String,
        _ defaultValue: Int,
        in range: ClosedRange<Int>,
        unit: String = "number",
        _ sentence: String
    ) -> Setting {
        Setting(
            name,
            defaultValue,
            shown: "\(defaultValue)",
            .text(unit),
            mustBe: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            sentence
        ) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == Bool {
    /// Makes a Boolean setting: a flag and its negation, or `1`, `true`, `yes`, `on` and their opposites in other sources.
    package static func flag(_ name: String, _ defaultValue: Bool, _ sentence: String) -> Setting {
        Setting(name, defaultValue, shown: "\(defaultValue)", .flag, mustBe: "true or false", sentence) { text in
            boolean(text)
        }
    }
}

extension Setting where Value == Bool {
    /// Makes a setting for one of two words, of which the second is `off`.
    static func choice(_ name: String, _ defaultValue: Bool, on: String = "on", _ sentence: String) -> Setting {
        Setting(
            name,
            defaultValue,
            shown: defaultValue ? on : "off",
            .choice("when", of: [on, "off"]),
            mustBe: "\(on) or off",
            sentence
        ) { text in
            text == on ? true : text == "off" ? false : nil
        }
    }
}

extension Setting where Value: CaseIterable & RawRepresentable<String> {
    /// Makes a setting for one of the cases' words.
    static func choice(
        _ name: String,
        _ defaultValue: Value,
        of valueName: String,
        mustBe expectation: String? = nil,
        _ sentence: String
    ) -> Setting {
        let words = Value.allCases.map(\.rawValue)
        return Setting(
            name,
            defaultValue,
            shown: defaultValue.rawValue,
            .choice(valueName, of: words),
            mustBe: expectation ?? words.joined(separator: " or "),
            sentence
        ) {
            Value(rawValue: $0)
        }
    }
}

extension Setting where Value == Bool? {
    /// Makes an optional Boolean setting.
    package static func flag(_ name: String, _ sentence: String) -> Setting {
        Setting(name, nil, shown: "", .flag, mustBe: "true or false", sentence) { text in
            boolean(text).map { .some($0) }
        }
    }
}

private func boolean(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: nil
    }
}

extension Setting where Value == Duration {
    /// Makes a setting for a duration in a range, such as `500ms`, `30s`, `15m`, `12h` or `30d`.
    static func duration(
        _ name: String,
        _ defaultValue: Duration,
        in range: ClosedRange<Duration> = .seconds(1)...(.seconds(86_400)),
        _ sentence: String
    ) -> Setting {
        let bounds = "\(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        return Setting(
            name,
            defaultValue,
            shown: DurationText.text(defaultValue),
            .text("duration"),
            mustBe: "a duration from \(bounds), such as \(DurationText.text(defaultValue))",
            sentence
        ) { text in
            DurationText.duration(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == Duration? {
    /// Makes a setting for a duration in a range, or a word that means none.
    static func duration(
        _ name: String,
        _ defaultValue: Duration?,
        in range: ClosedRange<Duration>,
        or word: String,
        _ sentence: String
    ) -> Setting {
        let bounds = "\(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        return Setting(
            name,
            defaultValue,
            shown: defaultValue.map(DurationText.text) ?? word,
            .text("duration"),
            mustBe: "a duration from \(bounds), or '\(word)'",
            sentence
        ) { text in
            if text == word { return .some(nil) }
            return DurationText.duration(text).flatMap { range.contains($0) ? .some($0) : nil }
        }
    }
}

extension Setting where Value == [AddressRange] {
    /// Makes a setting for addresses and ranges, separated by commas.
    static func ranges(
        _ name: String,
        _ defaultValue: [AddressRange],
        shown: String = "",
        valueName: String = "ranges",
        mustBe expectation: String =
            "addresses and ranges separated by commas, such as 10.0.0.0/8,::1, without bits beyond the prefix length",
        _ sentence: String
    ) -> Setting {
        Setting(name, defaultValue, shown: shown, .text(valueName), mustBe: expectation, sentence) { text in
            text.list { AddressRange($0) }
        }
    }
}

extension String {
    /// Returns the comma-separated elements; nil if one is invalid.
    func list<Element>(_ element: (String) -> Element?) -> [Element]? {
        let texts = split(separator: ",", omittingEmptySubsequences: false)
        let elements = texts.compactMap { element(String($0)) }
        return elements.count == texts.count ? elements : nil
    }
}

extension Setting where Value == String? {
    /// Makes a setting for a key that is never printed, not even in an error.
    package static func key(_ name: String, minimumLength: Int, _ sentence: String) -> Setting {
        Setting(
            name,
            nil,
            shown: "",
            .text("key"),
            mustBe: "at least \(minimumLength) characters, all of them visible ASCII",
            sentence
        ) { text in
            let isKey = text.utf8.count >= minimumLength && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            return isKey ? .some(text) : nil
        }.secret(hasFlag: false)
    }

    /// Makes a setting for an optional file path.
    package static func file(_ name: String, _ sentence: String) -> Setting {
        Setting(name, nil, shown: "", .file, mustBe: "the path of a file", sentence) { text in
            text.isEmpty || text.utf8.contains(0) ? nil : .some(text)
        }
    }
}

extension Setting where Value == [String] {
    /// Makes a setting for up to two keys that are never printed, not even in an error.
    package static func keys(_ name: String, minimumLength: Int, _ sentence: String) -> Setting {
        Setting(
            name,
            [],
            shown: "",
            .text("key"),
            mustBe:
                "at least \(minimumLength) characters, all of them visible ASCII, or two such keys separated by a space",
            sentence
        ) { text in
            let keys = text.split { $0 == " " || $0 == "\n" || $0 == "\r\n" }.map(String.init)
            let areKeys = keys.allSatisfy { key in
                key.utf8.count >= minimumLength && key.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            }
            return (1...2).contains(keys.count) && areKeys ? keys : nil
        }.secret(hasFlag: false)
    }
}

/// The text form of durations: an integer and a unit of `ms`, `s`, `m`, `h` or `d`; seconds without a unit.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
    ]

    /// Parses a duration; nil for invalid text, or more than 100,000,000 units.
    package static func duration(_ text: String) -> Duration? {
        let unit = units.first { text.hasSuffix($0.name) } ?? ("", 1000)
        guard let count = Int64(text.dropLast(unit.name.count)), (0...100_000_000).contains(count) else { return nil }
        return .milliseconds(count * unit.milliseconds)
    }

    /// Returns the shortest text for a whole number of milliseconds: `90s`, `2m`.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let unit = units.dropFirst().first { milliseconds % $0.milliseconds == 0 && milliseconds > 0 } ?? units[0]
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}
