/// Writes a line to standard output; every command prints by it, so that no stored text reaches a terminal as it is.
func print(_ text: String, terminator: String = "\n") {
    Swift.print(printable(text), terminator: terminator)
}

/// The text with characters that a terminal would obey, or that would change the order of others, in the form of JSON,
/// `\u001b`.
///
/// Names, addresses and messages are what clients and files made them. JSON stays the same JSON.
///
/// - Parameter keepingLines: whether line ends and tabs stay.
func printable(_ text: String, keepingLines: Bool = true) -> String {
    func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: keepingLines
        // C0, DEL and C1; line and paragraph separators; what embeds, overrides and isolates directions.
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
    guard !text.unicodeScalars.allSatisfy(isHarmless) else { return text }
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        if isHarmless(scalar) {
            shown.append(scalar)
        } else {
            let digits = String(scalar.value, radix: 16)
            shown.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
        }
    }
    return String(shown)
}
