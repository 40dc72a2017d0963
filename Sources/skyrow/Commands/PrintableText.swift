/// Writes a line to standard output. Every command uses it, so stored text is always escaped on its way to a terminal.
func print(_ text: String, terminator: String = "\n") {
    Swift.print(printable(text), terminator: terminator)
}

/// Returns the text with control characters, and characters that reorder others, in JSON's form, `\u001b`.
///
/// Names, addresses and messages come from clients and files. JSON keeps its meaning.
///
/// - Parameter keepingLines: Whether line breaks and tabs stay.
func printable(_ text: String, keepingLines: Bool = true) -> String {
    func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: keepingLines
        // C0, DEL and C1; line and paragraph separators; directional embeddings, overrides and isolates.
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
