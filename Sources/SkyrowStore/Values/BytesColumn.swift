package import SkyrowModel
package import SkyrowPostgres

/// `bytes`: `bytea`
package struct BytesColumn: ColumnType {
    package var sqlType: SQL { "bytea" }
    package var comment: String { "Bytes." }
    package var kind: RowPlan.Kind { .bytes }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .bytea ? .bytes : nil
    }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL { column }

    package func admission(of value: RecordValue) -> FieldAdmission {
        if case .bytes = value { .fits } else { .conflicts }
    }

    package func bind(_ values: ColumnValues, to bindings: inout PostgresBindings) {
        values.bind(to: &bindings) { if case .bytes(let bytes) = $0 { bytes } else { nil } }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        if case .bytes(let bytes) = value { encoder.appendField(bytes) } else { encoder.appendNull() }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func bytes(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        .bytes(bytes)
    }
}
