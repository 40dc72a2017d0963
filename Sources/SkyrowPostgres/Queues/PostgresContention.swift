/// What a statement may have to wait for inside PostgreSQL: the lock of a table, or of one row.
///
/// Statements of one key hold a part of a queue's connections at most (``PostgresConfiguration/contendedShare``), so
/// that one locked row or table leaves connections for everything else. Hash values are enough: a collision costs a
/// wait.
package struct PostgresContention: Hashable, Sendable {
    package var table: Int
    /// The row, for a statement that writes exactly one.
    package var row: Int?

    package init(table: Int, row: Int? = nil) {
        self.table = table
        self.row = row
    }
}
