/// Why a text is not a regular expression of the supported subset, and where.
package struct RegexMisfit: Error, Hashable, Sendable {
    /// The reason, as a sentence.
    package var reason: String
    /// The number of the offending character, starting at 1.
    package var position: Int
}

/// Parses a regular expression of the subset that means the same in PostgreSQL and in memory.
///
/// It refuses constructs of other engines by name, and never reads a character as literal that is special elsewhere.
struct RegexParser {
    /// Upper bound on the number of repetitions.
    private static let maximumRepetition = 255

    private let scalars: [Unicode.Scalar]
    /// Whether the expression is for case-folded texts: its characters are folded, but not `\w` and similar classes.
    private let folds: Bool
    private var place = 0

    init(_ text: String, folds: Bool) {
        scalars = Array(text.unicodeScalars)
        self.folds = folds
    }

    mutating func parse() throws(RegexMisfit) -> RegexNode {
        let node = try alternatives()
        if peek() != nil { throw misfit("Unmatched closing parenthesis; write a literal one as \"\\)\".") }
        return node
    }

    // MARK: Characters

    private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
        place + distance < scalars.count ? scalars[place + distance] : nil
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek() == scalar else { return false }
        place += 1
        return true
    }

    private func misfit(_ reason: String, at place: Int? = nil) -> RegexMisfit {
        RegexMisfit(reason: reason, position: (place ?? self.place) + 1)
    }

    // MARK: Grammar

    private mutating func alternatives() throws(RegexMisfit) -> RegexNode {
        var parts = [try sequence()]
        while take("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : .alternatives(parts)
    }

    private mutating func sequence() throws(RegexMisfit) -> RegexNode {
        var parts: [RegexNode] = []
        while let scalar = peek(), scalar != "|", scalar != ")" {
            let part = try quantified(atom())
            if case .sequence(let inner) = part { parts += inner } else { parts.append(part) }
        }
        return parts.isEmpty ? .empty : parts.count == 1 && parts[0] != .start ? parts[0] : .sequence(parts)
    }

    private mutating func atom() throws(RegexMisfit) -> RegexNode {
        guard let scalar = peek() else { return .empty }
        switch scalar {
        case "(": return try group()
        case "[": return .set(try characterClass())
        case ".":
            place += 1
            return .set(.any)
        case "^":
            place += 1
            return .start
        case "$":
            place += 1
            return .end
        case "*", "+", "?", "{":
            throw misfit("\"\(scalar)\" has nothing to repeat; write a literal one as \"\\\(scalar)\".")
        case "\\":
            let (set, isClass) = try escape()
            if !isClass, let scalar = set.single { return literal(scalar) }
            return .set(set)
        case "\0": throw misfit("A pattern cannot contain NUL.")
        default:
            place += 1
            return literal(scalar)
        }
    }

    private func literal(_ scalar: Unicode.Scalar) -> RegexNode {
        guard folds else { return .set(ScalarSet(scalar)) }
        let parts = TextFolding.fold(String(scalar)).unicodeScalars.map { RegexNode.set(ScalarSet($0)) }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func group() throws(RegexMisfit) -> RegexNode {
        let start = place
        place += 1
        if peek() == "?" {
            guard peek(1) == ":" else {
                throw misfit(
                    "\"(?\" must be followed by \":\"; options, named groups and lookaround are not supported."
                )
            }
            place += 2
        }
        let node = try alternatives()
        guard take(")") else { throw misfit("The parenthesis is not closed.", at: start) }
        return node
    }

    private mutating func quantified(_ atom: RegexNode) throws(RegexMisfit) -> RegexNode {
        let place = place
        guard let (least, most) = try quantifier() else { return atom }
        guard !atom.hasAnchor else { throw misfit("\"^\" and \"$\" cannot be repeated.", at: place) }
        switch peek() {
        case "?", "+", "*": throw misfit("A repetition cannot be repeated; lazy and possessive ones are not supported.")
        case "{": throw misfit("A repetition cannot be repeated.")
        default: break
        }
        if most == 0 { return .empty }
        return least == 1 && most == 1 ? atom : .repeated(atom, least: least, most: most)
    }

    private mutating func quantifier() throws(RegexMisfit) -> (least: Int, most: Int?)? {
        if take("?") { return (0, 1) }
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        guard peek() == "{" else { return nil }
        let start = place
        place += 1
        guard let least = try number() else { throw misfit("A bound must be {m}, {m,} or {m,n}.", at: start) }
        var most: Int? = least
        if take(",") { most = try number() }
        guard take("}") else { throw misfit("A bound must be {m}, {m,} or {m,n}.", at: start) }
        if let most, most < least {
            throw misfit("The second number of a bound must not be less than the first.", at: start)
        }
        return (least, most)
    }

    private mutating func number() throws(RegexMisfit) -> Int? {
        let start = place
        var number = 0
        while let scalar = peek(), ("0"..."9").contains(scalar) {
            number = number * 10 + Int(scalar.value - 0x30)
            guard number <= Self.maximumRepetition else {
                throw misfit("A bound can repeat at most \(Self.maximumRepetition) times.", at: start)
            }
            place += 1
        }
        return place == start ? nil : number
    }

    // MARK: Classes and escapes

    private mutating func escape() throws(RegexMisfit) -> (set: ScalarSet, isClass: Bool) {
        let start = place
        place += 1
        guard let scalar = peek() else { throw misfit("A pattern must not end with its escape character.", at: start) }
        place += 1
        switch scalar {
        case "d": return (.digits, true)
        case "w": return (.words, true)
        case "s": return (.blanks, true)
        case "D": return (ScalarSet.digits.complement, true)
        case "W": return (ScalarSet.words.complement, true)
        case "S": return (ScalarSet.blanks.complement, true)
        case "n": return (ScalarSet("\n"), false)
        case "t": return (ScalarSet("\t"), false)
        case "u": return (ScalarSet(try codePoint(at: start)), false)
        case "1"..."9": throw misfit("Back references are not supported.", at: start)
        case "b", "B", "A", "Z", "z", "m", "M", "y", "Y":
            throw misfit("The only supported boundaries are \"^\" and \"$\".", at: start)
        case _ where scalar.value > 0x20 && scalar.value < 0x7F && !ScalarSet.words.contains(scalar), " ", "_":
            return (ScalarSet(scalar), false)
        default:
            throw misfit("The escape \"\\\(scalar)\" is not supported.", at: start)
        }
    }

    private mutating func codePoint(at start: Int) throws(RegexMisfit) -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = peek().flatMap({ Character($0).hexDigitValue }), peek()?.isASCII ?? false else {
                throw misfit("\"\\u\" must be followed by four hexadecimal digits.", at: start)
            }
            value = value * 16 + UInt32(digit)
            place += 1
        }
        guard value > 0, let scalar = Unicode.Scalar(value) else {
            throw misfit("\"\\u\" cannot be NUL or half of a surrogate pair.", at: start)
        }
        return scalar
    }

    private mutating func characterClass() throws(RegexMisfit) -> ScalarSet {
        let start = place
        place += 1
        let isNegated = take("^")
        if peek() == "]" { throw misfit("A character class cannot be empty; write a literal bracket as \"\\]\".") }
        var set = ScalarSet([])
        while let scalar = peek(), scalar != "]" {
            if scalar == "[", let next = peek(1), next == ":" || next == "." || next == "=" {
                throw misfit("Named character classes are not supported; write a literal bracket as \"\\[\".")
            }
            let first = place
            let (member, isClass) = try classMember()
            guard peek() == "-", let end = peek(1), end != "]" else {
                set = set.union(folds && !isClass ? member.folded : member)
                continue
            }
            place += 1
            let (last, lastIsClass) = try classMember()
            guard !isClass, !lastIsClass, let from = member.single, let to = last.single else {
                throw misfit(
                    "A range must be from one character to another; write a literal \"-\" as \"\\-\".",
                    at: first
                )
            }
            guard from <= to else { throw misfit("The end of a range must not be before its start.", at: first) }
            let range = ScalarSet([from.value...to.value])
            set = set.union(folds ? range.folded : range)
        }
        guard take("]") else { throw misfit("The character class is not closed.", at: start) }
        let result = isNegated ? set.complement : set
        guard !result.isEmpty else { throw misfit("The character class matches no character.", at: start) }
        return result
    }

    private mutating func classMember() throws(RegexMisfit) -> (set: ScalarSet, isClass: Bool) {
        guard let scalar = peek() else { return (ScalarSet([]), false) }
        if scalar == "\\" { return try escape() }
        if scalar == "\0" { throw misfit("A pattern cannot contain NUL.") }
        place += 1
        return (ScalarSet(scalar), false)
    }
}
