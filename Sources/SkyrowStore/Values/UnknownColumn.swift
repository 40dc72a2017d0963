package import SkyrowModel
package import SkyrowPostgres

/// A column that psql made of an SQL type that no field has: clients see that it has a value, and write none.
package struct UnknownColumn: ColumnType {
    /// The SQL type.
    let name: String

    /// Nothing is made of this type; a request for it is refused before (``SchemaChange``).
    package var sqlType: SQL { "text" }
    package var comment: String { "A value." }
    package var kind: RowPlan.Kind { .unknown }
    package var kindName: String { name }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL {
        "CASE WHEN \(column) IS NOT NULL THEN true END"
    }

    /// It takes no value.
    package func value(of value: RecordValue) -> String? { nil }
}
