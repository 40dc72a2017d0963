import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowQuery

/// What judging changes may take, and who pays for it: without a thread or a clock.
@Suite struct LiveVerdictsTests {
    private static let attacker = ClientKey(high: 0, low: 1)
    private static let other = ClientKey(high: 0, low: 2)

    private static func predicate(_ text: String) -> ResolvedPredicate {
        .text(
            ResolvedColumn(place: .field(field("title"), position: 0), kind: .string, collation: .other),
            .pattern,
            "%\(text)%"
        )
    }

    private static let costly = predicate(String(repeating: "a", count: 1000) + "b")
    private static let cheap = predicate("aab")

    private static func record(_ title: String) -> StoredRecord {
        StoredRecord(type: type("note"), storedID: "1", fields: [field("title"): .scalar(.text(title))])
    }

    private static let long = record(String(repeating: "a", count: 3_000))

    /// Groups 1 of the attacker and 2 of another client, beside some records.
    private static func asked(_ records: [StoredRecord], _ groups: Set<Int> = [1, 2]) -> LiveVerdicts {
        var verdicts = LiveVerdicts()
        for record in records {
            for group in verdicts.ask(nil, record, of: groups) {
                verdicts.add(group, group == 1 ? costly : cheap, paidBy: group == 1 ? attacker : other)
            }
        }
        return verdicts
    }

    private static func balances(_ verdicts: LiveVerdicts, _ steps: [ClientKey: Int]) -> [Int] {
        verdicts.clients.map { client in client.flatMap { steps[$0] } ?? .max }
    }

    @Test func aPredicateThatTakesTooMuchForOneRecordIsRefusedAlone() {
        var verdicts = Self.asked([Self.record("aab"), Self.long])
        var balances = Self.balances(verdicts, [:])
        #expect(verdicts.judge(&balances, limit: 100_000))
        #expect(verdicts.refusals == [1: .record])
        #expect(verdicts.matches(at: 0) == [2: LiveVerdicts.Verdict(before: false, after: true)])
        // It is judged no more.
        verdicts.retry(1, paidBy: nil)
        #expect(verdicts.judge(&balances, limit: 100_000) && verdicts.refusals.isEmpty)
    }

    @Test func aClientWithoutStepsIsRefusedAndAnotherPaysForTheGroup() {
        let records = (0..<10).map { _ in Self.long } + [Self.record(String(repeating: "a", count: 1000) + "b")]
        var verdicts = Self.asked(records)
        var balances = Self.balances(verdicts, [Self.attacker: 600_000, Self.other: 1_000_000_000])
        #expect(verdicts.judge(&balances, limit: 100_000_000))
        #expect(verdicts.refusals == [1: .client])
        #expect(verdicts.client(of: 1) == Self.attacker)
        // The other client has a subscription of the same query, and loses nothing.
        verdicts.retry(1, paidBy: .some(Self.other))
        balances = Self.balances(verdicts, [Self.attacker: 0, Self.other: 1_000_000_000])
        #expect(verdicts.judge(&balances, limit: 100_000_000) && verdicts.refusals.isEmpty)
        #expect(verdicts.matches(at: 10)[1] == LiveVerdicts.Verdict(before: false, after: true))
        #expect((0..<10).allSatisfy { verdicts.matches(at: $0)[1] == nil })
    }

