package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `datetime`: `timestamptz`, an instant to the microsecond.
package struct DatetimeColumn: ColumnType {
    package var sqlType: SQL { "timestamptz" }
    package var comment: String { "An instant." }
    package var kind: RowPlan.Kind { .datetime }
    package var textCast: TextCast? { .datetime }
    package var operators: OperatorFamily { .order }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .timestamptz ? .datetime : nil
    }

    package func value(of value: RecordValue) -> PostgresTimestamp? {
        if case .datetime(let instant) = value {
            PostgresTimestamp(microsecondsSince2000: instant.microseconds)
        } else {
            nil
        }
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .datetime = value { true } else { false }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func instant(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        Int64(networkOrder: bytes).map { Timestamp(microseconds: $0) }
    }
}
