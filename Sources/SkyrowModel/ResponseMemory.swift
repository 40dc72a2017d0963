internal import Synchronization

/// The memory of all results that are collected, written, or wait to be read, shared among the clients.
package final class ResponseMemory: Sendable {
    /// Identifies a client: the halves of an address.
    package struct Client: Hashable, Sendable {
        let high: UInt64
        let low: UInt64

        package init(high: UInt64 = 0, low: UInt64 = 0) {
            self.high = high
            self.low = low
        }
    }

    private let share: Mutex<FairShare<Client>>

    package init(limit: Int) {
        share = Mutex(FairShare(limit: limit))
    }

    /// How many bytes are taken now.
    package var bytes: Int { share.withLock(\.used) }

    /// The most bytes that were ever taken.
    package var largest: Int { share.withLock(\.largest) }

    func take(atLeast least: Int, atMost most: Int, for client: Client) -> Int? {
        share.withLock { $0.take(atLeast: least, atMost: most, for: client) }
    }

    func giveBack(_ bytes: Int, from client: Client) {
        share.withLock { $0.giveBack(bytes, from: client) }
    }
}

/// What the results of one request hold in memory: of one call, or of all calls of a batch together.
///
/// Bytes are taken while they come, before there is memory for them: those of rows when they arrive from the database,
/// those of the response when its text grows. The first 64 KB of each are free, so that ordinary requests share nothing.
/// The account lives as long as a part of the response does, and gives back then what is left.
package final class ResponseAccount: Sendable {
    /// Why there is no more.
    package enum Refusal: Error, Hashable {
        /// The request's results are larger than one response may be.
        case tooLarge
        /// The results of all requests, or of this client's, fill the memory for them.
        case noMemory
    }

    /// The account of the request that a task works for.
    @TaskLocal package static var current: ResponseAccount?

    /// Up to here a text or a result is not counted while it grows.
    package static let allowance = 64 * 1024

    /// The bytes of one response, and as many again of the rows that it is made of.
    package let limit: Int
    private let memory: ResponseMemory
    private let client: ResponseMemory.Client
    private let rows = Atomic<Int>(0)
    private let text = Atomic<Int>(0)
    /// What the text has of the memory.
    private let textMemory = Atomic<Int>(0)
    private let hasExempted = Atomic<Bool>(false)

    package init(limit: Int, memory: ResponseMemory, client: ResponseMemory.Client = .init()) {
        self.limit = limit
        self.memory = memory
        self.client = client
    }

    deinit {
        let left = textMemory.load(ordering: .relaxed)
        if left > 0 { memory.giveBack(left, from: client) }
    }

    // MARK: Rows

    /// Takes bytes for rows; when there are fewer left it takes none and returns why.
    package func takeForRows(_ bytes: Int) -> Refusal? {
        switch take(atLeast: bytes, atMost: bytes, of: rows) {
        case .success: nil
        case .failure(let refusal): refusal
        }
    }

    package func giveBackForRows(_ bytes: Int) {
        rows.subtract(bytes, ordering: .relaxed)
        memory.giveBack(bytes, from: client)
    }

    // MARK: Text

    /// Takes bytes for a text that grows, as many as there are up to `most`; when there are fewer than `least` it takes none
    /// and returns the reason.
    ///
    /// A text that is near the bound takes what is left in one go, because it is copied whenever it grows.
    package func takeForText(atLeast least: Int, atMost most: Int) -> Result<Int, Refusal> {
        let taken = take(atLeast: least, atMost: most, of: text)
        if case .success(let bytes) = taken { textMemory.add(bytes, ordering: .relaxed) }
        return taken
    }

    /// Puts the length of a complete text in the place of what was taken for it.
    ///
    /// - Parameter mustFit: whether the text is refused, and so nothing is kept of it, when it is one too many.
    package func settleText(taken: Int, used: Int, mustFit: Bool) -> Refusal? {
        let total = text.add(used - taken, ordering: .relaxed).newValue
        guard total <= limit || !mustFit else {
            text.subtract(used, ordering: .relaxed)
            giveBackTextMemory(taken)
            return .tooLarge
        }
        giveBackTextMemory(max(0, taken - used))
        return nil
    }

    /// Lets one text of the response be as long as it is: the stored result of a write, which was bounded when it was made,
    /// and which a client that repeats the request by itself has to get. False for every further one.
    package func exemptOne() -> Bool {
        !hasExempted.exchange(true, ordering: .relaxed)
    }

    /// Whether a text is long enough to be counted, so that the account has to live until it is sent.
    package var holdsText: Bool { textMemory.load(ordering: .relaxed) > 0 }

    /// Gives back a text that was not sent.
    package func dropText(taken: Int) {
        text.subtract(taken, ordering: .relaxed)
        giveBackTextMemory(taken)
    }

    private func giveBackTextMemory(_ bytes: Int) {
        guard bytes > 0 else { return }
        textMemory.subtract(bytes, ordering: .relaxed)
        memory.giveBack(bytes, from: client)
    }

    private func take(atLeast least: Int, atMost most: Int, of count: borrowing Atomic<Int>) -> Result<Int, Refusal> {
        let wanted = min(most, limit - count.load(ordering: .relaxed))
        guard wanted >= least else { return .failure(.tooLarge) }
        // Others of the same request take at the same time.
        guard count.add(wanted, ordering: .relaxed).newValue <= limit else {
            count.subtract(wanted, ordering: .relaxed)
            return .failure(.tooLarge)
        }
        let taken = memory.take(atLeast: least, atMost: wanted, for: client)
        count.subtract(wanted - (taken ?? 0), ordering: .relaxed)
        return taken.map { .success($0) } ?? .failure(.noMemory)
    }
}
