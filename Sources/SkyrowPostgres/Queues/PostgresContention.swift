/// The lock that a statement may have to wait for in PostgreSQL: of a table, or of one row.
///
/// Statements with the same key hold at most a share of a queue's connections (``PostgresConfiguration/contendedShare``), so that
/// one locked row or table leaves connections for other statements. Hash values suffice: a collision only costs a wait.
package struct PostgresContention: Hashable, Sendable {
    package var table: Int
    /// The row, when the statement writes exactly one.
    package var row: Int?

    package init(table: Int, row: Int? = nil) {
        self.table = table
        self.row = row
    }
}
