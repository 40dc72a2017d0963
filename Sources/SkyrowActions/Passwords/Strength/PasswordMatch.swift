import Glibc

/// A part of a password that an attacker can guess faster than by brute force.
struct PasswordMatch: Hashable {
    let range: Range<Int>
    let guesses: Double

    /// - Parameters:
    ///   - own: the texts of the user with their ranks.
    ///   - depth: the nesting of repetitions, which are searched at depths below 2.
    static func all(in characters: [Unicode.Scalar], own: [String: Int], depth: Int) -> [PasswordMatch] {
        let small = characters.map { scalar in
            let mapped = scalar.properties.lowercaseMapping.unicodeScalars
            return mapped.count == 1 ? mapped.first ?? scalar : scalar
        }
        return words(characters, small, own: own) + keyRuns(small) + sequences(characters) + dates(characters)
            + (depth < 2 ? repetitions(small, own: own, depth: depth) : [])
    }
}

// MARK: - Words

extension PasswordMatch {
    /// Characters that resemble letters. An ambiguous one has a variant for each letter.
    private static let lookalikes: [(of: [Unicode.Scalar: Unicode.Scalar], factor: Double)] = {
        let common: [Unicode.Scalar: Unicode.Scalar] = [
            "@": "a", "4": "a", "8": "b", "(": "c", "3": "e", "6": "g", "9": "g", "0": "o", "$": "s", "5": "s",
            "+": "t",
            "7": "t", "2": "z", "!": "i", "|": "i",
        ]
        return [
            (common.merging(["1": "i"]) { $1 }, 2),
            (common.merging(["1": "l", "!": "l"]) { $1 }, 2),
        ]
    }()

    private static func words(
        _ characters: [Unicode.Scalar],
        _ small: [Unicode.Scalar],
        own: [String: Int]
    ) -> [PasswordMatch] {
        let ranks = PasswordWords.ranks
        let longest = max(PasswordWords.longest, own.keys.map(\.unicodeScalars.count).max() ?? 0)
        func rank(_ text: String) -> Int? {
            [ranks[text], own[text]].compactMap(\.self).min()
        }
        var found: [PasswordMatch] = []
        for start in small.indices {
            for end in start..<min(small.count, start + longest) {
                let part = small[start...end]
                let capitals = capitalisation(characters[start...end])
                func note(_ rank: Int?, times factor: Double) {
                    guard let rank else { return }
                    found.append(PasswordMatch(range: start..<(end + 1), guesses: Double(rank) * capitals * factor))
                }
                note(rank(text(part)), times: 1)
                // A single character is its own reverse.
                if part.count > 2 { note(rank(text(part.reversed())), times: 2) }
                for (letters, factor) in lookalikes where part.contains(where: { letters[$0] != nil }) {
                    note(rank(text(part.map { letters[$0] ?? $0 })), times: factor)
                }
            }
        }
        return found
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    /// Returns the number of ways to capitalise a word that are tried before this one.
    private static func capitalisation(_ part: ArraySlice<Unicode.Scalar>) -> Double {
        let large = part.count { $0.properties.isUppercase }
        guard large > 0 else { return 1 }
        let letters = part.count { $0.properties.isAlphabetic }
        let isUsual = large == letters || large == 1 && (part.first?.isLarge == true || part.last?.isLarge == true)
        guard !isUsual else { return 2 }
        return (1...min(large, max(1, letters - large))).reduce(0) { $0 + choices($1, of: letters) }
    }

    /// Returns the number of ways to choose `chosen` of `count` things.
    static func choices(_ chosen: Int, of count: Int) -> Double {
        guard chosen <= count else { return 0 }
        guard chosen > 0 else { return 1 }
        return (1...chosen).reduce(1) { $0 * Double(count - chosen + $1) / Double($1) }
    }
}

extension Unicode.Scalar {
    fileprivate var isLarge: Bool { properties.isUppercase }
}

// MARK: - Keys, sequences and repetitions

extension PasswordMatch {
    /// The positions of the keys of a keyboard, without key pads, whose runs are sequences.
    private static let keys: [Unicode.Scalar: (row: Int, column: Int)] = {
        var keys: [Unicode.Scalar: (row: Int, column: Int)] = [:]
        let rows = ["`1234567890-=", " qwertyuiop[]\\", " asdfghjkl;'", " zxcvbnm,./"]
        let shifted = ["~!@#$%^&*()_+", " QWERTYUIOP{}|", " ASDFGHJKL:\"", " ZXCVBNM<>?"]
        for (row, text) in rows.enumerated() + shifted.enumerated() {
            for (column, key) in text.unicodeScalars.enumerated() where key != " " { keys[key] = (row, column) }
        }
        return keys
    }()

