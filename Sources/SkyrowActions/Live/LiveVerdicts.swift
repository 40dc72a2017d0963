import SkyrowQuery
import SkyrowStore

/// What the predicates of groups are for some records: asked under the lock of the registry, and found outside of it.
///
/// ```swift
/// var verdicts = registry.questions(of: transaction)
/// if verdicts.judge(&balances, atMost: 20_000) { … }
/// let dispatch = registry.dispatch(transaction, verdicts)
/// ```
struct LiveVerdicts: Sendable {
    typealias Group = SubscriptionIndex.Group

    /// What is asked about a change: the record before and after.
    struct Case: Sendable {
        let before: StoredRecord?
        let after: StoredRecord?
        let groups: Set<Group>
    }

    /// Whether the predicate of a group is true of the two records of a case.
    struct Verdict: Equatable, Sendable {
        let before: Bool
        let after: Bool

        static let neither = Verdict(before: false, after: false)
    }

    /// Why a group was not judged to the end.
    enum Refusal: Equatable, Sendable {
        /// Its predicate takes too many steps for one record.
        case record
        /// The client that pays for it has none left.
        case client
    }

    /// A group whose predicate is asked.
    fileprivate struct Subject: Sendable {
        let predicate: ResolvedPredicate?
        /// The place of its client among ``clients``.
        var payer: Int
    }

    private(set) var cases: [Case] = []
    /// The clients that pay for the steps; nil for the operator.
    private(set) var clients: [ClientKey?] = []
    private(set) var refusals: [Group: Refusal] = [:]
    private var places: [ClientKey?: Int] = [:]
    private var subjects: [Group: Subject] = [:]
    /// The verdicts by cases, but for those of groups that neither record matches, which are most.
    private var verdicts: [[Group: Verdict]] = []
    /// The cases before this one have been judged.
    private var next = 0
    /// The groups for which they are judged again.
    private var again: Set<Group> = []

    // MARK: Asking

    /// Adds a case; returns the groups that are asked for the first time, whose subjects have to follow.
    mutating func ask(_ before: StoredRecord?, _ after: StoredRecord?, of groups: Set<Group>) -> [Group] {
        cases.append(Case(before: before, after: after, groups: groups))
        verdicts.append([:])
        return groups.filter { subjects[$0] == nil }
    }

    /// Sets what is asked of a group, and who pays for it.
    mutating func add(_ group: Group, _ predicate: ResolvedPredicate?, paidBy client: ClientKey?) {
        let payer = payer(client)
        subjects[group] = Subject(predicate: predicate, payer: payer)
    }

    private mutating func payer(_ client: ClientKey?) -> Int {
        if let place = places[client] { return place }
        clients.append(client)
        places[client] = clients.count - 1
        return clients.count - 1
    }

    /// Has a refused group be judged for another client, or no more.
    mutating func retry(_ group: Group, paidBy client: ClientKey??) {
        refusals[group] = nil
        guard let client else {
            subjects[group] = nil
            return
        }
        let payer = payer(client)
        subjects[group]?.payer = payer
        again.insert(group)
    }

    /// The client that pays for a group; nil for the operator.
    func client(of group: Group) -> ClientKey? {
        subjects[group].flatMap { clients[$0.payer] }
    }

    // MARK: Judging

    /// Finds the verdicts that are missing, within some steps; false where those did not suffice.
    ///
    /// - Parameters:
    ///   - balances: the steps that each of the clients has, by their places.
    ///   - limit: the steps that a predicate may take for one record.
    ///   - steps: those of all.
    mutating func judge(_ balances: inout [Int], limit: Int, atMost steps: Int = .max) -> Bool {
        var left = steps
        if !again.isEmpty {
            for place in 0..<next {
                let groups = again.intersection(cases[place].groups)
                guard judge(place, groups, &balances, limit, &left) else { return false }
            }
            again = []
        }
        while next < cases.count {
            guard judge(next, cases[next].groups, &balances, limit, &left) else { return false }
            next += 1
        }
        return true
    }

    private mutating func judge(
        _ place: Int,
        _ groups: Set<Group>,
        _ balances: inout [Int],
        _ limit: Int,
        _ left: inout Int
    ) -> Bool {
        for group in groups where refusals[group] == nil && verdicts[place][group] == nil {
            guard let subject = subjects[group] else { continue }
            let balance = balances[subject.payer]
            let allowed = min(left, min(balance, limit))
            var budget = StepBudget(allowed)
            let verdict = subject.verdict(cases[place], &budget)
            let taken = allowed - budget.remaining
            left -= taken
            balances[subject.payer] -= taken
            if let verdict {
                if verdict != .neither { verdicts[place][group] = verdict }
            } else if allowed == limit {
                refusals[group] = .record
            } else if allowed == balance {
                refusals[group] = .client
            } else {
                return false
            }
        }
        return true
    }

    // MARK: Answers

    /// The verdicts of a case, but for those of groups that neither record matches.
    func matches(at place: Int) -> [Group: Verdict] { verdicts[place] }
}

extension LiveVerdicts.Subject {
    /// Steps that each verdict takes besides: the group is looked up, and what is found is kept.
    private static let overhead = 8

    fileprivate func verdict(_ asked: LiveVerdicts.Case, _ budget: inout StepBudget) -> LiveVerdicts.Verdict? {
        guard budget.take(Self.overhead), let before = matches(asked.before, &budget),
            let after = matches(asked.after, &budget)
        else { return nil }
        return LiveVerdicts.Verdict(before: before, after: after)
    }

    /// Whether a record matches; nil where the budget is spent.
    private func matches(_ record: StoredRecord?, _ budget: inout StepBudget) -> Bool? {
        guard let record else { return false }
        guard let predicate else { return true }
        return predicate.truth(of: record, within: &budget).map { $0 == .yes }
    }
}
