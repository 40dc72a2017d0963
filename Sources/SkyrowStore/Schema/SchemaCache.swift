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
        /// When the second began in which so many times was looked for names.
        var second: ContinuousClock.Instant?
        var looks = 0
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

    /// So many times in a second are names looked for that the catalogue does not have; it is known by notices otherwise.
    private static let maximumLooks = 20

    private let client: PostgresClient
    private let now: @Sendable () -> ContinuousClock.Instant
    private let readsAccess: Bool
    private let state: Mutex<State>
    private let awaited = WaitingTasks<RecordTypeName>()

    /// - Parameters:
    ///   - rules: those of the types that have some.
    ///   - otherRules: those of all others.
    ///   - readsAccess: whether the tables have rules of types, as they do from migration 21 on.
    package init(
        client: PostgresClient,
        schema: SQLIdentifier,
        rules: [RecordTypeName: TypeRules] = [:],
        otherRules: TypeRules = .none,
        readsAccess: Bool = true,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.client = client
        self.now = now
        self.readsAccess = readsAccess
        state = Mutex(
            State(catalog: SchemaCatalog(schema: schema, version: 0, tables: [], rules: rules, otherRules: otherRules))
        )
    }

    /// The last catalogue read; empty before the first ``reload(_:)``.
    package var current: SchemaCatalog {
        state.withLock { $0.catalog }
    }

    /// Returns when there is a type of this name, or the task is cancelled.
    package func waitForTable(of type: RecordTypeName) async {
        while !Task.isCancelled, current[type] == nil {
            await awaited.wait(for: type) { current[type] != nil }
        }
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

    /// Reads what is there of these types, which another process may have made a moment ago.
    ///
    /// So many times in a second, so that requests with unknown names cannot keep the database busy.
    package func look(for types: Set<RecordTypeName>) async throws {
        guard mayLook() else { return }
        try await reload(.types(types))
    }

    /// Whether a name may be looked for now, which is counted.
    func mayLook() -> Bool {
        let time = now()
        return state.withLock { state in
            if state.second.map({ $0.duration(to: time) >= .seconds(1) }) ?? true {
                (state.second, state.looks) = (time, 0)
            }
            state.looks += 1
            return state.looks <= Self.maximumLooks
        }
    }

    private func load(_ part: CatalogPart, for followers: [Waiter]) async throws {
        var unserved: [Waiter] = []
        defer { passOn(to: unserved) }
        do {
            let previous = current
            let (next, rows) = try await SchemaCatalog.load(
                part,
                from: client,
                replacing: previous,
                readsAccess: readsAccess
            )
            state.withLock { state in
                state.catalog = next
                state.statistics.readings += 1
                state.statistics.rows += rows
            }
            awaited.wake { next[$0] != nil }
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
