/// The commands of a script in as much of the shell's language as the tutorial needs: words, quotes, variables, and lines
/// that go on. Whatever else means something to a shell is a fault, so that nothing is read otherwise than a shell would.
struct ShellScript {
    enum Fault: Error, Hashable {
        case unset(String)
        case unclosed(Character)
        case unsupported(Character)
    }

    /// The words of each command.
    var commands: [[String]] = []

    private let variables: [String: String]
    private var rest: Substring
    private var words: [String] = []
    private var word: String?

    init(_ text: String, variables: [String: String] = [:]) throws(Fault) {
        self.variables = variables
        rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case " ": endWord()
            case "\n": endCommand()
            case "'": word = (word ?? "") + (try quoted())
            case "\"": word = (word ?? "") + (try doubleQuoted())
            case "$": word = (word ?? "") + (try variable())
            case "\\":
                guard let next = rest.popFirst() else { throw .unclosed("\\") }
                if next != "\n" { word = (word ?? "") + String(next) }
            case "|", "&", ";", "<", ">", "(", ")", "{", "}", "`", "*", "?", "[", "#", "~", "!", "\t":
                throw .unsupported(character)
            default: word = (word ?? "") + String(character)
            }
        }
        endCommand()
    }

    private mutating func endWord() {
        if let word { words.append(word) }
        word = nil
    }

    private mutating func endCommand() {
        endWord()
        if !words.isEmpty { commands.append(words) }
        words = []
    }

    private mutating func quoted() throws(Fault) -> String {
        guard let end = rest.firstIndex(of: "'") else { throw .unclosed("'") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private mutating func doubleQuoted() throws(Fault) -> String {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "$": text += try variable()
            case "\\", "`", "!": throw .unsupported(character)
            default: text.append(character)
            }
        }
        throw .unclosed("\"")
    }

    private mutating func variable() throws(Fault) -> String {
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        guard !name.isEmpty else { throw .unsupported("$") }
        rest = rest.dropFirst(name.count)
        guard let value = variables[String(name)] else { throw .unset(String(name)) }
        return value
    }
}
