import SkyrowQuery
import SkyrowStore

/// The verdicts of groups' predicates on changed records: cases are added under the registry's lock and judged outside of it.
///
/// ```swift
/// var verdicts = registry.questions(of: transaction)
/// if verdicts.judge(&balances, limit: 5_000_000, atMost: 20_000) { … }
/// let dispatch = registry.dispatch(transaction, verdicts)
/// ```
struct LiveVerdicts: Sendable {
    typealias Group = SubscriptionIndex.Group

    /// A change to judge: the record before and after.
    struct Case: Sendable {
        let before: StoredRecord?
        let after: StoredRecord?
        let groups: Set<Group>
    }

    /// Whether the predicate of a group matches the two records of a case.
    struct Verdict: Equatable, Sendable {
        let before: Bool
        let after: Bool

        static let neither = Verdict(before: false, after: false)
    }

    /// Why a group was not fully judged.
    enum Refusal: Equatable, Sendable {
        /// Its predicate takes too many steps for one record.
        case record
        /// The paying client has no steps left.
        case client
    }

    /// A group whose predicate is evaluated.
    fileprivate struct Subject: Sendable {
        let predicate: ResolvedPredicate?
        /// The index of its client in ``clients``.
        var payer: Int
    }

    private(set) var cases: [Case] = []
    /// The clients that pay for the steps; nil for the operator.
    private(set) var clients: [ClientKey?] = []
    private(set) var refusals: [Group: Refusal] = [:]
    private var places: [ClientKey?: Int] = [:]
    private var subjects: [Group: Subject] = [:]
    /// The verdicts by case; without those of groups that neither record matches, which are most.
    private var verdicts: [[Group: Verdict]] = []
    /// The index of the first case that is not judged yet.
    private var next = 0
    /// The groups for which earlier cases are judged again.
    private var again: Set<Group> = []

    // MARK: Asking

    /// Adds a case; returns the new groups, which ``add(_:_:paidBy:)`` has to follow for.
    mutating func ask(_ before: StoredRecord?, _ after: StoredRecord?, of groups: Set<Group>) -> [Group] {
        cases.append(Case(before: before, after: after, groups: groups))
        verdicts.append([:])
        return groups.filter { subjects[$0] == nil }
    }

    /// Adds the predicate of a group, and the client that pays for it.
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

    /// Has a refused group judged for another client, or drops it.
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

    /// Returns the client that pays for a group; nil for the operator.
    func client(of group: Group) -> ClientKey? {
        subjects[group].flatMap { clients[$0.payer] }
    }

    // MARK: Judging

    /// Finds the missing verdicts within some steps; returns false if those did not suffice.
    ///
    /// - Parameters:
    ///   - balances: the steps of each client, by its index.
    ///   - limit: upper bound on the steps of a predicate for one record.
    ///   - steps: upper bound on all steps.
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

    /// Returns the verdicts of a case, without those of groups that neither record matches.
    func matches(at place: Int) -> [Group: Verdict] { verdicts[place] }
}

extension LiveVerdicts.Subject {
    /// Additional steps of a verdict: the lookup of the group and the storage of the result.
    private static let overhead = 8

    fileprivate func verdict(_ asked: LiveVerdicts.Case, _ budget: inout StepBudget) -> LiveVerdicts.Verdict? {
        guard budget.take(Self.overhead), let before = matches(asked.before, &budget),
            let after = matches(asked.after, &budget)
        else { return nil }
        return LiveVerdicts.Verdict(before: before, after: after)
    }

    /// Returns whether a record matches; nil when the budget is used up.
    private func matches(_ record: StoredRecord?, _ budget: inout StepBudget) -> Bool? {
        guard let record else { return false }
        guard let predicate else { return true }
        return predicate.truth(of: record, within: &budget).map { $0 == .yes }
    }
}
