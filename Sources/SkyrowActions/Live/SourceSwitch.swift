import SkyrowModel
import SkyrowStore

/// The choice between the two sources of changes: a value that decides, with the time passed in, and performs nothing.
///
/// The stream is preferred. Polling runs until the stream has started, or permanently if it cannot. When the stream starts while
/// polling runs, its transactions wait for the result of a poll that began later; transactions that this poll has shown are
/// dropped, so that nothing is missed or sent twice.
struct SourceSwitch {
    /// The state of the stream.
    enum Stream: Equatable {
        case idle
        case running
        /// It has started, and polling has not caught up yet.
        ///
        /// The next result may be of a poll that began before: what was committed after that poll and before the stream started
        /// is in neither of them. `answers` is the number of results still required.
        case ready(answers: Int)
    }

    /// The handling of a transaction of the stream.
    enum Streamed {
        case dispatch
        /// It waits until the stream takes over.
        case wait
        /// Too many changes wait: the stream has to restart.
        case overflow
    }

    private(set) var stream = Stream.idle
    var isAsking = false
    /// Whether polling is possible; otherwise there is only the stream.
    private let hasQuestions: Bool
    /// The waiting transactions of a stream that is ready.
    private var waiting: [CommittedTransaction] = []
    private var waitingChanges = 0
    /// The snapshot that polling had shown when the stream took over.
    private var taken: LiveStart?
    /// When the stream last failed to decode something.
    private var unreadableAt: ContinuousClock.Instant?

    /// Upper bound on waiting changes; a transaction counts as at least one.
    static let maximumWaiting = 10_000

    init(hasQuestions: Bool = true) {
        self.hasQuestions = hasQuestions
    }

    /// Starts polling until the stream takes over, if polling is possible.
    mutating func askMeanwhile() {
        if hasQuestions { isAsking = true }
    }

    /// Notes that the stream has started; returns true if it is the source at once.
    mutating func streamStarted() -> Bool {
        dropWaiting()
        stream = isAsking ? .ready(answers: 2) : .running
        return !isAsking
    }

    /// Notes that the stream has ended; returns true if it was the source.
    mutating func streamEnded() -> Bool {
        dropWaiting()
        defer { stream = .idle }
        return stream == .running
    }

    mutating func streamed(_ transaction: CommittedTransaction) -> Streamed {
        guard case .ready = stream else { return .dispatch }
        waitingChanges += max(1, transaction.changes.count)
        guard waitingChanges <= Self.maximumWaiting else {
            dropWaiting()
            stream = .idle
            return .overflow
        }
        waiting.append(transaction)
        return .wait
    }

    /// Lets a ready stream take over after the result of a poll.
    ///
    /// - Returns: the transactions that waited; nil if polling goes on.
    mutating func answered(at moment: ChangeMoment) -> [CommittedTransaction]? {
        guard case .ready(let answers) = stream else { return nil }
        guard answers <= 1 else {
            stream = .ready(answers: answers - 1)
            return nil
        }
        stream = .running
        taken = LiveStart(moment: moment)
        defer { dropWaiting() }
        return waiting
    }

    /// Returns whether polling had shown a transaction of the stream before it took over.
    mutating func hasShown(_ transaction: CommittedTransaction) -> Bool {
        guard let taken, let end = transaction.end else { return false }
        if taken.covers(transaction.mark) { return true }
        if end > taken.position { self.taken = nil }
        return false
    }

    /// Returns whether decoding failed twice within a minute, so that the stream stays closed for a while.
    mutating func noteUnreadable(at now: ContinuousClock.Instant) -> Bool {
        defer { unreadableAt = now }
        return unreadableAt.map { now - $0 < .seconds(60) } ?? false
    }

    private mutating func dropWaiting() {
        waiting = []
        waitingChanges = 0
    }
}
