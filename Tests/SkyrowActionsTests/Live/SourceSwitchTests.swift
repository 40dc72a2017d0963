import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The stream takes over from questions, and each transaction is handed on once.
@Suite struct SourceSwitchTests {
    /// A database, a service that asks it, and a stream: transactions overlap, and what is on its way arrives later.
    private struct Model {
        var random: SeededGenerator
        var sources = SourceSwitch()
        private var lastID: Int64 = 100
        private var running: [Int64] = []
        private var committed: Set<Int64> = []
        private var log: UInt64 = 1000
        /// What the stream has sent and the service has not taken.
        private var sent: [CommittedTransaction] = []
        private(set) var isStreaming = false
        /// The moment of a question whose answer is on its way, and what was committed by then.
        private var asked: (moment: ChangeMoment, committed: Set<Int64>)?
        private var known: Set<Int64> = []
        private(set) var handedOn: [Int64: Int] = [:]
        private(set) var isOver = false

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            sources.isAsking = true
        }

        var unhandled: [Int64] { committed.filter { handedOn[$0] != 1 }.sorted() }

        mutating func step() {
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1: begin()
            case 2, 3: commit()
            case 4: ask()
            case 5, 6: answer()
            case 7: deliver()
            default: if !isStreaming, Int.random(in: 0..<10, using: &random) == 0 { startStream() }
            }
        }

        /// Has all end and all arrive.
        mutating func finish() {
            if !isStreaming { startStream() }
            while !running.isEmpty { commit() }
            while !isOver {
                ask()
                answer()
            }
            while !sent.isEmpty { deliver() }
        }

        private mutating func begin() {
            lastID += 1
            running.append(lastID)
        }

        private mutating func commit() {
            guard let place = running.indices.randomElement(using: &random) else { return }
            let id = running.remove(at: place)
            committed.insert(id)
            log += 10
            if isStreaming { sent.append(CommittedTransaction(id: .truncated(UInt32(id)), end: log, changes: [])) }
        }

        private mutating func ask() {
            guard asked == nil, !isOver else { return }
            let open = running.sorted()
            let moment = ChangeMoment(
                snapshot: TransactionSnapshot(xmin: open.first ?? lastID + 1, xmax: lastID + 1, running: open),
                transactions: TransactionSet(end: lastID + 1, missing: open),
                place: HistoryPlace(branch: 7, start: 1, position: 0),
                takenAt: 0,
                walPosition: log
            )
            asked = (moment, committed)
        }

        private mutating func answer() {
            guard let (moment, committed) = asked else { return }
            asked = nil
            for id in committed.subtracting(known) { handedOn[id, default: 0] += 1 }
            known = committed
            guard let waiting = sources.answered(at: moment) else { return }
            isOver = true
            for transaction in waiting { take(transaction) }
        }

        private mutating func startStream() {
            isStreaming = true
            let isAlone = sources.streamStarted()
            #expect(!isAlone)
        }

        private mutating func deliver() {
            guard !sent.isEmpty else { return }
            let transaction = sent.removeFirst()
            switch sources.streamed(transaction) {
            case .dispatch: take(transaction)
            case .wait: break
            case .overflow: Issue.record("too many wait")
            }
        }

        private mutating func take(_ transaction: CommittedTransaction) {
            guard !sources.hasShown(transaction), case .truncated(let id) = transaction.id else { return }
            handedOn[Int64(id), default: 0] += 1
        }
    }

    @Test func everyTransactionIsHandedOnOnce() {
        var random = SeededGenerator.forTest()
        for _ in 0..<2_000 {
            let seed = random.next()
            var model = Model(seed: seed)
            for _ in 0..<Int.random(in: 20..<200, using: &random) { model.step() }
            model.finish()
            guard model.unhandled.isEmpty else {
                Issue.record("seed \(seed): \(model.unhandled.map { ($0, model.handedOn[$0] ?? 0) })")
                return
            }
        }
    }

    /// Failed once: a stream that was delayed waited for the answers to questions that were never asked.
    @Test(arguments: [false, true])
    func aStreamThatWasDelayedWaitsForAnswersWhereThereAreQuestions(_ hasQuestions: Bool) {
        var sources = SourceSwitch(hasQuestions: hasQuestions)
        sources.askMeanwhile()
        let isAlone = sources.streamStarted()
        #expect(isAlone != hasQuestions && sources.isAsking == hasQuestions)
        #expect((sources.stream == .running) != hasQuestions)
    }

    @Test func aStreamThatIsAloneCountsAtOnce() {
        var sources = SourceSwitch()
        let isAlone = sources.streamStarted()
        #expect(isAlone && sources.stream == .running)
        let counted = [sources.streamEnded(), sources.streamEnded()]
        #expect(counted == [true, false] && sources.stream == .idle)
    }

    /// What waits is bounded, though questions may stay without an answer.
    @Test func whatWaitsIsBounded() {
        var sources = SourceSwitch()
        sources.isAsking = true
        _ = sources.streamStarted()
        var taken = 0
        while taken <= SourceSwitch.maximumWaiting {
            let transaction = CommittedTransaction(id: .truncated(UInt32(taken)), end: UInt64(taken), changes: [])
            guard case .wait = sources.streamed(transaction) else { break }
            taken += 1
        }
        #expect(taken == SourceSwitch.maximumWaiting)
        #expect(sources.stream == .idle)
        // It begins again, and has room.
        _ = sources.streamStarted()
        guard case .wait = sources.streamed(CommittedTransaction(id: .truncated(1), end: 1, changes: [])) else {
            Issue.record("no room")
            return
        }
    }
}
