/// The commands of Documentation/Tutorial.md, or of another page in its form, in their order, each with what is shown below it.
struct Tutorial {
    struct Step: Sendable {
        /// The line of the tutorial on which the command's block begins.
        var line: Int
        var shell: String
        /// nil for a command that says nothing.
        var shown: String?
    }

    /// What a command asks for.
    enum Command: Hashable {
        case set(name: String, value: String)
        case post(path: String, headers: [String], body: String)
        /// Posts a file of the reader.
        case upload(path: String, headers: [String], file: String)
        /// Gets a file, and prints its status and type.
        case download(path: String, headers: [String])
        case psql(String)
    }

    enum Fault: Error, CustomStringConvertible {
        case outputWithoutCommand(line: Int)
        case notOneCommand([[String]])
        case unknownCommand([String])

        var description: String {
            switch self {
            case .outputWithoutCommand(let line): "line \(line): output without a command before it"
            case .notOneCommand(let commands): "a block is one command, or assignments: \(commands)"
            case .unknownCommand(let words): "neither curl, skyrow psql nor an assignment: \(words)"
            }
        }
    }

    var steps: [Step]

    /// Blocks without a language are set-up that the test has done already.
    init(text: String) throws {
        steps = []
        for block in MarkdownBlock.all(of: text) {
            switch block.language {
            case "sh":
                steps.append(Step(line: block.line, shell: block.text))
            case "json", "text":
                guard let last = steps.indices.last, steps[last].shown == nil else {
                    throw Fault.outputWithoutCommand(line: block.line)
                }
                steps[last].shown = block.text
            default:
                break
            }
        }
    }

    static func command(_ words: [String]) throws -> Command {
        if words.count == 1, let match = words[0].wholeMatch(of: /([A-Z_]+)=(.*)/) {
            return .set(name: String(match.1), value: String(match.2))
        }
        if words.count == 4, words[..<3] == ["skyrow", "psql", "-c"] { return .psql(words[3]) }
        guard words.first == "curl" else { throw Fault.unknownCommand(words) }
        var (path, headers, body): (String?, [String], String?) = (nil, [], nil)
        var (file, format): (String?, String?)
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "-H":
                guard let header = rest.popFirst() else { throw Fault.unknownCommand(words) }
                headers.append(header)
            case "-d":
                guard body == nil, let value = rest.popFirst() else { throw Fault.unknownCommand(words) }
                body = value
            case "--data-binary":
                guard file == nil, let value = rest.popFirst(), value.hasPrefix("@") else {
                    throw Fault.unknownCommand(words)
                }
                file = String(value.dropFirst())
            case "-w":
                guard format == nil, let value = rest.popFirst() else { throw Fault.unknownCommand(words) }
                format = value
            case "-s":
                break
            case "-o":
                // The bytes are not looked at.
                guard rest.popFirst() != nil else { throw Fault.unknownCommand(words) }
            default:
                let host = "http://127.0.0.1:3000"
                guard path == nil, word.hasPrefix(host + "/") else { throw Fault.unknownCommand(words) }
                path = String(word.dropFirst(host.count))
            }
        }
        switch (path, body, file, format) {
        case (let path?, let body?, nil, nil): return .post(path: path, headers: headers, body: body)
        case (let path?, nil, let file?, nil): return .upload(path: path, headers: headers, file: file)
        case (let path?, nil, nil, #"%{http_code} %{content_type}\n"#): return .download(path: path, headers: headers)
        default: throw Fault.unknownCommand(words)
        }
    }
}
