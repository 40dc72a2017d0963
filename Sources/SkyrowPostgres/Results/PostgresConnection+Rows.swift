internal import CLibpq

/// What happens while rows are collected.
enum CollectingEvent {
    /// The next row has not arrived yet.
    case waiting
    /// The rows are one too many, and the statement is of no more use.
    case excess
}

extension PostgresConnection {
    /// A row of this length leaves libpq with a buffer of twice its size, which it keeps as long as the connection lives.
    static let swellingRow = 8 << 20

    /// Collects rows that arrive one by one, from `first` on; returns the result behind them, or nil when the connection
    /// was lost.
    func collect(
        from first: OpaquePointer,
        _ limit: PostgresRowLimit,
        _ collected: inout CollectedRows?,
        _ events: (CollectingEvent) -> Void
    ) -> OpaquePointer? {
        guard PQresultStatus(first) == PGRES_SINGLE_TUPLE else { return first }
        var collector = RowCollector(limit: limit, columnCount: Int(PQnfields(first)))
        // Also where the connection is lost: the rows so far are given up with their memory.
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
    /// The reason for which a statement was cancelled, where its rows were too many.
    func replaced(by rows: CollectedRows?) -> PostgresError {
        guard sqlState == .queryCanceled, let failure = rows?.failure else { return self }
        return PostgresError(code: failure)
    }
}
