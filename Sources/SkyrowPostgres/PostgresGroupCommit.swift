/// Whether a write may take part in a group commit.
package enum PostgresGroupCommit: Sendable, Hashable {
    /// The write has a commit of its own.
    case never

    /// The write is independent of all others that wait.
    case allowed

    /// The write is independent of all others except those with the same key, which are never in one group with it.
    ///
    /// All statements of one commit have the same transaction id and the same `now()`. Where these distinguish two versions
    /// of a row (as `_revision` does), the key must be derived from the row's primary key, say its hash.
    case allowedExcept(key: Int)
}
