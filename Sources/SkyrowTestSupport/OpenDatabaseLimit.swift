import Synchronization

/// A limit on the number of tests that have a database at the same time; further tests wait.
///
/// It keeps a parallel suite within the server's connections and memory.
final class OpenDatabaseLimit: Changing {
    private let open = Mutex(0)
    let changes = ChangeSignal()

    /// Whether the current test already has a database. It must not wait for itself when it opens another one.
    @TaskLocal private static var isInside = false

    private let limit: Int

    init(_ limit: Int) {
        self.limit = limit
    }

    func withTurn<Success>(_ body: () async throws -> Success) async throws -> Success {
        if Self.isInside { return try await body() }
        // The other tests have deadlines, which free their databases.
        try await waiting(until: "one of \(limit) databases is free", hearing: [self], within: patience * 6) {
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
