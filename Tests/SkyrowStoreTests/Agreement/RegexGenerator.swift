import SkyrowTestSupport

/// Makes regular expressions of the subset.
struct RegexGenerator {
    var random: SeededGenerator

    private static let literals = [
        "a", "b", "A", "i", "x", "1", " ", "-", "\\.", "\\\\", "\\%", "_", "\\[", "é", "É", "e\u{301}", "İ", "ß", "Σ",
        "ς",
        "\u{E000}", "\u{10000}", "\\n", "\\t", "\\u00e9", "ab", "aa",
    ]
    private static let sets = [
        ".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "[ab]", "[^a]", "[a-z]", "[A-Z]", "[^A-Z]", "[\\d_]", "[^\\w]",
        "[Σσ%]",
        "[^\\W\\d]", "[\u{E000}-\u{10FFFF}]", "[à-ÿ]", "[À-Þ]", "[İb-]",
    ]
    private static let repetitions = ["?", "*", "+", "{2}", "{0,2}", "{1,}", "{0}", "{1,3}"]

    mutating func pattern() -> String {
        let start = random.oneIn(4) ? "^" : ""
        return start + alternatives(2) + (random.oneIn(4) ? "$" : "")
    }

    private mutating func alternatives(_ depth: Int) -> String {
        let count = random.oneIn(3) ? 2 : random.oneIn(8) ? 3 : 1
        return (0..<count).map { _ in sequence(depth) }.joined(separator: "|")
    }

    private mutating func sequence(_ depth: Int) -> String {
        (0..<Int.random(in: random.oneIn(6) ? 0...1 : 1...3, using: &random)).map { _ in part(depth) }.joined()
    }

    private mutating func part(_ depth: Int) -> String {
        var text: String
        if depth > 0, random.oneIn(3) {
            text = (random.oneIn(2) ? "(" : "(?:") + alternatives(depth - 1) + ")"
        } else {
            text = random.element(random.oneIn(3) ? Self.sets : Self.literals)
        }
        if random.oneIn(3) { text += random.element(Self.repetitions) }
        return text
    }
}
