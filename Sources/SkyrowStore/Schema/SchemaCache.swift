package import SkyrowModel
package import SkyrowPostgres
internal import Synchronization

/// The catalogue as this process has it, read without waiting and reloaded when something changed.
package final class SchemaCache: Sendable {
    /// How much was read so far.
    package struct Statistics: Hashable, Sendable {
        /// Statements.
        package var readings = 0
        /// Rows, one for each field.
        package var rows = 0
        /// Statements that failed.
        package var failures = 0
    }

    private struct State {
        var catalog: SchemaCatalog
        /// When the last reading of everything began.
        var loadedAt: ContinuousClock.Instant?
        /// When the last reading of a name began that is no type.
        var missedAt: [RecordTypeName: ContinuousClock.Instant] = [:]
        /// True while a task reads the catalogue.
        var isLoading = false
        /// Who came while it was being read, and so needs it to be read once more.
        var waiting: [Waiter] = []
        var statistics = Statistics()
    }

    private struct Waiter {
        var part: CatalogPart
        var continuation: CheckedContinuation<Turn, Never>
    }

    /// What a waiting caller gets.
    private enum Turn {
        /// Read this, for yourself and for these.
        case load(CatalogPart, for: [Waiter])
        case loaded
        case failed(any Error)
    }

    /// So many names that are no types are remembered; beyond, none is looked for.
    private static let maximumMisses = 1000

    private let client: PostgresClient
    private let now: @Sendable () -> ContinuousClock.Instant
    private let readsAccess: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - rules: those of the types that have some.
    ///   - readsAccess: whether the tables have rules of types, as they do from migration 21 on.
    package init(
        client: PostgresClient,
        schema: SQLIdentifier,
        rules: [RecordTypeName: TypeRules] = [:],
        readsAccess: Bool = true,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.client = client
        self.now = now
        self.readsAccess = readsAccess
        state = Mutex(State(catalog: SchemaCatalog(schema: schema, version: 0, tables: [], rules: rules)))
    }

    /// The last catalogue read; empty before the first ``reload(_:)``.
    package var current: SchemaCatalog {
        state.withLock { $0.catalog }
    }

    package var statistics: Statistics {
        state.withLock { $0.statistics }
    }

    /// Reads the catalogue again, or a part of it; ``current`` then holds what was committed there before this call.
    ///
    /// Callers that come while it is being read share the next reading. Throws what the database threw.
    package func reload(_ part: CatalogPart = .everything) async throws {
        let turn = await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                guard state.isLoading else {
                    state.isLoading = true
                    return true
                }
                state.waiting.append(Waiter(part: part, continuation: continuation))
                return false
            }
            if isFirst { continuation.resume(returning: .load(part, for: [])) }
        }
        switch turn {
        case .loaded: return
        case .failed(let error): throw error
        case .load(let part, let followers): try await load(part, for: followers)
        }
    }

    /// Reads what is there of these types, but none that was not there within the last second.
    ///
    /// So requests with unknown names cannot keep the database busy.
    package func look(for types: Set<RecordTypeName>) async throws {
        let start = now()
        let wanted = state.withLock { state in
            if let loadedAt = state.loadedAt, loadedAt.duration(to: start) < .seconds(1) {
                return Set<RecordTypeName>()
            }
            if state.missedAt.count > Self.maximumMisses {
                state.missedAt = state.missedAt.filter { $0.value.duration(to: start) < .seconds(1) }
            }
            guard state.missedAt.count <= Self.maximumMisses else { return [] }
            return types.filter { state.missedAt[$0].map { $0.duration(to: start) >= .seconds(1) } ?? true }
        }
        guard !wanted.isEmpty else { return }
        try await reload(.types(wanted))
        state.withLock { state in
            for type in wanted { state.missedAt[type] = state.catalog[type] == nil ? start : nil }
        }
    }

    private func load(_ part: CatalogPart, for followers: [Waiter]) async throws {
        var unserved: [Waiter] = []
        defer { passOn(to: unserved) }
        do {
            let previous = current
            let start = now()
            let (next, rows) = try await SchemaCatalog.load(
                part,
                from: client,
                replacing: previous,
                readsAccess: readsAccess
            )
            state.withLock { state in
                state.catalog = next
                if part == .everything { state.loadedAt = start }
                state.statistics.readings += 1
                state.statistics.rows += rows
            }
            for follower in followers { follower.continuation.resume(returning: .loaded) }
        } catch is CancellationError {
            // Only the task that happened to read was cancelled; the others still wait for a result.
            unserved = followers
            throw CancellationError()
        } catch {
            state.withLock { $0.statistics.failures += 1 }
            for follower in followers { follower.continuation.resume(returning: .failed(error)) }
            throw error
        }
    }

    /// Lets the first of those who wait read for all of them.
    private func passOn(to unserved: [Waiter]) {
        let next = state.withLock { state in
            let next = unserved + state.waiting
            state.waiting = []
            state.isLoading = !next.isEmpty
            return next
        }
        guard let first = next.first else { return }
        let part = next.dropFirst().reduce(first.part) { $0.union($1.part) }
        first.continuation.resume(returning: .load(part, for: Array(next.dropFirst())))
    }
}
