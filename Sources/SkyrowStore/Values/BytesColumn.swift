package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `bytes`: `bytea`
package struct BytesColumn: ColumnType {
    package var sqlType: SQL { "bytea" }
    package var comment: String { "Bytes." }
    package var kind: RowPlan.Kind { .bytes }
    package var textCast: TextCast? { .bytes }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .bytea ? .bytes : nil
    }

    package func value(of value: RecordValue) -> [UInt8]? {
        if case .bytes(let bytes) = value { bytes } else { nil }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func bytes(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        .bytes(bytes)
    }
}
