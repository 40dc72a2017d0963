import Foundation

/// A fenced block of a Markdown document.
struct MarkdownBlock: Hashable, Sendable {
    /// The line of the document on which the fence stands.
    var line: Int
    /// The word after the fence, empty where there is none.
    var language: String
    /// The words after the language.
    var words: [String]
    var text: String

    static func all(of document: String) -> [MarkdownBlock] {
        var blocks: [MarkdownBlock] = []
        var open: (block: MarkdownBlock, lines: [Substring])?
        for (index, line) in document.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if var (block, lines) = open {
                if line == "```" {
                    block.text = lines.joined(separator: "\n")
                    blocks.append(block)
                    open = nil
                } else {
                    lines.append(line)
                    open = (block, lines)
                }
            } else if line.hasPrefix("```") {
                let words = line.dropFirst(3).split(separator: " ").map(String.init)
                let block = MarkdownBlock(
                    line: index + 1,
                    language: words.first ?? "",
                    words: Array(words.dropFirst()),
                    text: ""
                )
                open = (block, [])
            }
        }
        return blocks
    }
}

/// The text of a file in Documentation/.
func documentation(_ name: String) throws -> String {
    try String(contentsOf: documentationFile(name), encoding: .utf8)
}

/// The place of a file or folder in Documentation/.
func documentationFile(_ name: String) -> URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Documentation/\(name)")
}
