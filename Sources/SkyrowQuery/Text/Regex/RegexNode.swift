/// A part of a regular expression.
indirect enum RegexNode: Hashable, Sendable {
    /// The empty text.
    case empty
    /// One of a set of code points.
    case set(ScalarSet)
    /// `^` and `$`: the start and the end of the text.
    case start
    case end
    case sequence([RegexNode])
    case alternatives([RegexNode])
    /// At least `least` repetitions, and at most `most`, if there is a bound.
    case repeated(RegexNode, least: Int, most: Int?)

    /// Whether it contains `^` or `$`.
    var hasAnchor: Bool {
        switch self {
        case .empty, .set: false
        case .start, .end: true
        case .sequence(let parts), .alternatives(let parts): parts.contains(where: \.hasAnchor)
        case .repeated(let node, _, _): node.hasAnchor
        }
    }
}

// MARK: Size

/// The size of a position automaton: a state for each character, repetitions expanded. Numbers saturate at `Int32.max`.
struct RegexSize {
    /// The number of states: the characters of the expression.
    private(set) var states = 0
    /// The number of pairs of states that can follow each other. PostgreSQL builds its automaton in time proportional to it:
    /// `(?:a?){255}` has 255 states and 32,385 pairs.
    private(set) var transitions = 0
    /// The number of states that a match can begin with, and end with.
    private var first = 0
    private var last = 0
    private var matchesEmpty = true

    init(_ node: RegexNode) {
        switch node {
        case .empty, .start, .end:
            break
        case .set:
            (states, first, last, matchesEmpty) = (1, 1, 1, false)
        case .sequence(let parts):
            for part in parts { append(RegexSize(part)) }
        case .alternatives(let parts):
            matchesEmpty = false
            for part in parts.map({ RegexSize($0) }) {
                states = Self.bounded(states + part.states)
                transitions = Self.bounded(transitions + part.transitions)
                first = Self.bounded(first + part.first)
                last = Self.bounded(last + part.last)
                matchesEmpty = matchesEmpty || part.matchesEmpty
            }
        case .repeated(let node, let least, let most):
            self = RegexSize(node).repeated(least, most)
        }
    }

    private mutating func append(_ next: RegexSize) {
        states = Self.bounded(states + next.states)
        transitions = Self.bounded(transitions + next.transitions + last * next.first)
        if matchesEmpty { first = Self.bounded(first + next.first) }
        last = Self.bounded(next.last + (next.matchesEmpty ? last : 0))
        matchesEmpty = matchesEmpty && next.matchesEmpty
    }

    private func repeated(_ least: Int, _ most: Int?) -> RegexSize {
        let count = max(most ?? least, 1)
        let pairs = Self.bounded(last * first)
        var result = self
        result.states = Self.bounded(states * count)
        result.matchesEmpty = matchesEmpty || least == 0
        // Each repetition is followed by the next one, and by all later ones if it may be empty.
        let steps = matchesEmpty ? count * (count - 1) / 2 : count - 1
        let turns = most == nil ? 1 : 0
        result.transitions = Self.bounded(transitions * count + pairs * (steps + turns))
        result.first = Self.bounded(first * (matchesEmpty ? count : 1))
        result.last = Self.bounded(last * (matchesEmpty ? count : count - max(least, 1) + 1))
        return result
    }

    private static func bounded(_ count: Int) -> Int { min(count, Int(Int32.max)) }
}

// MARK: Required texts

/// Texts that every match of a regular expression contains.
package indirect enum RequiredText: Hashable, Sendable {
    case text(String)
    case all([RequiredText])
    case any([RequiredText])
}

extension RegexNode {
    /// Texts of three or more characters that every match contains; nil for an expression without such texts.
    ///
    /// They form a necessary condition that an index of trigrams can evaluate (``RegexPattern/required``).
    var required: RequiredText? {
        var found: [RequiredText] = []
        var run = String.UnicodeScalarView()
        collect(into: &found, &run)
        Self.end(&run, &found)
        return found.isEmpty ? nil : found.count == 1 ? found[0] : .all(found)
    }

    private func collect(into found: inout [RequiredText], _ run: inout String.UnicodeScalarView) {
        switch self {
        case .empty, .start, .end:
            break
        case .set(let set):
            if let scalar = set.single { run.append(scalar) } else { Self.end(&run, &found) }
        case .sequence(let parts):
            for part in parts { part.collect(into: &found, &run) }
        case .alternatives(let parts):
            Self.end(&run, &found)
            let each = parts.compactMap(\.required)
            if each.count == parts.count { found.append(.any(each)) }
        case .repeated(let node, let least, _):
            Self.end(&run, &found)
            if least > 0, let inner = node.required { found.append(inner) }
        }
    }

    private static func end(_ run: inout String.UnicodeScalarView, _ found: inout [RequiredText]) {
        if run.count >= 3 { found.append(.text(String(run))) }
        run = String.UnicodeScalarView()
    }

    /// The text with which every match begins, if the expression is anchored at the start of the text.
    var head: String {
        guard case .sequence(let parts) = self, parts.first == .start else { return "" }
        var head = String.UnicodeScalarView()
        for part in parts.dropFirst() {
            guard case .set(let set) = part, let scalar = set.single else { break }
            head.append(scalar)
        }
        return String(head)
    }
}

// MARK: PostgreSQL

extension RegexNode {
    /// The expression in PostgreSQL's syntax, without constructs that PostgreSQL interprets differently.
    var postgresText: String {
        switch self {
        case .empty: return "(?:)"
        case .set(let set): return set.postgresText
        case .start: return "^"
        case .end: return "$"
        case .sequence(let parts):
            return parts.map { if case .alternatives = $0 { $0.group } else { $0.postgresText } }.joined()
        case .alternatives(let parts): return parts.map(\.postgresText).joined(separator: "|")
        case .repeated(let node, let least, let most):
            switch node {
            case .set: return node.postgresText + Self.quantifier(least, most)
            case .empty, .start, .end, .sequence, .alternatives, .repeated:
                return node.group + Self.quantifier(least, most)
            }
        }
    }

    private var group: String { "(?:\(postgresText))" }

    private static func quantifier(_ least: Int, _ most: Int?) -> String {
        switch (least, most) {
        case (0, 1): "?"
        case (0, nil): "*"
        case (1, nil): "+"
        case (_, nil): "{\(least),}"
        case (_, let most?): least == most ? "{\(least)}" : "{\(least),\(most)}"
        }
    }
}

extension ScalarSet {
    fileprivate var postgresText: String {
        if let single { return Self.text(of: single) }
        guard reachesEnd else { return "[\(members)]" }
        let others = complement
        return others.isEmpty ? "." : "[^\(others.members)]"
    }

    private var members: String {
        scalarRanges.map { first, last in
            first == last ? Self.text(of: first) : "\(Self.text(of: first))-\(Self.text(of: last))"
        }.joined()
    }

    /// Returns the literal form of a code point, escaped with `\` if it has a special meaning.
    private static func text(of scalar: Unicode.Scalar) -> String {
        let isPlain =
            scalar.value > 0x7E || scalar.value <= 0x20 || ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar)
            || ("A"..."Z").contains(scalar) || scalar == "_"
        return isPlain ? String(scalar) : "\\\(scalar)"
    }
}
