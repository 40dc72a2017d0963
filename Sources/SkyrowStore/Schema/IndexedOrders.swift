package import SkyrowModel
package import SkyrowPostgres

/// The columns whose order an index of a table gives, of all rows or of those of one database.
///
/// It is what the choice between the forms of a page depends on (``Keyset``), and nothing else: whether PostgreSQL takes the
/// index is its own decision.
package struct IndexedOrders: Hashable, Sendable {
    private static let ofDatabase = "_database "

    private var names: Set<String>

    /// - Parameter names: of columns; one that an index has behind `_database` is `_database <name>`.
    package init(names: some Sequence<String> = []) {
        self.names = Set(names)
    }

    /// Whether an index gives the order of a column among the rows of a database.
    package func contains(_ column: SQLIdentifier, in database: DatabaseScope) -> Bool {
        if names.contains(column.name) { return true }
        switch database {
        case .everyone, .user: return names.contains(Self.ofDatabase + column.name)
        case .union: return false
        }
    }

    /// The names as an array of texts, in SQL: of B-trees that hold every row, are complete, and sort as the column does.
    ///
    /// `attrelid` is the table. An index that has NULL at the other end than PostgreSQL's default gives no order that is
    /// asked for.
    package static var ofTable: SQL {
        """
        ARRAY(
            SELECT DISTINCT CASE WHEN place = 1 THEN '_database ' ELSE '' END || key.attname
            FROM pg_catalog.pg_index
            JOIN pg_catalog.pg_class AS index ON index.oid = indexrelid
            JOIN pg_catalog.pg_am AS method ON method.oid = index.relam AND method.amname = 'btree'
            CROSS JOIN (VALUES (0), (1)) AS key_place (place)
            JOIN pg_catalog.pg_opclass AS class ON class.oid = indclass[place] AND class.opcdefault
            JOIN pg_catalog.pg_attribute AS key
                ON key.attrelid = indrelid AND key.attnum = indkey[place] AND key.attcollation = indcollation[place]
            WHERE indrelid = pg_attribute.attrelid AND indisvalid AND indpred IS NULL AND indoption[place] IN (0, 3)
                AND (place = 0 OR EXISTS (
                    SELECT FROM pg_catalog.pg_attribute AS first
                    WHERE first.attrelid = indrelid AND first.attnum = indkey[0] AND first.attname = '_database'
                ))
            ORDER BY 1
        )
        """
    }
}
