internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// Whether the rules of types that this process goes by are those of the tables, asked again and again: notices of changes may
/// get lost on the way.
final class RulesWatch: Sendable {
    private struct State {
        /// How often the rules had changed when the catalogue was read.
        var version: Int64?
        /// When that was last found to be so; nil while nothing is watched.
        var knownAt: ContinuousClock.Instant?
    }

    /// So many intervals without an answer, and the rules count as unknown.
    private static let patience = 5

    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let interval: Duration
    private let state = Mutex(State())

    init(client: PostgresClient, schema: SQLIdentifier, interval: Duration) {
        self.client = client
        self.schema = schema
        self.interval = interval
    }

    /// Notes how often the rules have changed, before the catalogue is read.
    func begin() async throws {
        let version = try await version()
        state.withLock { $0.version = version }
    }

    /// Asks until the task is cancelled.
    ///
    /// - Parameter reload: reads the catalogue again; false when that failed, which is then tried again.
    func run(_ reload: () async -> Bool) async {
        state.withLock { $0.knownAt = .now }
        defer { state.withLock { $0.knownAt = nil } }
        while (try? await Task.sleep(for: interval)) != nil {
            let start = ContinuousClock.now
            guard let current = try? await version() else { continue }
            if state.withLock({ $0.version }) != current {
                guard await reload() else { continue }
            }
            state.withLock { $0 = State(version: current, knownAt: start) }
        }
    }

    /// Throws `10002 UnexpectedUnableToOpenDatabase` where it has not been known for a while what the rules are: old ones may
    /// show what is hidden by now.
    func requireKnown() throws(SkyrowError) {
        guard let knownAt = state.withLock({ $0.knownAt }), .now - knownAt > interval * Self.patience else { return }
        throw SkyrowError(
            .unexpectedUnableToOpenDatabase,
            "The rules of access cannot be read at the moment; try again."
        )
    }

    private func version() async throws -> Int64? {
        let result = try await client.read("SELECT value FROM \(schema)._version WHERE name = 'rules'")
        return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: Int64.self)
    }
}
