/// Matches a regular expression by simulating all paths of its automaton at once (Thompson's construction).
///
/// Matching takes at most the length of the text times the number of states, which counts as steps; it never backtracks.
struct RegexMatcher {
    private enum Step {
        case set(ScalarSet)
        case start
        case end
        /// Continues at both steps.
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
            // Each repetition may be the last.
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

    /// Returns whether a part of the text matches; false if the budget is exceeded.
    func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        guard budget.take(steps.count) else { return false }
        var run = Run(count: steps.count)
        var isFirst = true
        var scalars = text.unicodeScalars.makeIterator()
        var next = scalars.next()
        while true {
            // A match may begin at each position.
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

    /// The steps that wait for the next character, and those already visited before it.
    private struct Run {
        var waiting: [Int] = []
        /// The number of steps visited before the next character.
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

        /// Marks a step as visited; returns whether it was not yet.
        mutating func reach(_ place: Int) -> Bool {
            work += 1
            guard reached[place] != generation else { return false }
            reached[place] = generation
            return true
        }
    }

    /// Follows the steps that consume no character; returns true at the end of a match.
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