    /// What is judged in parts is what is judged at once, and no part takes more than it may.
    @Test(arguments: 0..<20) func partsComeToTheSame(_ seed: UInt64) {
        var random = SeededGenerator(seed: SeededGenerator.seedOfRun &+ seed)
        let records = (0..<50).map { _ in
            Self.record(
                String((0..<Int.random(in: 0..<40, using: &random)).map { _ in "ab".randomElement(using: &random)! })
            )
        }
        let asked = Self.asked(records)
        var whole = asked
        var balances = Self.balances(whole, [:])
        #expect(whole.judge(&balances, limit: .max))
        var parts = asked
        var turns = 0
        while true {
            let steps = Int.random(in: 500..<3_000, using: &random)
            let before = Self.balances(parts, [Self.attacker: 1_000_000, Self.other: 1_000_000])
            var after = before
            let isDone = parts.judge(&after, limit: 100_000, atMost: steps)
            #expect(before.reduce(0, +) - after.reduce(0, +) <= steps)
            turns += 1
            if isDone { break }
        }
        #expect(turns > 1 && parts.refusals.isEmpty)
        for place in records.indices { #expect(parts.matches(at: place) == whole.matches(at: place)) }
    }

    // MARK: Allowances

    private static let start = ContinuousClock.now

    @Test func stepsComeBackWithTime() {
        var limits = StepAllowances.Limits()
        limits.burst = 1_000
        limits.perSecond = 100
        var allowances = StepAllowances(limits)
        func balance(_ client: ClientKey?, _ seconds: Double) -> Int {
            allowances.balance(of: client, at: Self.start + .seconds(seconds))
        }
        #expect(balance(Self.attacker, 0) == 1_000)
        allowances.spend(1_000, of: Self.attacker, at: Self.start)
        let expected: [(Double, Int)] = [(0, 0), (1, 100), (5.5, 550), (10, 1_000), (100, 1_000), (1_000_000, 1_000)]
        for (seconds, steps) in expected { #expect(balance(Self.attacker, seconds) == steps, "after \(seconds) s") }
        #expect(balance(Self.other, 0) == 1_000)
        // The operator pays nothing.
        allowances.spend(1_000_000, of: nil, at: Self.start)
        #expect(balance(nil, 0) == .max)
    }

    /// One customer may have 256 networks of IPv6.
    @Test func aSiteHasTwiceTheStepsOfAClient() {
        var limits = StepAllowances.Limits()
        limits.burst = 1_000
        var allowances = StepAllowances(limits)
        for number in 0..<4 {
            let client = ClientKey(high: 0x2001_0db8_0001_0000 | UInt64(number << 8), low: 0)
            let balance = allowances.balance(of: client, at: Self.start)
            #expect(balance == (number < 2 ? 1_000 : 0))
            allowances.spend(balance, of: client, at: Self.start)
        }
    }

    @Test func theTableOfDebtsIsBounded() {
        var allowances = StepAllowances()
        for number in 0..<50_000 {
            let now = Self.start + .milliseconds(number)
            allowances.spend(1, of: ClientKey(high: 0, low: UInt64(number)), at: now)
        }
        #expect(allowances.debtCount <= 20_000)
    }

    // MARK: The registry

    /// A client that cannot pay loses its subscriptions to the group, and the others keep theirs.
    @Test func theSubscriptionsOfTheClientThatCannotPayEnd() throws {
        var scene = LiveScene()
        for connection in 1...3 { scene.connect(connection, MemoryOutlet()) }
        let first = try scene.subscribe("s", on: 1, group: 1, as: "ann", by: Self.attacker)
        let second = try scene.subscribe("s", on: 2, group: 1, as: "ann", by: Self.other)
        let third = try scene.subscribe("s", on: 3, group: 1, as: "bob", by: Self.attacker)
        let group = try #require(scene.state.registry.subscribers[first]?.group)
        #expect(scene.state.registry.groups[group]?.payer == Self.attacker)
        let change = RecordChange(
            of: LiveScene.table,
            storedID: "1",
            before: .row(.note("1", 1, 104)),
            after: nil,
            rows: nil
        )
        let transaction = CommittedTransaction(id: .revision(105), changes: [change])
        var verdicts = scene.state.registry.questions(of: transaction)
        var balances = Self.balances(verdicts, [Self.attacker: 3, Self.other: 1_000])
        #expect(verdicts.judge(&balances, limit: 1_000) && verdicts.refusals == [group: .client])
        let ended = scene.state.registry.takeRefusals(of: &verdicts)
        #expect(Set(ended) == [first, third])
        for subscriber in ended { scene.state.registry.remove(subscriber) }
        #expect(scene.state.registry.groups[group]?.payer == Self.other)
        balances = Self.balances(verdicts, [Self.attacker: 0, Self.other: 1_000])
        #expect(verdicts.judge(&balances, limit: 1_000) && verdicts.refusals.isEmpty)
        scene.finish(second, at: LiveScene.moment(103, at: 1))
        let dispatch = scene.state.registry.dispatch(transaction, verdicts)
        #expect(dispatch.messages.map(\.connection) == [2])
    }
}
