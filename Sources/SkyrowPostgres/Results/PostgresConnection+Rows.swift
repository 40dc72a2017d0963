internal import CLibpq

/// What happens while rows are collected.
enum CollectingEvent {
    /// The next row has not arrived yet.
    case waiting
    /// The rows exceed the limit, so the statement is useless.
    case excess
}

extension PostgresConnection {
    /// A row of this length leaves libpq with a buffer of twice its size for the lifetime of the connection.
    static let swellingRow = 8 << 20

    /// Collects rows that arrive one by one, starting with `first`; returns the
    /// result after them, or nil when the connection was lost.
    func collect(
        from first: OpaquePointer,
        _ limit: PostgresRowLimit,
        _ collected: inout CollectedRows?,
        _ events: (CollectingEvent) -> Void
    ) -> OpaquePointer? {
        guard PQresultStatus(first) == PGRES_SINGLE_TUPLE else { return first }
        var collector = RowCollector(limit: limit, columnCount: Int(PQnfields(first)))
        // Also when the connection is lost: this releases the rows so far.
        defer {
            let rows = collector.complete()
            if rows.longestRow >= Self.swellingRow { isSwollen = true }
            collected = rows
        }
        var result = first
        while PQresultStatus(result) == PGRES_SINGLE_TUPLE {
            let hadFailed = collector.failure != nil
            collector.append(result)
            PQclear(result)
            if !hadFailed, collector.failure != nil { events(.excess) }
            if PQisBusy(handle) != 0 { events(.waiting) }
            guard let next = PQgetResult(handle) else { return nil }
            result = next
        }
        return result
    }
}

extension PostgresError {
    /// Replaces the cancellation error of a statement whose rows exceeded the limit by the reason of the cancellation.
    func replaced(by rows: CollectedRows?) -> PostgresError {
        guard sqlState == .queryCanceled, let failure = rows?.failure else { return self }
        return PostgresError(code: failure)
    }
}
