import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct IndexRecordTests {
    /// What one step is, for each state and each observation.
    @Test(arguments: [
        (IndexRecord(.building), IndexRecord.Observation.absent, IndexRecord.Step.build),
        (IndexRecord(.building, attempts: 2, hasBegun: true), .absent, .build),
        (IndexRecord(.building, attempts: 3, hasBegun: true), .absent, .settle(.failed, IndexFailure(.serverStopped))),
        (
            IndexRecord(.building, attempts: 3, hasBegun: true, failure: IndexFailure(.deadlock)), .absent,
            .settle(.failed, IndexFailure(.deadlock))
        ),
        (IndexRecord(.building, attempts: 1, hasBegun: true), .invalid, .drop),
        (IndexRecord(.building, attempts: 1, hasBegun: true), .valid, .settle(.ready, nil)),
        (IndexRecord(.building), .valid, .settle(.failed, IndexFailure(.nameTaken))),
        (IndexRecord(.building), .invalid, .settle(.failed, IndexFailure(.nameTaken))),
        (IndexRecord(.building), .other, .settle(.failed, IndexFailure(.nameTaken))),
        (IndexRecord(.ready, attempts: 1, hasBegun: true), .absent, .forget),
        (IndexRecord(.ready, attempts: 1, hasBegun: true), .invalid, .settle(.building, nil)),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.tooLong)), .invalid, .drop),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.duplicate)), .absent, .countDuplicates),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.duplicate)), .invalid, .drop),
        (IndexRecord(.ready, attempts: 1, hasBegun: true), .outdated, .settle(.building, nil)),
        (IndexRecord(.building, hasBegun: true), .outdated, .drop),
        (IndexRecord(.building), .outdated, .settle(.failed, IndexFailure(.nameTaken))),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.cancelled)), .outdated, .drop),
        (IndexRecord(.deleting, hasBegun: true), .outdated, .drop),
        (IndexRecord(.deleting, hasBegun: true), .valid, .drop),
        (IndexRecord(.deleting, hasBegun: true), .invalid, .drop),
        (IndexRecord(.deleting, hasBegun: true), .absent, .forget),
        (IndexRecord(.deleting, hasBegun: true), .other, .forget),
    ])
    func aStepFollowsFromTheRowAndWhatIsThere(
        _ record: IndexRecord,
        _ observed: IndexRecord.Observation,
        _ step: IndexRecord.Step
    ) {
        #expect(record.step(observed) == step)
    }

    @Test(arguments: [
        (IndexRecord(.ready, attempts: 1, hasBegun: true), IndexRecord.Observation.valid),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.tooLong)), .absent),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.duplicate, duplicates: 2)), .absent),
        // What has the name is not ours.
        (IndexRecord(.failed, failure: IndexFailure(.nameTaken)), .valid),
        (IndexRecord(.failed, failure: IndexFailure(.nameTaken)), .invalid),
        (IndexRecord(.failed, failure: IndexFailure(.nameTaken)), .other),
        (IndexRecord(.failed, failure: IndexFailure(.nameTaken)), .outdated),
    ])
    func whatIsSettledStays(_ record: IndexRecord, _ observed: IndexRecord.Observation) {
        #expect(record.step(observed) == nil)
    }

    @Test(arguments: [
        (PostgresError(code: .server, sqlState: .uniqueViolation), IndexFailure(.duplicate)),
        (PostgresError(code: .server, sqlState: "54000"), IndexFailure(.tooLong)),
        (PostgresError(code: .statementTimeout, sqlState: .queryCanceled), IndexFailure(.cancelled)),
        (PostgresError(code: .server, sqlState: .deadlockDetected), IndexFailure(.deadlock)),
        (PostgresError(code: .server, sqlState: .duplicateTable), IndexFailure(.nameTaken)),
        (PostgresError(code: .server, sqlState: "53100"), IndexFailure(.error, sqlState: "53100")),
        (PostgresError(code: .connectionLost, sqlState: .adminShutdown), nil),
        (PostgresError(code: .cannotConnect), nil),
    ])
    func anErrorOfPostgresIsAReason(_ error: PostgresError, _ failure: IndexFailure?) {
        #expect(IndexFailure(error) == failure)
    }

    /// Builders that are killed at any moment, refused builds, deletions and orderly stops in any order: once nothing disturbs
    /// any more, each index is ready and there, or failed or forgotten and not there.
    @Test(arguments: 0..<8) func everySchedulesEndIsOrderly(_ part: UInt64) {
        for seed in 0..<2500 {
            var world = IndexWorld(seed: part * 2500 + UInt64(seed))
            for _ in 0..<world.random.next(upTo: 24) { world.disturb() }
            let steps = world.settle()
            #expect(steps != nil, "seed \(part * 2500 + UInt64(seed)) does not come to rest")
            #expect(world.isOrderly, "seed \(part * 2500 + UInt64(seed)) ends as \(world)")
        }
    }

    @Test func theSchedulesReachEveryEnd() {
        var ends: [String: Int] = [:]
        for seed in 0..<5000 {
            var world = IndexWorld(seed: UInt64(seed))
            for _ in 0..<world.random.next(upTo: 24) { world.disturb() }
            _ = world.settle()
            let reason = world.row?.failure?.reason.rawValue ?? ""
            ends[
                (world.row?.state.rawValue ?? "gone") + (world.row?.state == .failed ? " \(reason)" : ""),
                default: 0
            ] += 1
        }
        for end in [
            "ready", "gone", "failed duplicate", "failed too_long", "failed server_stopped", "failed deadlock",
            "failed name_taken",
        ] {
            #expect(ends[end, default: 0] > 0, "\(end)")
        }
    }
}

