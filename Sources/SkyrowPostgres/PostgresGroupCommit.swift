/// Whether a write may take part in a group commit.
package enum PostgresGroupCommit: Sendable, Hashable {
    /// The write is committed alone.
    case never

    /// The write is independent of all other waiting writes.
    case allowed

    /// The write is independent of all others except those with the same key, which never join its group.
    ///
    /// All statements of one commit have the same transaction id and the same `now()`. Where these distinguish two versions of a
    /// row, as `_revision` does, the key must be derived from the row's primary key, for example its hash.
    case allowedExcept(key: Int)
}
