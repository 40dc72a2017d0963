package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// The number of tombstones that one statement deletes.
    private static let sweepBatch: Int64 = 10_000

    /// Deletes the tombstones that no change token needs any more: those older than the lifetime of tokens plus a day.
    ///
    /// Tombstones of roles stay for a month, during which the name of a deleted role is not reused. One process at a time
    /// sweeps; returns the number of deleted tombstones, 0 while another process sweeps.
    @discardableResult
    package func sweepTombstones(olderThan retention: Duration) async throws(SkyrowError) -> Int {
        try await reporting {
            var deleted = 0
            while true {
                let result = try await client.write(
                    """
                    WITH turn AS MATERIALIZED (
                        SELECT \(schema)._try_hold('sweep') AS is_mine
                    )
                    DELETE FROM \(schema.internal)._tombstone AS grave USING (
                        SELECT old.ctid FROM \(schema.internal)._tombstone AS old, turn
                        WHERE turn.is_mine AND (old.type <> '_role' OR old.deleted_at < now() - interval '31 days')
                            AND old.deleted_at < now() - make_interval(secs => \(Double(retention.components.seconds) + 86_400))
                        LIMIT \(Self.sweepBatch)
                    ) AS old WHERE grave.ctid = old.ctid
                    """
                )
                deleted += result.affectedRows
                if result.affectedRows < Self.sweepBatch { return deleted }
            }
        }
    }
}
