/// A pattern as PostgreSQL's `LIKE` reads it: `%` is any text, `_` any one character, `\` makes the next one plain.
///
/// A character is a Unicode scalar. The time is at most that of the text times that of the pattern, which counts as steps.
struct LikePattern {
    private let pattern: [UInt8]

    init(_ text: String) {
        pattern = Array(text.utf8)
    }

    /// The text before the first wildcard, with which every match begins.
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

    /// Turns of the loop for which a number of steps is taken at once.
    private static let turns = 64
    private static let stepsOfTurns = 16

    /// Whether the whole text is as the pattern says; false where the budget is spent.
    func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        guard budget.take(comparing: pattern.count) else { return false }
        var text = text
        return text.withUTF8 { matches($0, within: &budget) }
    }

    /// Goes on as far as it can and, where that fails, back to the last `%`, which then takes one character more.
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

    /// The bytes of a scalar by its first one.
    private static func scalarLength(_ first: UInt8) -> Int {
        first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    }
}
