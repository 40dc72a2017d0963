internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// Streams changes from PostgreSQL's log, through a replication slot that lives as long as its connection.
///
/// A transaction is delivered once it is visible to other sessions, so that reads it triggers are at least as recent.
package final class LogicalChangeSource: ChangeSource {
    private let store: RecordStore
    private let rowLimit: Int
    private let stream = Mutex<PostgresChanges?>(nil)

    /// The pause after the stream was refused.
    private static let pauseAfterRefusal: Duration = .seconds(1)
    /// The pause after a failed read that a transaction needs in addition to the stream.
    private static let pauseAfterFailure: Duration = .milliseconds(100)

    /// - Parameter rowLimit: upper bound on the rows of a transaction that are delivered one by one.
    package init(_ store: RecordStore, rowLimit: Int) {
        self.store = store
        self.rowLimit = rowLimit
    }

    /// Requests the server's current position, so that a ``ChangeSourceEvent/position(_:)`` comes soon.
    package func requestPosition() {
        stream.withLock { $0 }?.requestPosition()
    }

    package func run(_ take: @Sendable (ChangeSourceEvent) async -> Void) async {
        var decoder = ChangeDecoder(schema: store.schema)
        while !Task.isCancelled {
            let changes: PostgresChanges
            do {
                let publication = try await Publication.prepare(of: store.schema, by: store.client)
                changes = try store.client.changes(publication: publication.name)
            } catch {
                await take(.interrupted(ChangeInterruption(error)))
                guard (try? await ServiceTimer.sleep(for: Self.pauseAfterRefusal)) != nil else { return }
                continue
            }
            stream.withLock { $0 = changes }
            defer {
                stream.withLock { $0 = nil }
                changes.stop()
            }
            var visibility = CommitVisibility(store.client)
            do {
                for await event in changes {
                    #if DEBUG
                        await Lateness.holdTask()
                    #endif
                    switch event {
                    case .connected:
                        visibility = CommitVisibility(store.client)
                        await take(.started)
                    case .delayed: await take(.delayed)
                    case .position(let position): await take(.position(position.rawValue))
                    case .interrupted(let failure): await take(.interrupted(ChangeInterruption(failure)))
                    case .transaction(let transaction):
                        try await visibility.wait(for: transaction.transactionID)
                        let committed = try await decode(transaction, &decoder)
                        if let committed { await take(.transaction(committed)) }
                        await take(.position(transaction.endPosition.rawValue))
                    }
                    if Task.isCancelled { return }
                }
                // The client is shutting down.
                return
            } catch {
                if Task.isCancelled { return }
                await take(.interrupted(ChangeInterruption(whileReading: error)))
                guard (try? await ServiceTimer.sleep(for: Self.pauseAfterFailure)) != nil else { return }
            }
        }
    }

    /// Returns nil for a transaction that changed no record.
    private func decode(
        _ transaction: ChangeTransaction,
        _ decoder: inout ChangeDecoder
    ) async throws -> CommittedTransaction? {
        var bulk: Set<RecordTypeName> = []
        var changes: [RecordChange] = []
        var unknown: Set<PostgresOID> = []
        for (oid, relation) in transaction.relations {
            guard let type = decoder.type(of: relation) else { continue }
            if try await !accepts(relation, of: type, &decoder) { unknown.insert(oid) }
        }
        if !transaction.isComplete || transaction.rowCount > rowLimit {
            bulk = Set(transaction.relations.values.compactMap { decoder.type(of: $0) })
        } else {
            changes.reserveCapacity(transaction.rows.count)
            var completed: [PostgresOID: ArraySlice<CompletedRow>] = [:]
            for (oid, relation) in transaction.relations where !unknown.contains(oid) {
                do {
                    completed[oid] = try await completedRows(of: oid, in: transaction, decoder)
                } catch {
                    if Task.isCancelled { throw error }
                    if let type = decoder.type(of: relation) { bulk.insert(type) }
                }
            }
            // Records to read, and the indexes of their changes.
            var incomplete: [RecordTypeName: (table: RecordTable, ids: [String], places: [Int])] = [:]
            for row in transaction.rows {
                guard let type = decoder.type(of: row.relation), !bulk.contains(type) else { continue }
                if !unknown.contains(row.relation.oid), let (table, id) = decoder.incomplete(row) {
                    incomplete[type, default: (table, [], [])].ids.append(id)
                    incomplete[type]?.places.append(changes.count)
                    // A placeholder until the record is read.
                    changes.append(RecordChange(deleting: id, of: table))
                    continue
                }
                let rest = completed[row.relation.oid]?.prefix(decoder.completedRows(of: row))
                if let rest { completed[row.relation.oid]?.removeFirst(rest.count) }
                guard !unknown.contains(row.relation.oid), let found = decoder.changes(row, whole: Array(rest ?? []))
                else {
                    // The row data was insufficient.
                    bulk.insert(type)
                    continue
                }
                changes += found
            }
            for (type, found) in incomplete where !bulk.contains(type) {
                do {
                    let present = try await store.presentChanges(of: found.table, found.ids)
                    for (place, change) in zip(found.places, present) { changes[place] = change }
                } catch {
                    if Task.isCancelled { throw error }
                    bulk.insert(type)
                }
            }
        }
        bulk.formUnion(transaction.truncations.compactMap { decoder.type(of: $0.relation) })
        if !bulk.isEmpty { changes.removeAll { bulk.contains($0.table.name) } }
        guard !changes.isEmpty || !bulk.isEmpty else { return nil }
        return CommittedTransaction(
            id: .truncated(transaction.transactionID),
            end: transaction.endPosition.rawValue,
            changes: changes.ofWholeTransaction,
            bulk: bulk,
            committedAt: Timestamp(microseconds: transaction.committedAt.microsecondsSince2000)
        )
    }

    /// Returns whether the catalog has the table in the replicated form; reloads the catalog if it does not.
    private func accepts(
        _ relation: ReplicationRelation,
        of type: RecordTypeName,
        _ decoder: inout ChangeDecoder
    ) async throws -> Bool {
        if let table = store.cache.current.tables[type], decoder.accepts(relation, as: table) { return true }
        try await store.cache.reload(.types([type]))
        guard let table = store.cache.current.tables[type] else { return false }
        if decoder.accepts(relation, as: table, isPresent: true) { return true }
        let generated = try await GeneratedColumn.all(of: table, by: store.client)
        return decoder.accepts(relation, as: table, computing: generated, isPresent: true)
    }

    /// Returns the columns of a table's rows that are not replicated, in row order; nil if all are replicated.
    private func completedRows(
        of table: PostgresOID,
        in transaction: ChangeTransaction,
        _ decoder: ChangeDecoder
    ) async throws -> ArraySlice<CompletedRow>? {
        let rows = transaction.rows.filter { row in
            row.relation.oid == table && decoder.completedRows(of: row) > 0 && decoder.incomplete(row) == nil
        }
        var found: [CompletedRow] = []
        for statement in decoder.completion(of: rows) {
            let result = try await store.client.read(statement, limit: .reading)
            found += (0..<result.rowCount).map { CompletedRow(rows: result, row: $0) }
        }
        return found.isEmpty ? nil : found[...]
    }
}

extension ChangeInterruption {
    fileprivate init(_ failure: ReplicationFailure) {
        self.init(
            reason: failure.reason.rawValue,
            isLasting: failure.isLasting,
            isUnreadable: failure.reason == .undecodable,
            message: failure.description
        )
    }

    /// Classifies an error of reading a transaction: an unavailable database does not mean that the transaction is undecodable.
    fileprivate init(whileReading error: any Error) {
        let isAway = (error as? PostgresError).map { SkyrowError($0).isTransient } ?? (error is SkyrowError)
        self.init(
            reason: (isAway ? ReplicationFailure.Reason.connectionLost : .undecodable).rawValue,
            isLasting: false,
            isUnreadable: !isAway,
            message: "A change could not be read: \(error)"
        )
    }

    fileprivate init(_ error: any Error) {
        self.init(reason: "refused", isLasting: false, message: "Changes cannot be streamed from PostgreSQL: \(error)")
    }
}
