import Synchronization

/// Lets a bounded number of tests have a database at the same time; the others wait for their turn.
///
/// So a suite that runs in parallel stays within the server's connections and memory.
final class OpenDatabaseLimit: Changing {
    private let open = Mutex(0)
    let changes = ChangeSignal()

    /// A test that has a database and opens another one must not wait for itself.
    @TaskLocal private static var isInside = false

    private let limit: Int

    init(_ limit: Int) {
        self.limit = limit
    }

    func withTurn<Success>(_ body: () async throws -> Success) async throws -> Success {
        if Self.isInside { return try await body() }
        // The others have their own deadlines, after which their databases are free again.
        try await waiting(until: "one of \(limit) databases is free", hearing: [self], within: .seconds(600)) {
            open.withLock { open in
                guard open < limit else { return false }
                open += 1
                return true
            }
        }
        defer {
            open.withLock { $0 -= 1 }
            changes.notify()
        }
        return try await Self.$isInside.withValue(true) { try await body() }
    }
}
