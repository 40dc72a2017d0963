import Foundation

/// The examples of Documentation/Protocol.md in their order.
struct ProtocolManual {
    struct Example: Sendable {
        /// The line of the manual on which the request begins.
        var line: Int
        /// `nobody`, `key`, `master`, or a name whose `<name-token>` an earlier answer gave.
        var caller: String
        var path: String
        var request: String
        var status: Int
        /// Empty where the answer has no body.
        var answer: String
    }

    enum Fault: Error, CustomStringConvertible {
        case requestWithoutAnswer(line: Int)
        case answerWithoutRequest(line: Int)
        case unknownWord(String, line: Int)

        var description: String {
            switch self {
            case .requestWithoutAnswer(let line): "Protocol.md:\(line): a request without an answer after it"
            case .answerWithoutRequest(let line): "Protocol.md:\(line): an answer without a request before it"
            case .unknownWord(let word, let line):
                "Protocol.md:\(line): '\(word)' is neither a caller nor a path nor a status"
            }
        }
    }

    var text: String
    var examples: [Example]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "Documentation/Protocol.md")
        try self.init(text: String(contentsOf: file, encoding: .utf8))
    }

    init(text: String) throws {
        self.text = text
        examples = []
        var waiting: Example?
        for block in ProtocolManual.blocks(of: text) {
            switch block.words.first {
            case "request":
                if let waiting { throw Fault.requestWithoutAnswer(line: waiting.line) }
                var example = Example(
                    line: block.line,
                    caller: "key",
                    path: "/rpc",
                    request: block.text,
                    status: 200,
                    answer: ""
                )
                for word in block.words.dropFirst() {
                    if word.hasPrefix("/") { example.path = word } else { example.caller = word }
                }
                waiting = example
            case "answer":
                guard var example = waiting else { throw Fault.answerWithoutRequest(line: block.line) }
                waiting = nil
                example.answer = block.text
                for word in block.words.dropFirst() {
                    guard let status = Int(word) else { throw Fault.unknownWord(word, line: block.line) }
                    example.status = status
                }
                examples.append(example)
            default:
                break
            }
        }
        if let waiting { throw Fault.requestWithoutAnswer(line: waiting.line) }
    }

    /// The fenced blocks that begin with "```json" and a further word.
    private static func blocks(of text: String) -> [(line: Int, words: [String], text: String)] {
        var blocks: [(line: Int, words: [String], text: String)] = []
        var open: (line: Int, words: [String], lines: [Substring])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let block = open {
                if line == "```" {
                    blocks.append((block.line, block.words, block.lines.joined(separator: "\n")))
                    open = nil
                } else {
                    open?.lines.append(line)
                }
            } else if line.hasPrefix("```") {
                // Blocks without a word after the language are opened all the same, so that their content is skipped.
                let words = line.dropFirst(3).split(separator: " ").map(String.init)
                open = (index + 1, words.first == "json" ? Array(words.dropFirst()) : [], [])
            }
        }
        return blocks
    }
}
