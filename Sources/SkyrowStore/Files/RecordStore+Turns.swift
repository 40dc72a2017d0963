package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Runs `body` while this process alone holds a lock of `_lock`; nil, without running it, while another one does.
    ///
    /// A transaction holds the lock, so it ends with the connection of a process that was killed.
    package func whileHolding<Success: Sendable>(
        _ lock: String,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success? {
        try await inTransaction { transaction -> Success? in
            let isMine = try await transaction.query("SELECT \(schema)._try_hold(\(lock))")
                .decode(row: 0, column: 0, as: Bool.self)
            return isMine ? try await body() : nil
        }
    }
}
