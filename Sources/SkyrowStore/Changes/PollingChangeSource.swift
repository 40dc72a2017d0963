internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
internal import SkyrowSystem
internal import Synchronization

/// Polls for changes: first which transactions have become visible, and if any have, which rows they wrote.
///
/// It does not deliver old rows, and reports several changes of a record between two polls as one.
package final class PollingChangeSource: ChangeSource {
    private let store: RecordStore
    private let interval: Duration
    private let rowLimit: Int
    private let watched: WatchedTypes
    private let pause = Pause()

    /// Factor by which the interval grows after a time without changes.
    private static let quietFactor = 10
    private static let quietAfter: Duration = .seconds(10)
    /// The pause after a failed poll.
    private static let patience: Duration = .milliseconds(100)

    /// - Parameters:
    ///   - interval: the pause between two polls.
    ///   - rowLimit: upper bound on the rows of a type that are delivered one by one.
    ///   - watched: called before every poll.
    package init(_ store: RecordStore, interval: Duration, rowLimit: Int, watched: @escaping WatchedTypes) {
        self.store = store
        self.interval = interval
        self.rowLimit = rowLimit
        self.watched = watched
    }

    /// Starts the next poll at once.
    package func wake() {
        pause.wake()
    }

    package func run(_ take: @Sendable (ChangeSourceEvent) async -> Void) async {
        var isRunning = false
        var seen: ChangeMoment?
        var lastChange = ContinuousClock.now
        while !Task.isCancelled {
            do {
                var moment = try await store.changeMoment()
                if let known = seen {
                    var found: [CommittedTransaction] = []
                    if known.transactions != moment.transactions { (moment, found) = try await changes(since: known) }
                    #if DEBUG
                        if !found.isEmpty { await Lateness.holdTask() }
                    #endif
                    if try await store.hasPassed(known.place, at: moment.place) {
                        if !found.isEmpty { lastChange = .now }
                        for transaction in found { await take(.transaction(transaction)) }
                    } else {
                        await take(.interrupted(ChangeInterruption(branch: ())))
                        isRunning = false
                    }
                }
                seen = moment
                if !isRunning { await take(.started) }
                isRunning = true
                await take(.moment(moment))
            } catch {
                if Task.isCancelled { return }
                // A table differs from the catalog; without a reload the next poll would fail too.
                if let state = (error as? PostgresError)?.sqlState, [.undefinedTable, .undefinedColumn].contains(state)
                {
                    try? await store.cache.reload()
                }
                // The next successful poll reads the changes missed meanwhile.
                try? await ServiceTimer.sleep(for: Self.patience)
                continue
            }
            let isQuiet = ContinuousClock.now - lastChange > Self.quietAfter
            await pause.wait(for: isQuiet ? interval * Self.quietFactor : interval)
        }
    }

    // MARK: Rows

    /// Returns the changes that are visible now and were not visible in `seen`.
    ///
    /// Everything is read in one snapshot. A row that is written again meanwhile is returned in its earlier version; otherwise
    /// clients that get the later version from the stream would never receive it.
    private func changes(since seen: ChangeMoment) async throws -> (ChangeMoment, [CommittedTransaction]) {
        try await store.atOneMoment { transaction, moment in
            (moment, try await self.changes(since: seen, at: moment, in: transaction))
        }
    }

    private func changes(
        since seen: ChangeMoment,
        at moment: ChangeMoment,
        in transaction: PostgresTransaction
    ) async throws -> [CommittedTransaction] {
        var parts: [Int64: [RecordChange]] = [:]
        var bulk: Set<RecordTypeName> = []
        // Called after the snapshot is taken: types subscribed to from now on start later.
        for (type, databases) in watched() {
            guard let table = store.cache.current.tables[type] else { continue }
            let statement = PolledRows(table, databases, limit: rowLimit)
            let rows = try await transaction.query(statement.rows(since: seen.transactions), limit: .reading)
            let graves = try await transaction.query(statement.tombstones(since: seen.transactions))
            guard rows.rowCount <= rowLimit, graves.rowCount <= rowLimit else {
                bulk.insert(type)
                continue
            }
            var deleted: [String: Int64] = [:]
            for row in 0..<graves.rowCount {
                let revision = try graves.decode(row: row, column: 0, as: Int64.self)
                guard moment.transactions.contains(revision) else { continue }
                let id = try graves.decode(row: row, column: 1, as: String.self)
                deleted[id] = max(deleted[id] ?? .min, revision)
            }
            for row in 0..<rows.rowCount {
                guard let after = StoredRecord(rows, row: row, of: table), let revision = after.revision,
                    // A revision stamped under another start of PostgreSQL is not in the set.
                    moment.transactions.contains(revision)
                else { continue }
                let wasDeleted = deleted.removeValue(forKey: after.storedID) != nil
                if wasDeleted { parts[revision, default: []].append(RecordChange(deleting: after.storedID, of: table)) }
                parts[revision, default: []].append(
                    RecordChange(
                        of: table,
                        storedID: after.storedID,
                        before: wasDeleted ? .missing : .unknown(mayBeNew: after.isNew(since: seen)),
                        after: after,
                        rows: rows,
                        row: row
                    )
                )
            }
            for (id, revision) in deleted {
                parts[revision, default: []].append(RecordChange(deleting: id, of: table))
            }
        }
        var found = parts.sorted { $0.key < $1.key }.map { revision, changes in
            CommittedTransaction(id: .revision(revision), changes: changes, readAt: moment)
        }
        if !bulk.isEmpty {
            found.append(CommittedTransaction(id: .revision(moment.transactions.end), changes: [], bulk: bulk))
        }
        return found
    }
}

