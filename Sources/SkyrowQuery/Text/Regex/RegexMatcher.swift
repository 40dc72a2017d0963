/// Runs a regular expression over a text, all of its ways at once (Thompson's construction).
///
/// The time is at most that of the text times that of the states, which counts as steps; nothing is tried twice.
struct RegexMatcher {
    private enum Step {
        case set(ScalarSet)
        case start
        case end
        /// Goes on at both places.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    private var steps: [Step] = []

    init(_ node: RegexNode) {
        append(node)
        steps.append(.match)
    }

    private mutating func append(_ node: RegexNode) {
        switch node {
        case .empty: break
        case .set(let set): steps.append(.set(set))
        case .start: steps.append(.start)
        case .end: steps.append(.end)
        case .sequence(let parts): for part in parts { append(part) }
        case .alternatives(let parts): append(alternatives: parts)
        case .repeated(let node, let least, let most):
            for _ in 0..<least { append(node) }
            guard let most else { return append(loopOf: node) }
            // Each may be the last.
            var splits: [Int] = []
            for _ in least..<max(most, least) {
                splits.append(steps.count)
                steps.append(.split(steps.count + 1, 0))
                append(node)
            }
            for split in splits { steps[split] = .split(split + 1, steps.count) }
        }
    }

    private mutating func append(alternatives parts: [RegexNode]) {
        var jumps: [Int] = []
        for (number, part) in parts.enumerated() {
            guard number < parts.count - 1 else {
                append(part)
                break
            }
            let split = steps.count
            steps.append(.split(split + 1, 0))
            append(part)
            jumps.append(steps.count)
            steps.append(.jump(0))
            steps[split] = .split(split + 1, steps.count)
        }
        for jump in jumps { steps[jump] = .jump(steps.count) }
    }

    private mutating func append(loopOf node: RegexNode) {
        let split = steps.count
        steps.append(.split(split + 1, 0))
        append(node)
        steps.append(.jump(split))
        steps[split] = .split(split + 1, steps.count)
    }

    // MARK: Running

    /// Whether a part of the text is as the expression says; false where the budget is spent.
    func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        guard budget.take(steps.count) else { return false }
        var run = Run(count: steps.count)
        var isFirst = true
        var scalars = text.unicodeScalars.makeIterator()
        var next = scalars.next()
        while true {
            // A match may begin at each place.
            if add(0, to: &run, isFirst: isFirst, isLast: next == nil) { return true }
            guard let scalar = next else { return false }
            next = scalars.next()
            isFirst = false
            let current = run.waiting
            guard budget.take(current.count + run.work) else { return false }
            run.begin()
            for place in current {
                guard case .set(let set) = steps[place], set.contains(scalar) else { continue }
                if add(place + 1, to: &run, isFirst: false, isLast: next == nil) { return true }
            }
        }
    }

    /// The places that wait for the next character, and those that were reached before it.
    private struct Run {
        var waiting: [Int] = []
        /// How many places were looked at before the next character.
        private(set) var work = 0
        private var reached: [Int]
        private var generation = 1

        init(count: Int) {
            reached = Array(repeating: 0, count: count)
        }

        mutating func begin() {
            waiting = []
            work = 0
            generation += 1
        }

        /// Whether a place is reached for the first time.
        mutating func reach(_ place: Int) -> Bool {
            work += 1
            guard reached[place] != generation else { return false }
            reached[place] = generation
            return true
        }
    }

    /// Goes on from a place as far as no character is needed; true where that is the end of a match.
    private func add(_ first: Int, to run: inout Run, isFirst: Bool, isLast: Bool) -> Bool {
        var open = [first]
        while let place = open.popLast() {
            guard run.reach(place) else { continue }
            switch steps[place] {
            case .set: run.waiting.append(place)
            case .start: if isFirst { open.append(place + 1) }
            case .end: if isLast { open.append(place + 1) }
            case .split(let one, let other):
                open.append(other)
                open.append(one)
            case .jump(let place): open.append(place)
            case .match: return true
            }
        }
        return false
    }
}
