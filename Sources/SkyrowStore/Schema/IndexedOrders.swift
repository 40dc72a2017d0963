package import SkyrowModel
package import SkyrowPostgres

/// The columns whose order an index of a table gives, of all rows or of those of one database.
///
/// It is what the choice between the forms of a page depends on (``Keyset``), and nothing else: whether PostgreSQL takes the
/// index is its own decision.
package struct IndexedOrders: Hashable, Sendable {
    /// The columns that an index begins with.
    private let names: Set<String>
    /// Those that an index has behind `_database`.
    private let namesInDatabase: Set<String>
    /// The values inside JSON that an index begins with, and those behind `_database`.
    private let values: Set<TableIndex.Key.JSONValue>
    private let valuesInDatabase: Set<TableIndex.Key.JSONValue>

    /// Whether an index gives the order of a column among the rows of a database.
    package func contains(_ column: SQLIdentifier, in database: DatabaseScope) -> Bool {
        if names.contains(column.name) { return true }
        switch database {
        case .everyone, .user: return namesInDatabase.contains(column.name)
        case .union: return false
        }
    }

    /// Whether one gives the order of a value inside JSON.
    package func contains(_ value: TableIndex.Key.JSONValue, in database: DatabaseScope) -> Bool {
        if values.contains(value) { return true }
        switch database {
        case .everyone, .user: return valuesInDatabase.contains(value)
        case .union: return false
        }
    }

    /// Those of B-trees that hold every row and are complete.
    ///
    /// An index that has NULL at the other end than PostgreSQL's default gives no order that is asked for.
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
    /// The column whose order it has, with NULL where PostgreSQL has it by default; nil for an expression.
    fileprivate var orderedColumn: String? {
        form == .column && hasOrderOfColumn && nullsFirst == isDescending ? column : nil
    }

    /// The value inside JSON whose order it has so; nil for any other.
    fileprivate var orderedValue: JSONValue? {
        hasOrderOfColumn && nullsFirst == isDescending ? json : nil
    }
}
