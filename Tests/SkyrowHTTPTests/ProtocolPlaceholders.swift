import Foundation

/// What the names in angle brackets of the manual stand for, learned from the responses in their order.
struct ProtocolPlaceholders {
    private var known: [String: ProtocolJSON] = [:]

    subscript(_ name: String) -> ProtocolJSON? { known[name] }

    /// Says what a name stands for that no response has.
    mutating func learn(_ name: String, _ value: ProtocolJSON) {
        known[name] = value
    }

    /// A text with every `<name>` replaced; a JSON string that is nothing but a placeholder becomes its value, number or
    /// not.
    func fill(_ text: String) -> String {
        var filled = text
        for (name, value) in known {
            filled = filled.replacing("\"<\(name)>\"", with: value.text)
            switch value {
            case .string(let known): filled = filled.replacing("<\(name)>", with: known)
            case .integer: filled = filled.replacing("<\(name)>", with: value.text)
            default: break
            }
        }
        return filled
    }

    /// Compares the bodies of responses, which may be empty.
    mutating func differences(_ response: String, from shown: String) throws -> [String] {
        guard response.isEmpty || shown.isEmpty else {
            return differences(try ProtocolJSON(response), from: try ProtocolJSON(shown))
        }
        return response == shown ? [] : ["$: \(response) instead of \(shown)"]
    }

    /// Compares a response with what the manual shows, learning new names; returns what differs, nothing when all is well.
    mutating func differences(_ response: ProtocolJSON, from shown: ProtocolJSON, at place: String = "$") -> [String] {
        if case .string(let text) = shown, text.contains("<"), let difference = compare(response, withPattern: text) {
            return difference.isEmpty ? [] : ["\(place): \(difference)"]
        }
        switch (response, shown) {
        case (.object(let got), .object(let shown)):
            var wanted = Dictionary(shown.map { (fill($0), $1) }, uniquingKeysWith: { first, _ in first })
            var got = got
            // The metadata of a record that the manual does not repeat.
            if wanted.removeValue(forKey: "…") != nil {
                got = got.filter { !$0.key.hasPrefix("_") || wanted[$0.key] != nil }
            }
            return Set(got.keys).union(wanted.keys).sorted().flatMap { name -> [String] in
                switch (got[name], wanted[name]) {
                case (let got?, let wanted?): differences(got, from: wanted, at: "\(place).\(name)")
                case (let got?, nil): ["\(place).\(name): is not in the manual: \(got.text)"]
                case (nil, _): ["\(place).\(name): is missing"]
                }
            }
        case (.array(let got), .array(let wanted)):
            guard got.count == wanted.count else {
                return ["\(place): \(got.count) elements instead of \(wanted.count)"]
            }
            return zip(got, ProtocolPlaceholders.ordered(wanted, as: got)).enumerated().flatMap {
                differences($0.element.0, from: $0.element.1, at: "\(place)[\($0.offset)]")
            }
        default:
            return response == shown ? [] : ["\(place): \(response.text) instead of \(shown.text)"]
        }
    }

    /// The responses of a JSON-RPC batch come in any order; their ids say which is which.
    private static func ordered(_ wanted: [ProtocolJSON], as got: [ProtocolJSON]) -> [ProtocolJSON] {
        guard wanted.allSatisfy({ $0["jsonrpc"] != nil }) else { return wanted }
        return got.map { response in wanted.first { $0["id"] == response["id"] } ?? .null }
    }

    /// nil when the text is no pattern, "" when it fits.
    private mutating func compare(_ response: ProtocolJSON, withPattern text: String) -> String? {
        guard let match = text.firstMatch(of: /<([a-z][a-z0-9-]*)>/) else { return nil }
        let name = String(match.1)
        let (prefix, suffix) = (text[..<match.range.lowerBound], text[match.range.upperBound...])
        let value: ProtocolJSON
        if prefix.isEmpty, suffix.isEmpty {
            value = response
        } else {
            guard case .string(let got) = response, got.hasPrefix(prefix), got.hasSuffix(suffix),
                got.utf8.count >= prefix.utf8.count + suffix.utf8.count
            else { return "\(response.text) does not fit \"\(text)\"" }
            value = .string(String(got.dropFirst(prefix.count).dropLast(suffix.count)))
        }
        switch name {
        case "any":
            return ""
        case "revision":
            guard case .integer(1...) = value else { return "\(value.text) is no revision" }
            return ""
        case "token":
            guard case .string(let got) = value, got.utf8.count >= 32 else { return "\(value.text) is no access token" }
            return ""
        case "cursor":
            guard case .string(let got) = value, got.wholeMatch(of: /[A-Za-z0-9_-]{36,}/) != nil else {
                return "\(value.text) is no cursor"
            }
            return ""
        case "time":
            guard case .string(let got) = value,
                got.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z/) != nil
            else { return "\(value.text) is no instant in UTC" }
            return ""
        default:
            guard let before = known[name] else {
                known[name] = value
                return ""
            }
            return before == value ? "" : "\(value.text) is not the <\(name)> of before, \(before.text)"
        }
    }
}