    /// Returns the direction from one key to a neighbour; nil for keys that are not adjacent.
    private static func direction(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Int? {
        guard let from = keys[first], let to = keys[second] else { return nil }
        let (down, right) = (to.row - from.row, to.column - from.column)
        // Each row is shifted half a key to the right of the one above.
        switch (down, right) {
        case (0, 1), (0, -1), (1, 0), (1, -1), (-1, 0), (-1, 1): return down * 3 + right
        default: return nil
        }
    }

    /// Runs of neighbouring keys, such as `qwert` and `1qaz`.
    private static func keyRuns(_ small: [Unicode.Scalar]) -> [PasswordMatch] {
        var found: [PasswordMatch] = []
        var start = 0
        while start < small.count {
            var end = start
            var turns = 0
            var last: Int?
            while end + 1 < small.count, let way = direction(small[end], small[end + 1]) {
                if way != last { turns += 1 }
                last = way
                end += 1
            }
            let length = end - start + 1
            if length > 2 {
                // 47 first keys, with about 4.6 neighbours each.
                var guesses = 0.0
                for steps in 2...length {
                    for turn in 1...min(turns, steps - 1) {
                        guesses += choices(turn - 1, of: steps - 1) * 47 * pow(4.6, Double(turn))
                    }
                }
                found.append(PasswordMatch(range: start..<(end + 1), guesses: guesses))
            }
            start = max(end, start + 1)
        }
        return found
    }

    /// Characters with a constant difference, such as `abcd`, `9753` and `lmno`.
    private static func sequences(_ characters: [Unicode.Scalar]) -> [PasswordMatch] {
        var found: [PasswordMatch] = []
        var start = 0
        while start + 1 < characters.count {
            let step = Int(characters[start + 1].value) - Int(characters[start].value)
            var end = start + 1
            while end + 1 < characters.count,
                Int(characters[end + 1].value) - Int(characters[end].value) == step
            { end += 1 }
            let length = end - start + 1
            if length > 2, (1...5).contains(abs(step)) {
                let base: Double =
                    "aAzZ019".unicodeScalars.contains(characters[start])
                    ? 4 : characters[start].properties.numericType == .decimal ? 10 : 26
                let guesses = base * (step < 0 ? 2 : 1) * Double(length)
                found.append(PasswordMatch(range: start..<(end + 1), guesses: guesses))
            }
            start = end
        }
        return found
    }

    /// Repetitions of one part, such as `aaaa` and `abcabc`.
    private static func repetitions(_ small: [Unicode.Scalar], own: [String: Int], depth: Int) -> [PasswordMatch] {
        var found: [PasswordMatch] = []
        guard small.count > 1 else { return [] }
        for period in 1...max(1, small.count / 2) {
            var start = 0
            while start + period < small.count {
                var end = start
                while end + period < small.count, small[end] == small[end + period] { end += 1 }
                let times = (end - start + period) / period
                let range = start..<(start + times * period)
                // A shorter period has already found these.
                if times > 1,
                    !found.contains(where: { $0.range.lowerBound <= start && $0.range.upperBound >= range.upperBound })
                {
                    let part = Array(small[start..<(start + period)])
                    let guesses = PasswordStrength.guesses(part, own: own, depth: depth + 1) * Double(times)
                    found.append(PasswordMatch(range: range, guesses: guesses))
                }
                start = max(end, start + 1)
            }
        }
        return found
    }
}

private func + <First: Sequence, Second: Sequence>(first: First, second: Second) -> [First.Element]
where First.Element == Second.Element {
    Array(first) + Array(second)
}
