package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `boolean`
package struct BooleanColumn: ColumnType {
    package var sqlType: SQL { "boolean" }
    package var comment: String { "True or false." }
    package var kind: RowPlan.Kind { .boolean }
    package var textCast: TextCast? { .boolean }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .bool ? .boolean : nil
    }

    package func value(of value: RecordValue) -> Bool? {
        if case .boolean(let flag) = value { flag } else { nil }
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .boolean = value { true } else { false }
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
