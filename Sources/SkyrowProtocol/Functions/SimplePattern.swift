/// A regular expression without groups and alternatives: characters, `.`, classes such as `[a-z_]` or `[^0-9]`, `\d \w \s \D \W \S`,
/// escaped punctuation, each possibly repeated (`? * + {m} {m,} {m,n}`), and `^` and `$` at the ends.
///
/// ```swift
/// try SimplePattern("^[A-Z]{2}-\\d{4}$").matches("DE-2026", within: &steps)
/// ```
///
/// Matching follows all repetitions at once, so it takes at most the length of the text times the states.
struct SimplePattern: Hashable, Sendable {
    /// Upper bound on the bytes of a pattern.
    static let maximumBytes = 256
    /// Upper bound on the characters with repetitions expanded.
    static let maximumStates = 1_000

    private struct CharacterSet: Hashable, Sendable {
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        var isNegated = false

        func contains(_ scalar: Unicode.Scalar) -> Bool {
            ranges.contains { $0.contains(scalar) } != isNegated
        }
    }

    private struct State: Hashable, Sendable {
        var set: CharacterSet
        var isOptional: Bool
        var repeats: Bool
    }

    private var states: [State] = []
    private let startsAtStart: Bool
    private let endsAtEnd: Bool

    /// Throws what is wrong with the text, as a clause that follows its name.
    init(_ text: String) throws(RegistrationFault) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw RegistrationFault("has more than \(Self.maximumBytes) bytes")
        }
        var scalars = Array(text.unicodeScalars)[...]
        startsAtStart = scalars.first == "^"
        if startsAtStart { scalars.removeFirst() }
        // An escaped dollar is a character.
        let escapes = scalars.dropLast().reversed().prefix { $0 == "\\" }.count
        endsAtEnd = scalars.last == "$" && escapes % 2 == 0
        if endsAtEnd { scalars.removeLast() }
        while let set = try Self.set(&scalars) {
            let (least, most) = try Self.bounds(&scalars)
            let count = max(least, most ?? max(least, 1))
            guard states.count + count <= Self.maximumStates else {
                throw RegistrationFault("has more than \(Self.maximumStates) characters with its repetitions")
            }
            for place in 0..<count {
                let isLast = place == count - 1
                states.append(State(set: set, isOptional: place >= least, repeats: most == nil && isLast))
            }
        }
    }

    /// Whether the text, or a part of it where no `^` or `$` stands, matches; false when the steps are used up.
    func matches(_ text: String, within steps: inout Int) -> Bool {
        var active = [Bool](repeating: false, count: states.count + 1)
        active[0] = true
        pass(&active)
        for scalar in text.unicodeScalars {
            if active[states.count], !endsAtEnd { return true }
            steps -= states.count + 1
            guard steps >= 0 else { return false }
            var next = [Bool](repeating: false, count: states.count + 1)
            if !startsAtStart { next[0] = true }
            for (place, state) in states.enumerated() where active[place] && state.set.contains(scalar) {
                next[place + 1] = true
                if state.repeats { next[place] = true }
            }
            pass(&next)
            active = next
        }
        return active[states.count]
    }

    /// Passes over the states that need no character.
    private func pass(_ active: inout [Bool]) {
        for (place, state) in states.enumerated() where active[place] && state.isOptional { active[place + 1] = true }
    }

    // MARK: Reading

    private static let digits = CharacterSet(ranges: ["0"..."9"])
    private static let words = CharacterSet(ranges: ["0"..."9", "A"..."Z", "_"..."_", "a"..."z"])
    private static let blanks = CharacterSet(ranges: ["\t"..."\r", " "..." "])

    private static func set(_ rest: inout ArraySlice<Unicode.Scalar>) throws(RegistrationFault) -> CharacterSet? {
        guard let scalar = rest.popFirst() else { return nil }
        switch scalar {
        case ".": return CharacterSet(isNegated: true)
        case "\\": return try escape(&rest)
        case "[": return try characterClass(&rest)
        case "(", ")", "|": throw RegistrationFault("has a group or an alternative, which is not supported")
        case "?", "*", "+", "{": throw RegistrationFault("repeats nothing or a repetition")
        case "^", "$": throw RegistrationFault("has ^ or $ between characters")
        case "]", "}": throw RegistrationFault("has an unescaped bracket")
        default: return CharacterSet(ranges: [scalar...scalar])
        }
    }

    private static func escape(_ rest: inout ArraySlice<Unicode.Scalar>) throws(RegistrationFault) -> CharacterSet {
        guard let scalar = rest.popFirst() else { throw RegistrationFault("ends with a backslash") }
        switch scalar {
        case "d": return digits
        case "w": return words
        case "s": return blanks
        case "D": return CharacterSet(ranges: digits.ranges, isNegated: true)
        case "W": return CharacterSet(ranges: words.ranges, isNegated: true)
        case "S": return CharacterSet(ranges: blanks.ranges, isNegated: true)
        case _ where scalar.isASCII && !words.contains(scalar): return CharacterSet(ranges: [scalar...scalar])
        default: throw RegistrationFault("has the escape \"\\\(scalar)\", which is not supported")
        }
    }

    private static func characterClass(
        _ rest: inout ArraySlice<Unicode.Scalar>
    ) throws(RegistrationFault) -> CharacterSet {
        var set = CharacterSet()
        if rest.first == "^" {
            rest.removeFirst()
            set.isNegated = true
        }
        while let scalar = rest.popFirst() {
            if scalar == "]" {
                guard !set.ranges.isEmpty else { break }
                return set
            }
            if scalar == "[" { throw RegistrationFault("has an unescaped bracket") }
            var member = CharacterSet(ranges: [scalar...scalar])
            if scalar == "\\" { member = try escape(&rest) }
            guard !member.isNegated else { throw RegistrationFault("has \\D, \\W or \\S in a class") }
            guard rest.first == "-", rest.dropFirst().first != "]" else {
                set.ranges += member.ranges
                continue
            }
            rest.removeFirst()
            guard let end = rest.popFirst(), end != "\\", end != "[", let start = member.ranges.first?.lowerBound,
                member.ranges == [start...start], start <= end
            else { throw RegistrationFault("has a range that is not from one character to a later one") }
            set.ranges.append(start...end)
        }
        throw RegistrationFault("has a class that is empty or not closed")
    }

    private static func bounds(
        _ rest: inout ArraySlice<Unicode.Scalar>
    ) throws(RegistrationFault) -> (least: Int, most: Int?) {
        switch rest.first {
        case "?":
            rest.removeFirst()
            return (0, 1)
        case "*":
            rest.removeFirst()
            return (0, nil)
        case "+":
            rest.removeFirst()
            return (1, nil)
        case "{":
            let text = rest.dropFirst().prefix { $0 != "}" }
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { number($0) }
            let fault = RegistrationFault("has a repetition that is not {m}, {m,} or {m,n}")
            guard text.endIndex < rest.endIndex, let least = parts[0] else { throw fault }
            rest = rest.dropFirst(text.count + 2)
            switch parts.count {
            case 1: return (least, least)
            case 2 where text.last == ",": return (least, nil)
            case 2:
                guard let most = parts[1], most >= least else { throw fault }
                return (least, most)
            default: throw fault
            }
        default: return (1, 1)
        }
    }

    private static func number(_ text: ArraySlice<Unicode.Scalar>) -> Int? {
        guard (1...4).contains(text.count), text.allSatisfy({ digits.contains($0) }) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1.value - 0x30) }
    }
}
