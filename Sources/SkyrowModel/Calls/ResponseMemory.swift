internal import Synchronization

/// The memory of all results that are being collected or written, or that wait to be read, shared among the clients.
package final class ResponseMemory: Sendable {
    /// Identifies a client by the halves of its address.
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

    /// The number of bytes in use.
    package var bytes: Int { share.withLock(\.used) }

    /// The largest number of bytes that were ever in use.
    package var largest: Int { share.withLock(\.largest) }

    func take(atLeast least: Int, atMost most: Int, for client: Client) -> Int? {
        share.withLock { $0.take(atLeast: least, atMost: most, for: client) }
    }

    func giveBack(_ bytes: Int, from client: Client) {
        share.withLock { $0.giveBack(bytes, from: client) }
    }
}

/// The memory of the results of one request: of one call, or of all calls of a batch.
///
/// Bytes are reserved before memory is allocated for them: those of rows when they arrive from the database, those of the
/// response when its text grows. The first 64 KB of each are free, so that ordinary requests touch no shared state. The account
/// lives as long as a part of the response does, and then releases what is left.
package final class ResponseAccount: Sendable {
    /// The reason why a reservation is refused.
    package enum Refusal: Error, Hashable {
        /// The results of the request exceed the limit of one response.
        case tooLarge
        /// The results of all requests, or of this client's, exhaust the memory for results.
        case noMemory
    }

    /// The account of the request that a task serves.
    @TaskLocal package static var current: ResponseAccount?

    /// The size up to which a growing text or result is not counted.
    package static let allowance = 64 * 1024

    /// Upper bound on the bytes of one response, and again on those of the rows that it is made from.
    package let limit: Int
    private let memory: ResponseMemory
    private let client: ResponseMemory.Client
    private let rows = Atomic<Int>(0)
    private let text = Atomic<Int>(0)
    /// The memory that the text holds.
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

    /// Reserves bytes for rows; when fewer are left, reserves none and returns the reason.
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

    /// Reserves bytes for a growing text, as many as are left up to `most`; when fewer than `least` are left, reserves none and
    /// returns the reason.
    ///
    /// A text near the limit reserves all that is left at once, because it is copied whenever it grows.
    package func takeForText(atLeast least: Int, atMost most: Int) -> Result<Int, Refusal> {
        let taken = take(atLeast: least, atMost: most, of: text)
        if case .success(let bytes) = taken { textMemory.add(bytes, ordering: .relaxed) }
        return taken
    }

    /// Replaces the reservation of a complete text by its length.
    ///
    /// - Parameter mustFit: whether a text that exceeds the limit is refused and its reservation released.
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

    /// Exempts one text of the response from the limit: the stored result of a write, which was bounded when it was made, and
    /// which a client that repeats the request must get. Returns false for each further one.
    package func exemptOne() -> Bool {
        !hasExempted.exchange(true, ordering: .relaxed)
    }

    /// Whether the text is long enough to be counted, so that the account must live until it is sent.
    package var holdsText: Bool { textMemory.load(ordering: .relaxed) > 0 }

    /// Releases the reservation of a text that was not sent.
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
        // Other calls of the same request reserve at the same time.
        guard count.add(wanted, ordering: .relaxed).newValue <= limit else {
            count.subtract(wanted, ordering: .relaxed)
            return .failure(.tooLarge)
        }
        let taken = memory.take(atLeast: least, atMost: wanted, for: client)
        count.subtract(wanted - (taken ?? 0), ordering: .relaxed)
        return taken.map { .success($0) } ?? .failure(.noMemory)
    }
}
