package import SkyrowModel
package import SkyrowPostgres

/// `datetime`: `timestamptz`, an instant to the microsecond.
package struct DatetimeColumn: ColumnType {
    package var sqlType: SQL { "timestamptz" }
    package var comment: String { "An instant." }
    package var kind: RowPlan.Kind { .datetime }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .timestamptz ? .datetime : nil
    }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL {
        oid == .timestamptz ? column : "\(column)::timestamptz"
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        if case .datetime = value { .fits } else { .conflicts }
    }

    package func bind(_ values: ColumnValues, to bindings: inout PostgresBindings) {
        values.bind(to: &bindings) { if case .datetime(let instant) = $0 { PostgresTimestamp(instant) } else { nil } }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        if case .datetime(let instant) = value {
            encoder.appendField(instant.microseconds)
        } else {
            encoder.appendNull()
        }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func instant(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        Int64(networkOrder: bytes).map { Timestamp(microseconds: $0) }
    }
}
