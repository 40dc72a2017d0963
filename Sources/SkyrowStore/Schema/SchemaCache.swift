package import SkyrowModel
package import SkyrowPostgres
internal import Synchronization

/// The catalogue as this process knows it, read without waiting and reloaded when something changed.
package final class SchemaCache: Sendable {
    private struct State {
        var catalog: SchemaCatalog
        /// When the last reading began.
        var loadedAt: ContinuousClock.Instant?
        /// True while somebody reads the catalogue.
        var isLoading = false
        /// Who came while it was being read, and so needs it to be read once more.
        var waiting: [CheckedContinuation<Turn, Never>] = []
    }

    /// What a waiting caller is told.
    private enum Turn: Sendable {
        /// Read the catalogue, for yourself and for these.
        case load(for: [CheckedContinuation<Turn, Never>])
        case loaded
        case failed(any Error)
    }

    private let client: PostgresClient
    private let state: Mutex<State>

    /// - Parameter rules: who sees and who changes single fields, by type.
    package init(client: PostgresClient, schema: SQLIdentifier, rules: [RecordTypeName: FieldRules] = [:]) {
        self.client = client
        state = Mutex(State(catalog: SchemaCatalog(schema: schema, version: 0, tables: [], rules: rules)))
    }

    /// The last catalogue read; empty before the first ``reload()``.
    package var current: SchemaCatalog {
        state.withLock { $0.catalog }
    }

    /// Reads the catalogue again; ``current`` then holds everything that was committed before this call.
    ///
    /// Callers that come while it is being read share the next reading. Throws what the database threw.
    package func reload() async throws {
        let turn = await withCheckedContinuation { continuation in
            let first: Turn? = state.withLock { state in
                guard state.isLoading else {
                    state.isLoading = true
                    return .load(for: [])
                }
                state.waiting.append(continuation)
                return nil
            }
            if let first { continuation.resume(returning: first) }
        }
        switch turn {
        case .loaded: return
        case .failed(let error): throw error
        case .load(let followers): try await load(for: followers)
        }
    }

    /// Reads the catalogue again unless that was done within the last second.
    ///
    /// So requests with unknown names cannot keep the database busy.
    package func refresh() async throws {
        let isFresh = state.withLock { state in
            state.loadedAt.map { $0.duration(to: .now) < .seconds(1) } ?? false
        }
        guard !isFresh else { return }
        try await reload()
    }

    private func load(for followers: [CheckedContinuation<Turn, Never>]) async throws {
        var unserved: [CheckedContinuation<Turn, Never>] = []
        defer { passOn(to: unserved) }
        do {
            let previous = current
            let start = ContinuousClock.now
            let next = try await SchemaCatalog.load(from: client, replacing: previous)
            state.withLock { state in
                state.catalog = next
                state.loadedAt = start
            }
            for follower in followers { follower.resume(returning: .loaded) }
        } catch is CancellationError {
            // Only the task that happened to read was cancelled; the others still want an answer.
            unserved = followers
            throw CancellationError()
        } catch {
            for follower in followers { follower.resume(returning: .failed(error)) }
            throw error
        }
    }

    /// Lets the first of those who wait read for all of them.
    private func passOn(to unserved: [CheckedContinuation<Turn, Never>]) {
        let next = state.withLock { state in
            let next = unserved + state.waiting
            state.waiting = []
            state.isLoading = !next.isEmpty
            return next
        }
        next.first?.resume(returning: .load(for: Array(next.dropFirst())))
    }
}
