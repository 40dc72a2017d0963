import SkyrowModel
import SkyrowStore

/// Which source of changes counts, where there are two: decides, with the time passed in, and does nothing.
///
/// The stream is preferred. While it cannot begin, or for the reason that it cannot at all, changes are asked for. When it
/// begins beside questions, its transactions wait until a question has been answered that was asked later; what that has
/// shown is dropped, so that nothing is missed and nothing is sent twice.
struct SourceSwitch {
    /// What the stream says.
    enum Stream: Equatable {
        case idle
        case running
        /// It has begun, and the questions are not as far yet.
        ///
        /// The first answer may be that of a question from before: what was committed after that question and before the
        /// stream began is in neither of them. This is how many answers have to come.
        case ready(answers: Int)
    }

    /// What is done with a transaction of the stream.
    enum Streamed {
        case dispatch
        /// It waits until the stream takes over.
        case wait
        /// More wait than there is room for: the stream has to begin again.
        case overflow
    }

    private(set) var stream = Stream.idle
    var isAsking = false
    /// Whether questions can be asked: there may be the stream alone.
    private let hasQuestions: Bool
    /// The transactions of a stream that is ready.
    private var waiting: [CommittedTransaction] = []
    private var waitingChanges = 0
    /// What the questions had shown when the stream took over.
    private var taken: LiveStart?
    /// When what came last could not be read.
    private var unreadableAt: ContinuousClock.Instant?

    /// How many changes may wait, a transaction counting for one of them at least.
    static let maximumWaiting = 10_000

    init(hasQuestions: Bool = true) {
        self.hasQuestions = hasQuestions
    }

    /// Has changes be asked for until the stream takes over, where that is possible.
    mutating func askMeanwhile() {
        if hasQuestions { isAsking = true }
    }

    /// Notes that the stream has begun; true where it counts at once.
    mutating func streamStarted() -> Bool {
        dropWaiting()
        stream = isAsking ? .ready(answers: 2) : .running
        return !isAsking
    }

    /// Notes that the stream has ended; true where it counted.
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

    /// Lets the stream take over where it is ready, after all that a question has shown at a moment.
    ///
    /// - Returns: the transactions that have waited; nil where questions go on.
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

    /// Whether the questions had shown a transaction of the stream before it took over.
    mutating func hasShown(_ transaction: CommittedTransaction) -> Bool {
        guard let taken, let end = transaction.end else { return false }
        if taken.covers(transaction.mark) { return true }
        if end > taken.position { self.taken = nil }
        return false
    }

    /// Whether what could not be read came twice within a minute, so that the stream is left alone for a while.
    mutating func noteUnreadable(at now: ContinuousClock.Instant) -> Bool {
        defer { unreadableAt = now }
        return unreadableAt.map { now - $0 < .seconds(60) } ?? false
    }

    private mutating func dropWaiting() {
        waiting = []
        waitingChanges = 0
    }
}
