internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem

/// Waits until others see what a transaction has written.
///
/// PostgreSQL has a commit in its log before it takes the transaction from those that run: a moment earlier mostly, and with
/// synchronous replication as long as standbys take to confirm it. A reader that acts on the log would find the rows from before.
/// One snapshot answers for all transactions that it shows.
struct CommitVisibility {
    private let client: PostgresClient
    private var snapshot: TransactionSnapshot?
    private var askedAt = ContinuousClock.now

    /// The ids of the log have 32 bits, so a snapshot says nothing of transactions that came two thousand million later.
    private static let validity: Duration = .seconds(60)
    /// The pause before a transaction is looked at again, the first time and at most.
    private static let pauses: ClosedRange<Duration> = .milliseconds(1) ... .milliseconds(32)

    init(_ client: PostgresClient) {
        self.client = client
    }

    /// Returns when a transaction is visible that has committed according to the log.
    ///
    /// Throws `CancellationError`, and what the database failed with where it is away; where it is busy, it is asked again.
    ///
    /// - Parameter transaction: the last 32 bits of its id.
    mutating func wait(for transaction: UInt32) async throws {
        var pause = Self.pauses.lowerBound
        while !isVisible(transaction) {
            if let snapshot = try await present() {
                self.snapshot = snapshot
                if snapshot.isVisible(truncated: transaction) { return }
            }
            // PostgreSQL says nothing when it becomes visible.
            try await ServiceTimer.sleep(for: pause)
            pause = min(pause * 2, Self.pauses.upperBound)
        }
    }

    private func isVisible(_ transaction: UInt32) -> Bool {
        guard let snapshot, .now - askedAt < Self.validity else { return false }
        return snapshot.isVisible(truncated: transaction)
    }

    /// nil where the database is too busy to say.
    private mutating func present() async throws -> TransactionSnapshot? {
        let now = ContinuousClock.now
        do {
            let found = try await client.read("SELECT pg_current_snapshot()::text")
            guard let snapshot = TransactionSnapshot(try found.decode(row: 0, column: 0, as: String.self)) else {
                throw SkyrowError.unexpected
            }
            askedAt = now
            return snapshot
        } catch let error as PostgresError where error.isOverload {
            return nil
        }
    }
}

extension PostgresError {
    fileprivate var isOverload: Bool {
        switch code {
        case .statementTimeout, .acquireTimeout, .overloaded, .resultMemoryExhausted: true
        default: false
        }
    }
}