extension ChangeInterruption {
    fileprivate init(branch: Void) {
        self.init(
            reason: "branch",
            isLasting: false,
            message: "The database was replaced or restored to an earlier state"
        )
    }
}

extension StoredRecord {
    /// Whether the record was created since a snapshot, according to its timestamps. They miss a record whose transaction began
    /// before the snapshot and ended after it, and which another transaction has changed since.
    fileprivate func isNew(since moment: ChangeMoment) -> Bool {
        guard let createdAt, let updatedAt else { return false }
        if createdAt == updatedAt { return true }
        let seconds = Timestamp(microseconds: moment.takenAt * 1_000_000 - Timestamp.unixEpochOffset)
        return createdAt >= seconds.adding(seconds: 1)
    }
}

extension Timestamp {
    fileprivate func adding(seconds: Int64) -> Timestamp {
        Timestamp(microseconds: microseconds + seconds * 1_000_000)
    }
}

/// Waits for a time or until it is woken.
private final class Pause: Sendable {
    private struct State {
        var isWoken = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    func wake() {
        state.withLock { state in
            state.isWoken = true
            state.sleeper?.cancel()
        }
    }

    func wait(for duration: Duration) async {
        let sleeper = Task { _ = try? await ServiceTimer.sleep(for: duration) }
        state.withLock { state in
            if state.isWoken { sleeper.cancel() }
            state.sleeper = sleeper
        }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { state in
            state.isWoken = false
            state.sleeper = nil
        }
    }
}

/// The statements that poll for the changes of a type in some databases.
struct PolledRows {
    private let table: RecordTable
    private let databases: [String]?
    private let limit: Int

    /// - Parameter databases: if they include the union, all databases.
    init(_ table: RecordTable, _ databases: [DatabaseScope], limit: Int) {
        self.table = table
        self.limit = limit
        self.databases =
            databases.contains(.union)
            ? nil
            : databases.map { database in
                switch database {
                case .user(let user): user.rawValue
                case .everyone, .union: "_public"
                }
            }
    }

    /// Selects all columns of the rows changed since `seen`, at most `limit + 1`.
    func rows(since seen: TransactionSet) -> SQL {
        unseen(
            "SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS \"r\" WHERE \(within("\"r\".\"_database\""))",
            "\"r\".\"_revision\"",
            seen
        )
    }

    /// Selects the revisions and stored ids of the records deleted since `seen`.
    func tombstones(since seen: TransactionSet) -> SQL {
        unseen(
            """
            SELECT "r"."revision", "r"."id" FROM \(table.schema.internal)."_tombstone" AS "r" \
            WHERE "r"."type" = \(table.name.rawValue) AND "r"."kind" = 'd' AND \(within("\"r\".\"database\""))
            """,
            "\"r\".\"revision\"",
            seen
        )
    }

    private func within(_ column: SQL) -> SQL {
        databases.map { "\(column) = ANY (\($0))" } ?? "true"
    }

    private func unseen(_ selection: SQL, _ revision: SQL, _ seen: TransactionSet) -> SQL {
        let later: SQL = "\(selection) AND \(revision) >= \(seen.end) LIMIT \(Int64(limit + 1))"
        guard !seen.missing.isEmpty else { return later }
        return "(\(selection) AND \(revision) = ANY (\(seen.missing)) LIMIT \(Int64(limit + 1))) UNION ALL (\(later))"
    }
}
