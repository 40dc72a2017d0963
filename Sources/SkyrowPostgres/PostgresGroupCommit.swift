/// Whether a write may share its commit with other writes.
package enum PostgresCommitSharing: Sendable, Hashable {
    /// The write has a commit of its own.
    case never

    /// The write is independent of all others that wait.
    case allowed

    /// The write is independent of all others except those with the same key, with which it never shares a commit.
    ///
    /// All statements of one commit have the same transaction id and the same `now()`. Where these tell two versions
    /// of a row apart (as `_revision` does), the key must be derived from the row's primary key, say its hash.
    case allowedExcept(key: Int)
}
