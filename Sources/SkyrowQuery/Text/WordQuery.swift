/// Why a text is no question about words; a sentence.
package struct WordQueryMisfit: Error, Hashable, Sendable {
    package var reason: String
}

/// A question about the words of a text: `star -trek wars*`, `star or stars`.
///
/// All words are asked for, `or` joins the two beside it, `-` excludes and `*` goes on. Any text is one; signs that part
/// words part them here too.
package struct WordQuery: Hashable, Sendable {
    package static let maximumBytes = 1024
    package static let maximumWords = 32

    private indirect enum Part: Hashable, Sendable {
        case word(String)
        case beginning(String)
        case not(Part)
        case all([Part])
        case any([Part])
    }

    /// nil for a text without words, which is found nowhere.
    private let root: Part?

    /// Throws ``WordQueryMisfit`` for a text that is too long, and for one with a phrase.
    package init(_ text: String) throws(WordQueryMisfit) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw WordQueryMisfit(reason: "The text of \"match\" has at most \(Self.maximumBytes) bytes.")
        }
        guard !text.unicodeScalars.contains("\"") else {
            throw WordQueryMisfit(reason: "Words are found wherever they stand, so that there are no phrases.")
        }
        let terms = text.unicodeScalars.split { $0.properties.isWhitespace }.map { Substring($0) }
        var groups: [[Part]] = []
        var count = 0
        var isAlternative = false
        for (place, term) in terms.enumerated() {
            if !groups.isEmpty, place + 1 < terms.count, !isAlternative, term == "or" || term == "OR" {
                isAlternative = true
                continue
            }
            defer { isAlternative = false }
            let words = Words.words(of: String(term))
            guard let last = words.last else { continue }
            count += words.count
            guard count <= Self.maximumWords else {
                throw WordQueryMisfit(reason: "\"match\" takes at most \(Self.maximumWords) words.")
            }
            var parts = words.dropLast().map { Part.word($0) }
            parts.append(term.hasSuffix("*") ? .beginning(last) : .word(last))
            let all = parts.count == 1 ? parts[0] : .all(parts)
            let part = term.hasPrefix("-") ? .not(all) : all
            if isAlternative { groups[groups.count - 1].append(part) } else { groups.append([part]) }
        }
        let all = groups.map { $0.count == 1 ? $0[0] : Part.any($0) }
        root = all.isEmpty ? nil : all.count == 1 ? all[0] : .all(all)
    }

    /// Whether it has a word.
    package var hasWords: Bool { root != nil }

    /// The question as PostgreSQL's `tsquery`; a word has no character that means anything there.
    package var tsquery: String { root.map(Self.text) ?? "" }

    private static func text(of part: Part) -> String {
        switch part {
        case .word(let word): "'\(word)'"
        case .beginning(let word): "'\(word)':*"
        case .not(let part): "!(\(text(of: part)))"
        case .all(let parts): "(" + parts.map(text).joined(separator: " & ") + ")"
        case .any(let parts): "(" + parts.map(text).joined(separator: " | ") + ")"
        }
    }

    /// Whether a text has the words.
    package func matches(_ text: String) -> Bool {
        guard let root else { return false }
        return Self.holds(root, Words.words(of: text))
    }

    private static func holds(_ part: Part, _ words: [String]) -> Bool {
        switch part {
        case .word(let word): words.contains { $0.utf8.elementsEqual(word.utf8) }
        case .beginning(let word): words.contains { $0.utf8.starts(with: word.utf8) }
        case .not(let part): !holds(part, words)
        case .all(let parts): parts.allSatisfy { holds($0, words) }
        case .any(let parts): parts.contains { holds($0, words) }
        }
    }
}
