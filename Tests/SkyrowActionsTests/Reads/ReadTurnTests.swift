import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The turns of reads whose class is found out while they have one.
@Suite(.timeLimit(.minutes(60))) struct ReadTurnTests {
    typealias CostClass = QueryExplanation.CostClass

    private static let limits = ReadLimits(
        running: 6,
        joins: 3,
        scans: 2,
        waiting: 10,
        share: ClientShare(percent: 100),
        patience: .milliseconds(1)
    )

    private func key(_ number: Int) -> ClientKey { ClientKey(high: 0, low: UInt64(number)) }

    /// A turn, and the class in whose queue it is; nil without one.
    private struct Entry {
        let turn: ReadTurn
        var costClass: CostClass?
    }

    /// The classes of one queue.
    private static func isSame(_ a: CostClass, _ b: CostClass) -> Bool {
        a == b || [a, b].allSatisfy { $0 == .point || $0 == .indexed }
    }

    private static func count(_ costClass: CostClass, _ entries: [Entry]) -> Int {
        entries.count { $0.costClass.map { isSame($0, costClass) } ?? false }
    }

    private static func move(_ turn: ReadTurn, to costClass: CostClass) async -> SkyrowError? {
        do throws(SkyrowError) {
            try await turn.move(to: costClass)
            return nil
        } catch {
            return error
        }
    }

    private static func running(_ costClass: CostClass) -> Int {
        switch costClass {
        case .point, .indexed: limits.running
        case .join: limits.joins
        case .scan: limits.scans
        }
    }

    @Test(arguments: 1...20)
    func anySchedule(seed: UInt64) async throws {
        var random = SeededGenerator(seed: SeededGenerator.seedOfRun &+ seed)
        let queues = ReadQueues(Self.limits)
        var entries: [Entry] = []
        for _ in 0..<300 {
            let place = entries.indices.randomElement(using: &random)
            switch (Int.random(in: 0..<4, using: &random), place) {
            case (0, let place?):
                entries.remove(at: place).turn.leave()
            case (1...2, let place?):
                let costClass = CostClass.allCases[Int.random(in: 0..<CostClass.allCases.count, using: &random)]
                guard let current = entries[place].costClass else { continue }
                let fits = Self.isSame(current, costClass) || Self.count(costClass, entries) < Self.running(costClass)
                let error = await Self.move(entries[place].turn, to: costClass)
                // One that waited in vain has no turn.
                #expect(error?.code == (fits ? nil : .overloaded))
                entries[place].costClass = fits ? costClass : nil
            default:
                guard Self.count(.indexed, entries) < Self.limits.running else { continue }
                let turn = ReadTurn(of: key(Int.random(in: 1...3, using: &random)), in: queues)
                try await turn.enter()
                entries.append(Entry(turn: turn, costClass: .point))
            }
            for costClass in CostClass.allCases {
                let count = Self.count(costClass, entries)
                #expect(queues[costClass].counts == ReadCounts(running: count, waiting: 0))
                #expect(count <= Self.running(costClass))
            }
        }
        for entry in entries {
            entry.turn.leave()
            // Nothing is left twice.
            entry.turn.leave()
        }
        for costClass in CostClass.allCases {
            #expect(queues[costClass].counts == ReadCounts(running: 0, waiting: 0))
        }
    }

    /// What waits for a scan holds up no other read.
    @Test func aReadWaitsInTheQueueOfItsClassAlone() async throws {
        var limits = Self.limits
        (limits.running, limits.scans, limits.patience) = (1, 1, testPatience)
        let queues = ReadQueues(limits)
        let turns = (1...3).map { ReadTurn(of: key($0), in: queues) }
        try await turns[0].enter()
        try await turns[0].move(to: .scan)
        try await turns[1].enter()
        let second = Task { try await turns[1].move(to: .scan) }
        try await waiting(until: "a scan waits") { queues.scans.counts.waiting == 1 }
        try await turns[2].enter()
        #expect(queues.all.counts == ReadCounts(running: 1, waiting: 0))
        turns[0].leave()
        try await second.value
        #expect(queues.scans.counts == ReadCounts(running: 1, waiting: 0))
        // A read of a class that costs no more stays where it is.
        try await turns[2].move(to: .indexed)
        #expect(queues.all.counts.running == 1)
        for turn in turns { turn.leave() }
        #expect(queues.all.counts.running == 0 && queues.scans.counts.running == 0)
    }
}
