import Glibc

/// An estimate of the guesses that an attacker needs who tries common choices first.
///
/// It follows the idea of zxcvbn (Wheeler, USENIX Security 2016): a password is split into words, names, dates, repetitions, runs
/// of keys and of characters, and a remainder; the cheapest split counts. A word list of another language would lower the
/// estimate.
///
/// ```swift
/// PasswordStrength(of: "password1").score  // 0
/// PasswordStrength(of: "correct horse battery staple").score  // 4
/// ```
struct PasswordStrength: Hashable, Sendable {
    /// Upper bound on the characters that are examined, so that an estimate takes a few milliseconds at most.
    static let maximumLength = 64

    /// The decimal logarithm of the number of guesses.
    let magnitude: Double

    /// 0: guessed at once; 1: within a million guesses; 2: withstands guessing through the service; 3 and 4: withstand guessing
    /// with a copy of the hash, 4 for long.
    var score: Int {
        switch magnitude {
        case ..<3.01: 0
        case ..<6.01: 1
        case ..<8.01: 2
        case ..<10.01: 3
        default: 4
        }
    }

    /// - Parameter own: texts that an attacker of this user would try first, such as the username; each text and its parts count.
    init(of password: String, own: [String] = []) {
        let characters = Array(password.unicodeScalars.prefix(Self.maximumLength))
        var words: [String: Int] = [:]
        for text in own {
            for part in PasswordStrength.parts(of: text) where words[part] == nil { words[part] = words.count + 1 }
        }
        magnitude = log10(PasswordStrength.guesses(characters, own: words, depth: 0))
    }

    /// Returns a text in lowercase, its words, and its parts between punctuation, of at least three characters.
    static func parts(of text: String) -> [String] {
        let small = text.lowercased()
        let words = small.split { $0 == "@" || $0.isWhitespace }
        let pieces = small.split { !$0.isLetter && !$0.isNumber }
        return ([small] + (words + pieces).map(String.init)).filter {
            (3...maximumLength).contains($0.unicodeScalars.count)
        }
    }

    // MARK: The cheapest way to put it together

    /// Returns the number of guesses for a part by brute force: ten for each character.
    private static func bruteForce(_ length: Int) -> Double {
        max(pow(10, Double(length)), length == 1 ? 11 : 51)
    }

    static func guesses(_ characters: [Unicode.Scalar], own: [String: Int], depth: Int) -> Double {
        let count = characters.count
        guard count > 0 else { return 1 }
        var matches = [[PasswordMatch]](repeating: [], count: count)
        for match in PasswordMatch.all(in: characters, own: own, depth: depth) {
            matches[match.range.upperBound - 1].append(match)
        }
        // For each prefix, the product of guesses by number of parts; the smallest one is kept.
        var products: [[Int: Double]] = []
        var totals: [[Int: Double]] = []
        func add(_ part: Double, from start: Int, to end: Int) {
            let isWhole = start == 0 && end == count - 1
            let least = isWhole ? 1 : end == start ? 10.0 : 50.0
            let guesses = max(part, least)
            let former: [Int: Double] = start == 0 ? [0: 1] : products[start - 1]
            for (parts, product) in former {
                let length = parts + 1
                let new = product * guesses
                // An attacker knows neither the number of parts nor their order.
                let total = factorial(length) * new + pow(10_000, Double(length - 1))
                guard totals[end].allSatisfy({ $0.key > length || $0.value > total }) else { continue }
                products[end][length] = new
                totals[end][length] = total
            }
        }
        for end in 0..<count {
            products.append([:])
            totals.append([:])
            for match in matches[end] { add(match.guesses, from: match.range.lowerBound, to: end) }
            for start in 0...end { add(bruteForce(end - start + 1), from: start, to: end) }
        }
        return totals[count - 1].values.min() ?? 1
    }

    private static func factorial(_ number: Int) -> Double {
        number < 2 ? 1 : (2...number).reduce(1) { $0 * Double($1) }
    }
}
