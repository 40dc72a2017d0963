package import SkyrowModel
package import SkyrowPostgres

/// A column that psql created with an unsupported SQL type: clients see whether it has a value, and cannot write it.
package struct UnknownColumn: ColumnType {
    /// The SQL type.
    let name: String

    /// No column is created with this type; such requests are refused earlier (``SchemaChange``).
    package var sqlType: SQL { "text" }
    package var comment: String { "A value." }
    package var indexes: [IndexKind] { [] }
    package var kind: RowPlan.Kind { .unknown }
    package var kindName: String { name }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL {
        "CASE WHEN \(column) IS NOT NULL THEN true END"
    }

    /// The column takes no values.
    package func value(of value: RecordValue) -> String? { nil }
}