/// A database with one index that was asked for, a builder that can die between any two of its statements, and others who
/// change things.
private struct IndexWorld: CustomStringConvertible {
    var random: SeededGenerator
    /// What is committed.
    var row: IndexRecord? = IndexRecord()
    var observed = IndexRecord.Observation.absent
    /// Whether what bears the name was made by psql.
    var isForeign = false
    /// Builds that were begun since the row was written.
    var begun = 0
    private var refusals = true

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    var description: String { "\(String(describing: row)), \(observed), foreign: \(isForeign)" }

    var isOrderly: Bool {
        guard begun <= IndexRecord.maximumAttempts * 40 else { return false }
        switch row?.state {
        case nil, .failed: return isForeign || observed == .absent
        case .ready: return observed == .valid
        case .building, .deleting: return false
        }
    }

    /// Runs without disturbances until nothing is to be done; nil when it does not end.
    mutating func settle() -> Int? {
        refusals = random.next(upTo: 4) == 0
        for step in 0..<60 {
            guard let row, let next = row.step(observed) else { return step }
            perform(next, row)
        }
        return nil
    }

    mutating func disturb() {
        switch random.next(upTo: 12) {
        case 0: askForDeletion()
        case 1: createByHand()
        case 2: if !isForeign, observed == .valid { observed = .absent }
        case 3: if !isForeign, observed == .valid { observed = .outdated }
        default:
            guard let row, let next = row.step(observed) else { return }
            perform(next, row)
        }
    }

    private mutating func askForDeletion() {
        guard let current = row else { return }
        if current.hasBegun { row?.state = .deleting } else { row = nil }
    }

    /// Psql uses the name before the first attempt.
    private mutating func createByHand() {
        guard observed == .absent, row?.hasBegun != true else { return }
        isForeign = true
        observed = [.valid, .invalid, .other][random.next(upTo: 3)]
    }

    /// The builder's step, after each statement of which it may die; what it was about to write is then not written.
    private mutating func perform(_ step: IndexRecord.Step, _ old: IndexRecord) {
        switch step {
        case .build:
            let attempt = old.begun
            row = attempt
            begun += 1
            if dies { return }
            switch random.next(upTo: refusals ? 9 : 1) {
            case 1: observed = .invalid
            case 2:
                row = attempt.stopped
                observed = .invalid
            case 3: refuse(IndexFailure(.duplicate), attempt)
            case 4: refuse(IndexFailure(.tooLong), attempt)
            case 5: refuse(IndexFailure(.deadlock), attempt)
            case 6: refuse(IndexFailure(.error, sqlState: "53100"), attempt)
            default: observed = .valid
            }
        case .drop:
            // A foreign index never goes.
            #expect(!isForeign)
            observed = dies ? .invalid : .absent
        case .countDuplicates:
            if !dies { row?.failure?.duplicates = 2 }
        case .settle(let state, let failure):
            guard !dies else { return }
            row?.state = state
            row?.failure = failure
            if state == .building { row?.attempts = 0 }
        case .forget:
            if !dies { row = nil }
        }
    }

    private mutating func refuse(_ failure: IndexFailure, _ attempt: IndexRecord) {
        observed = .invalid
        if !dies { row = attempt.refused(failure) }
    }

    private var dies: Bool { mutating get { refusals && random.next(upTo: 5) == 0 } }
}

extension SeededGenerator {
    fileprivate mutating func next(upTo bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
