internal import SkyrowConcurrency
package import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// The cached catalog of this process, which is read without waiting and reloaded after changes.
package final class SchemaCache: Sendable {
    /// How much has been read so far.
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
        /// The start of the second in which ``looks`` are counted.
        var second: ContinuousClock.Instant?
        var looks = 0
        var statistics = Statistics()
    }

    /// Upper bound on lookups of unknown names per second. Otherwise notifications keep the catalog current.
    private static let maximumLooks = 20

    private let client: PostgresClient
    private let now: @Sendable () -> ContinuousClock.Instant
    private let readsAccess: Bool
    private let state: Mutex<State>
    private let readings = SingleFlight<CatalogPart, Result<Void, any Error>>()
    private let awaited = WaitingTasks<RecordTypeName>()
    private let changed = WaitingTasks<Int>()

    /// - Parameters:
    ///   - rules: the rules of the types that have rules.
    ///   - otherRules: the rules of all other types.
    ///   - readsAccess: whether the tables have rules of types, which they have from migration 21 on.
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

    /// The last catalog read; empty before the first ``reload(_:)``.
    package var current: SchemaCatalog { state.withLock { $0.catalog } }

    /// Returns when a type of this name exists, or when the task is cancelled.
    package func waitForTable(of type: RecordTypeName) async {
        while !Task.isCancelled, current[type] == nil {
            await awaited.wait(for: type) { current[type] != nil }
        }
    }

    /// Returns when the catalog has another version, when the time is over, or when the task is cancelled.
    package func waitForChange(since version: Int, atMost limit: Duration) async {
        await changed.wait(
            for: version,
            during: { try await ServiceTimer.sleep(for: limit) },
            unless: { current.version != version }
        )
    }

    package var statistics: Statistics { state.withLock { $0.statistics } }

    /// Reads the catalog or a part of it again. On return ``current`` has what was committed there before this call.
    ///
    /// Callers that arrive during a reading share the next one. Throws the error of the database.
    package func reload(_ part: CatalogPart = .everything) async throws {
        let reading = readings.next(part, uniting: { $0.union($1) }, read)
        try await reading.value(ifCancelled: .failure(CancellationError())).get()
    }

    /// Reads these types from the database, where another process may just have created them.
    ///
    /// The number of lookups per second is limited, so that requests with unknown names cannot overload the database.
    package func look(for types: Set<RecordTypeName>) async throws {
        guard mayLook() else { return }
        try await reload(.types(types))
    }

    /// Counts a lookup, and returns whether it is allowed.
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

    private func read(_ part: CatalogPart) async -> Result<Void, any Error> {
        do {
            let (next, rows) = try await SchemaCatalog.load(
                part,
                from: client,
                replacing: current,
                readsAccess: readsAccess
            )
            state.withLock { state in
                state.catalog = next
                state.statistics.readings += 1
                state.statistics.rows += rows
            }
            awaited.wake { next[$0] != nil }
            changed.wake { $0 != next.version }
            return .success(())
        } catch {
            state.withLock { $0.statistics.failures += 1 }
            return .failure(error)
        }
    }
}
