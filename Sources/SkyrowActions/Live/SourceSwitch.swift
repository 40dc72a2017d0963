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
        case ready
    }

    var stream = Stream.idle
    var isAsking = false
    /// The transactions of a stream that is ready.
    var waiting: [CommittedTransaction] = []
    /// What the questions had shown when the stream took over.
    var taken: LiveStart?
    /// When what came last could not be read.
    var unreadableAt: ContinuousClock.Instant?

    /// How many transactions may wait.
    static let maximumWaiting = 10_000

    /// Whether what could not be read came twice within a minute, so that the stream is left alone for a while.
    mutating func noteUnreadable(at now: ContinuousClock.Instant) -> Bool {
        defer { unreadableAt = now }
        return unreadableAt.map { now - $0 < .seconds(60) } ?? false
    }
}
