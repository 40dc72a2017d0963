package import SkyrowModel
package import SkyrowPostgres

/// `boolean`
package struct BooleanColumn: ColumnType {
    package var sqlType: SQL { "boolean" }
    package var comment: String { "True or false." }
    package var kind: RowPlan.Kind { .boolean }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .bool ? .boolean : nil
    }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL { column }

    package func admission(of value: RecordValue) -> FieldAdmission {
        if case .boolean = value { .fits } else { .conflicts }
    }

    package func bind(_ values: ColumnValues, to bindings: inout PostgresBindings) {
        values.bind(to: &bindings) { if case .boolean(let flag) = $0 { flag } else { nil } }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        if case .boolean(let flag) = value {
            encoder.appendField(Int8(flag ? 1 : 0))
        } else {
            encoder.appendNull()
        }
    }

    package func defaultText(_ value: RecordValue) -> String? {
        if case .boolean(let flag) = value { "\(flag)" } else { nil }
    }

    package func value(ofDefault text: String) -> RecordValue? {
        switch text {
        case "true", "t": .boolean(true)
        case "false", "f": .boolean(false)
        default: nil
        }
    }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        switch other {
        case .string: .keeping { "\($0) IN ('true', 'false')" }
        default: nil
        }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func boolean(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        .boolean(bytes.first == 1)
    }
}
