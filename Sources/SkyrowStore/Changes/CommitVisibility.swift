internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem

/// Waits until a committed transaction is visible to other sessions.
///
/// PostgreSQL writes a commit to its log before it removes the transaction from the running ones: usually just before, and with
/// synchronous replication as long as standbys take to confirm it. A reader that acts on the log would find the old rows. One
/// snapshot serves all transactions that it shows as visible.
struct CommitVisibility {
    private let client: PostgresClient
    private var snapshot: TransactionSnapshot?
    private var askedAt = ContinuousClock.now

    /// The log has 32-bit transaction ids, so a snapshot is ambiguous for transactions two billion ids later.
    private static let validity: Duration = .seconds(60)
    /// The shortest and the longest pause between two checks.
    private static let pauses: ClosedRange<Duration> = .milliseconds(1) ... .milliseconds(32)

    init(_ client: PostgresClient) {
        self.client = client
    }

    /// Returns when a transaction that the log has as committed is visible.
    ///
    /// Throws `CancellationError`, and the error of an unavailable database; an overloaded one is queried again.
    ///
    /// - Parameter transaction: the last 32 bits of its id.
    mutating func wait(for transaction: UInt32) async throws {
        var pause = Self.pauses.lowerBound
        while !isVisible(transaction) {
            if let snapshot = try await present() {
                self.snapshot = snapshot
                if snapshot.isVisible(truncated: transaction) { return }
            }
            // PostgreSQL sends no notification of visibility.
            try await ServiceTimer.sleep(for: pause)
            pause = min(pause * 2, Self.pauses.upperBound)
        }
    }

    private func isVisible(_ transaction: UInt32) -> Bool {
        guard let snapshot, .now - askedAt < Self.validity else { return false }
        return snapshot.isVisible(truncated: transaction)
    }

    /// Returns nil if the database is overloaded.
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
