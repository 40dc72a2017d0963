package import SkyrowModel

/// Why a text is not a valid word query, as a sentence.
package struct WordQueryMisfit: Error, Hashable, Sendable {
    package var reason: String
}

/// A query for the words of a text: `star -trek wars*`, `star or stars`, and with a language `"a new hope"`.
///
/// All words are required, `or` joins the two beside it, `-` excludes a word and `*` matches by prefix. Any text is valid;
/// separators of words separate them here too. With a language, only the database can evaluate the query, since PostgreSQL
/// splits the terms and stems the words.
package struct WordQuery: Hashable, Sendable {
    package static let maximumBytes = 1024
    package static let maximumWords = 32

    private indirect enum Part: Hashable, Sendable {
        case word(String)
        case beginning(String)
        case not(Part)
        case all([Part])
        case any([Part])

        var wordCount: Int {
            switch self {
            case .word, .beginning: 1
            case .not(let part): part.wordCount
            case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.wordCount }
            }
        }
    }

    package let language: TextLanguage
    /// nil for a text without words, which matches nothing.
    private let root: Part?

    /// Throws ``WordQueryMisfit`` for a text that is too long, and for a phrase without a language.
    package init(_ text: String, in language: TextLanguage = .words) throws(WordQueryMisfit) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw WordQueryMisfit(reason: "The text of \"match\" can have at most \(Self.maximumBytes) bytes.")
        }
        guard language != .words || !text.unicodeScalars.contains("\"") else {
            throw WordQueryMisfit(reason: "A field without a language (\"text\": \"none\") does not support phrases.")
        }
        self.language = language
        let terms = WordTerm.all(in: text)
        var groups: [[Part]] = []
        var count = 0
        var isAlternative = false
        for (place, term) in terms.enumerated() {
            if !groups.isEmpty, place + 1 < terms.count, !isAlternative, term.isOr {
                isAlternative = true
                continue
            }
            defer { isAlternative = false }
            let words = Words.words(of: term.text)
            guard !words.isEmpty else { continue }
            count += words.count
            guard count <= Self.maximumWords else {
                throw WordQueryMisfit(reason: "\"match\" takes at most \(Self.maximumWords) words.")
            }
            let all = Self.part(of: term, words, in: language)
            let part = term.isExcluded ? .not(all) : all
            if isAlternative { groups[groups.count - 1].append(part) } else { groups.append([part]) }
        }
        let all = groups.map { $0.count == 1 ? $0[0] : Part.any($0) }
        root = all.isEmpty ? nil : all.count == 1 ? all[0] : .all(all)
    }

    /// Returns the term for PostgreSQL to split, or its words.
    private static func part(of term: WordTerm, _ words: [String], in language: TextLanguage) -> Part {
        if language.needsDatabase { return term.goesOn ? .beginning(term.text) : .word(term.text) }
        var parts = words.map { Part.word($0) }
        if term.goesOn, let last = words.last { parts[parts.count - 1] = .beginning(last) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    package var hasWords: Bool { root != nil }

    /// The query in the syntax of PostgreSQL's `tsquery`. All text from clients is quoted, so that none causes a syntax error.
    package var tsquery: String { root.map(Self.text) ?? "" }

    private static func text(of part: Part) -> String {
        switch part {
        case .word(let word): quoted(word)
        case .beginning(let word): "\(quoted(word)):*"
        case .not(let part): "!(\(text(of: part)))"
        case .all(let parts): "(" + parts.map(text).joined(separator: " & ") + ")"
        case .any(let parts): "(" + parts.map(text).joined(separator: " | ") + ")"
        }
    }

    private static func quoted(_ word: String) -> String {
        var text = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" || scalar == "\\" { text.unicodeScalars.append(scalar) }
            text.unicodeScalars.append(scalar)
        }
        return text + "'"
    }

    /// Returns whether a text has the words; nil if only the database can evaluate that, and if the budget is exceeded.
    func matches(_ text: String, within budget: inout StepBudget) -> Bool? {
        if language.needsDatabase { return nil }
        guard let root else { return false }
        // Each character is folded, and appended to a word.
        guard budget.take(4 * text.utf8.count) else { return nil }
        let words = Words.words(of: text)
        guard budget.take(root.wordCount * words.count) else { return nil }
        return Self.holds(root, words)
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

/// A term of a word query, delimited by white space or quotes.
private struct WordTerm {
    /// The text without prefix, suffix and quotes.
    var text = ""
    var isPhrase = false
    var isExcluded = false
    var goesOn = false

    /// An unclosed quote ends at the end of the text.
    static func all(in text: String) -> [WordTerm] {
        var terms: [WordTerm] = []
        var term = String.UnicodeScalarView()
        var isPhrase = false
        var isExcluded = false
        func end() {
            defer { term = String.UnicodeScalarView() }
            if isPhrase {
                terms.append(WordTerm(text: String(term), isPhrase: true, isExcluded: isExcluded))
            } else if !term.isEmpty {
                terms.append(WordTerm(plain: String(term)))
            }
        }
        for scalar in text.unicodeScalars {
            if scalar == "\"" {
                let excludes = term.elementsEqual("-".unicodeScalars)
                if !isPhrase, excludes { term = String.UnicodeScalarView() }
                end()
                isPhrase.toggle()
                isExcluded = excludes
            } else if !isPhrase, scalar.properties.isWhitespace {
                end()
            } else {
                term.append(scalar)
            }
        }
        end()
        return terms
    }

    private init(text: String, isPhrase: Bool, isExcluded: Bool) {
        self.text = text
        self.isPhrase = isPhrase
        self.isExcluded = isExcluded
    }

    private init(plain term: String) {
        isExcluded = term.hasPrefix("-")
        goesOn = term.hasSuffix("*")
        var rest = Substring(term)
        if isExcluded { rest = rest.dropFirst() }
        while rest.hasSuffix("*") { rest = rest.dropLast() }
        text = String(rest)
    }

    var isOr: Bool { !isPhrase && !isExcluded && !goesOn && (text == "or" || text == "OR") }
}
