package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `integer`: `bigint`, and `smallint` or `integer` columns created by psql.
package struct IntegerColumn: ColumnType {
    package var sqlType: SQL { "bigint" }
    package var comment: String { "An integer; it becomes a double when a fraction is saved in development mode." }
    package var kind: RowPlan.Kind { .integer }
    package var textCast: TextCast? { .integer }
    package var operators: OperatorFamily { .arithmetic }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        isInteger(column.oid) && !column.isSequence ? .integer : nil
    }

    static func isInteger(_ oid: PostgresOID) -> Bool {
        oid == .int8 || oid == .int4 || oid == .int2
    }

    package func value(of value: RecordValue) -> Int64? {
        if case .integer(let number) = value { number } else { nil }
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        switch value {
        case .integer, .sequence: .fits
        case .number(let number): Int64(exactly: number) == nil ? .fitsWidened : .fits
        default: .conflicts
        }
    }

    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? {
        switch value {
        case .sequence: return nil
        case .number(let number):
            guard let integer = Int64(exactly: number) else { throw FieldMisfit("holds integers") }
            return .integer(integer)
        default: return value
        }
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .integer = value { true } else { false }
    }

    package func joined(with other: FieldType) -> FieldType? {
        switch other {
        case .number: .number
        case .sequence: .sequence
        default: nil
        }
    }

    package func fits(_ value: RecordValue, in oid: PostgresOID) -> Bool {
        guard let number = self.value(of: value) else { return true }
        return switch oid {
        case .int2: Int16(exactly: number) != nil
        case .int4: Int32(exactly: number) != nil
        default: true
        }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        let number = self.value(of: value)
        switch oid {
        case .int2: encoder.append(field: number.map { Int16(truncatingIfNeeded: $0) })
        case .int4: encoder.append(field: number.map { Int32(truncatingIfNeeded: $0) })
        default: encoder.append(field: number)
        }
    }

    package func defaultText(_ value: RecordValue) -> String? {
        if case .integer(let number) = value { "\(number)" } else { nil }
    }

    package func value(ofDefault text: String) -> RecordValue? {
        Int64(text).map { .integer($0) }
    }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        switch other {
        case .sequence: .lossless
        // Excludes NaN and infinity; every double within these bounds fits a bigint.
        case .number: .keeping { "(\($0) = trunc(\($0)) AND abs(\($0)) < 9.2e18)" }
        case .string: .keeping { "\($0) ~ '^[+-]?[0-9]{1,18}$'" }
        default: nil
        }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func integer(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue? {
        Int64(networkOrder: bytes).map { .integer($0) }
    }
}
