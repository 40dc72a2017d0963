/// A pattern of PostgreSQL's `LIKE`: `%` matches any text, `_` any one character, and `\` escapes the next one.
///
/// A character is a Unicode scalar. Matching takes at most the length of the text times that of the pattern in steps.
struct LikePattern {
    private let pattern: [UInt8]

    init(_ text: String) {
        pattern = Array(text.utf8)
    }

    /// The literal prefix of the pattern, with which every match begins.
    var head: String {
        var head: [UInt8] = []
        var place = 0
        while place < pattern.count, pattern[place] != UInt8(ascii: "%"), pattern[place] != UInt8(ascii: "_") {
            if pattern[place] == UInt8(ascii: "\\"), place + 1 < pattern.count { place += 1 }
            head.append(pattern[place])
            place += 1
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Loop iterations for which steps are taken at once.
    private static let turns = 64
    private static let stepsOfTurns = 16

    /// Returns whether the pattern matches the whole text; false if the budget is exceeded.
    func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        guard budget.take(comparing: pattern.count) else { return false }
        var text = text
        return text.withUTF8 { matches($0, within: &budget) }
    }

    /// Matches greedily and backtracks to the last `%`, which then matches one more character.
    private func matches(_ text: UnsafeBufferPointer<UInt8>, within budget: inout StepBudget) -> Bool {
        var place = 0
        var step = 0
        var resumption: (place: Int, step: Int)?
        var turns = 0
        while place < text.count {
            turns += 1
            if turns.isMultiple(of: Self.turns), !budget.take(Self.stepsOfTurns) { return false }
            if step < pattern.count {
                switch pattern[step] {
                case UInt8(ascii: "%"):
                    step += 1
                    resumption = (place, step)
                    continue
                case UInt8(ascii: "_"):
                    step += 1
                    place += Self.scalarLength(text[place])
                    continue
                case let byte:
                    let plain = byte == UInt8(ascii: "\\") && step + 1 < pattern.count ? step + 1 : step
                    if pattern[plain] == text[place] {
                        step = plain + 1
                        place += 1
                        continue
                    }
                }
            }
            guard let last = resumption else { return false }
            place = last.place + Self.scalarLength(text[last.place])
            step = last.step
            resumption = (place, step)
        }
        return pattern[step...].allSatisfy { $0 == UInt8(ascii: "%") }
    }

    /// Returns the length of a scalar from its first byte.
    private static func scalarLength(_ first: UInt8) -> Int {
        first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    }
}
