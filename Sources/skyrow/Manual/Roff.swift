/// A builder of text for man(1), with the macros of man(7).
struct Roff {
    private(set) var output = ""

    /// Appends a line of roff.
    mutating func line(_ line: String) {
        output += line + "\n"
    }

    mutating func heading(_ title: String) {
        line(".SH \(title.uppercased())")
    }

    /// Appends a paragraph's text.
    mutating func text(_ text: String) {
        for part in text.split(separator: "\n") { line(Roff.escaped(String(part))) }
    }

    /// Appends paragraphs, which empty lines separate.
    mutating func paragraphs(_ text: String) {
        var isFirst = true
        for paragraph in text.split(separator: "\n\n") {
            if !isFirst { line(".PP") }
            isFirst = false
            self.text(String(paragraph))
        }
    }

    mutating func bold(_ text: String, then rest: String) {
        line("\\fB\(Roff.escaped(text))\\fR \(Roff.escaped(rest))")
    }

    /// Appends a term, optionally with its value's name, and its meaning.
    mutating func item(_ term: String, value: String? = nil, _ meaning: String) {
        line(".TP")
        line("\\fB\(Roff.escaped(term))\\fR" + (value.map { " \\fI\(Roff.escaped($0))\\fR" } ?? ""))
        text(meaning.isEmpty ? " " : meaning)
    }

    /// Returns the text escaped for roff, with hyphens that can be copied and without control lines.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "~": escaped += "\\(ti"
            case "^": escaped += "\\(ha"
            default: escaped.append(character)
            }
        }
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}
