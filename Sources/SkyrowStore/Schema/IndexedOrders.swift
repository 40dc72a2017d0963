package import SkyrowModel
package import SkyrowPostgres

/// The columns by which an index orders all rows of a table, or the rows of one database.
///
/// The choice between the forms of a page depends on nothing else (``Keyset``). Whether PostgreSQL uses the index is its own
/// decision.
package struct IndexedOrders: Hashable, Sendable {
    /// The first columns of indexes.
    private let names: Set<String>
    /// The columns that follow `_database` in an index.
    private let namesInDatabase: Set<String>
    /// The values inside JSON that come first in an index, and those that follow `_database`.
    private let values: Set<TableIndex.Key.JSONValue>
    private let valuesInDatabase: Set<TableIndex.Key.JSONValue>

    /// Whether an index provides the order of a column among the rows of a database.
    package func contains(_ column: SQLIdentifier, in database: DatabaseScope) -> Bool {
        if names.contains(column.name) { return true }
        switch database {
        case .everyone, .user: return namesInDatabase.contains(column.name)
        case .union: return false
        }
    }

    /// Whether an index provides the order of a value inside JSON.
    package func contains(_ value: TableIndex.Key.JSONValue, in database: DatabaseScope) -> Bool {
        if values.contains(value) { return true }
        switch database {
        case .everyone, .user: return valuesInDatabase.contains(value)
        case .union: return false
        }
    }

    /// Reads the orders of valid B-tree indexes that hold every row.
    ///
    /// An index with NULL at the other end than PostgreSQL's default provides no order that a query uses.
    init(_ indexes: [TableIndex]) {
        var names: Set<String> = []
        var namesInDatabase: Set<String> = []
        var values: Set<TableIndex.Key.JSONValue> = []
        var valuesInDatabase: Set<TableIndex.Key.JSONValue> = []
        for index in indexes where index.method == "btree" && index.isValid && index.condition == nil {
            if let first = index.keys.first?.orderedColumn { names.insert(first) }
            if let first = index.keys.first?.orderedValue { values.insert(first) }
            if index.keys.count > 1, index.keys[0].column == "_database", let second = index.keys[1].orderedColumn {
                namesInDatabase.insert(second)
            }
            if index.keys.count > 1, index.keys[0].column == "_database", let second = index.keys[1].orderedValue {
                valuesInDatabase.insert(second)
            }
        }
        self.names = names
        self.namesInDatabase = namesInDatabase
        self.values = values
        self.valuesInDatabase = valuesInDatabase
    }
}

extension TableIndex.Key {
    /// The column whose order the key has, with NULL where PostgreSQL sorts it by default; nil for an expression.
    fileprivate var orderedColumn: String? {
        form == .column && hasOrderOfColumn && nullsFirst == isDescending ? column : nil
    }

    /// The value inside JSON whose order the key has in the same way; nil for any other key.
    fileprivate var orderedValue: JSONValue? { hasOrderOfColumn && nullsFirst == isDescending ? json : nil }
}
