extension PasswordMatch {
    /// The reference year for birthdays and other years in passwords.
    private static let presentYear = 2025

    /// Years and dates: `1987`, `240387`, `24.3.1987`, `1987-03-24`.
    static func dates(_ characters: [Unicode.Scalar]) -> [PasswordMatch] {
        let digits = characters.map { ("0"..."9").contains($0) ? Int($0.value) - 48 : nil }
        var found: [PasswordMatch] = []
        for start in characters.indices {
            for length in 4...10 where start + length <= characters.count {
                let range = start..<(start + length)
                if let numbers = separated(characters[range]) {
                    guard let years = years(of: numbers) else { continue }
                    found.append(PasswordMatch(range: range, guesses: 4 * 365 * years))
                } else if length <= 8, let plain = together(digits[range]) {
                    if length == 4, (1900...2050).contains(number(plain[...])) {
                        found.append(PasswordMatch(range: range, guesses: distance(number(plain[...]))))
                    }
                    let years = splits(of: plain).compactMap(years(of:)).min()
                    if let years { found.append(PasswordMatch(range: range, guesses: 365 * years)) }
                }
            }
        }
        return found
    }

    private static func distance(_ year: Int) -> Double { Double(max(abs(year - presentYear), 20)) }

    /// Returns the digits if all characters are digits; nil otherwise.
    private static func together(_ digits: ArraySlice<Int?>) -> [Int]? {
        let all = digits.compactMap(\.self)
        return all.count == digits.count ? all : nil
    }

    private static func number(_ digits: ArraySlice<Int>) -> Int {
        digits.reduce(0) { $0 * 10 + $1 }
    }

    /// A number, and the number of digits that it is written with.
    private typealias Part = (value: Int, digits: Int)

    /// Three numbers with the same separator between them.
    private static func separated(_ part: ArraySlice<Unicode.Scalar>) -> [Part]? {
        let signs = part.filter { !("0"..."9").contains($0) }
        guard signs.count == 2, signs.first == signs.last, let sign = signs.first,
            " -/._\\".unicodeScalars.contains(sign)
        else { return nil }
        let numbers = part.split(separator: sign, omittingEmptySubsequences: false)
        guard numbers.count == 3, numbers.allSatisfy({ (1...4).contains($0.count) }) else { return nil }
        return numbers.map { ($0.reduce(0) { $0 * 10 + Int($1.value) - 48 }, $0.count) }
    }

    /// Returns the ways to read digits as three numbers.
    private static func splits(of digits: [Int]) -> [[Part]] {
        let count = digits.count
        var splits: [[Part]] = []
        for first in 1...4 {
            for second in 1...2 where first + second < count && (1...4).contains(count - first - second) {
                let places = [0, first, first + second, count]
                splits.append(zip(places, places.dropFirst()).map { (number(digits[$0..<$1]), $1 - $0) })
            }
        }
        return splits
    }

    /// Returns the number of years to try for a date; nil for an invalid date.
    private static func years(of numbers: [Part]) -> Double? {
        func isDayAndMonth(_ first: Part, _ second: Part) -> Bool {
            guard first.digits <= 2, second.digits <= 2 else { return false }
            let (one, two) = (first.value, second.value)
            return (1...31).contains(one) && (1...12).contains(two) || (1...12).contains(one) && (1...31).contains(two)
        }
        func year(_ part: Part) -> Int? {
            switch part.digits {
            case 4: (1900...2050).contains(part.value) ? part.value : nil
            case 2: part.value > 50 ? 1900 + part.value : 2000 + part.value
            default: nil
            }
        }
        if let year = year(numbers[2]), isDayAndMonth(numbers[0], numbers[1]) { return distance(year) }
        if let year = year(numbers[0]), isDayAndMonth(numbers[1], numbers[2]) { return distance(year) }
        return nil
    }
}
