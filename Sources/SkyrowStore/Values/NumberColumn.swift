package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `number`: `double precision`, and `real` columns created by psql.
package struct NumberColumn: ColumnType {
    package var sqlType: SQL { "double precision" }
    package var comment: String { "A number." }
    package var kind: RowPlan.Kind { .number }
    package var textCast: TextCast? { .number }
    package var operators: OperatorFamily { .arithmetic }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .float8 || column.oid == .float4 ? .number : nil
    }

    package func value(of value: RecordValue) -> Double? {
        if case .number(let number) = value { number } else { nil }
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        switch value {
        case .number, .integer, .sequence: .fits
        default: .conflicts
        }
    }

    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? {
        switch value {
        case .sequence: return nil
        case .integer(let integer):
            guard Int64(exactly: Double(integer)) == integer else {
                throw FieldMisfit("holds doubles, as which this integer would lose digits")
            }
            return .number(Double(integer))
        default: return value
        }
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .number = value { true } else { false }
    }

    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        let number = self.value(of: value)
        if oid == .float4 {
            encoder.append(field: number.map { Float($0) })
        } else {
            encoder.append(field: number)
        }
    }

    package func defaultText(_ value: RecordValue) -> String? {
        if case .number(let number) = value { "\(number)" } else { nil }
    }

    package func value(ofDefault text: String) -> RecordValue? {
        Double(text).map { .number($0) }
    }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        switch other {
        case .integer:
            .keeping(Self.keepsDigits) { column in
                "least(\(column)::double precision, \(Self.largestInteger))::bigint"
            }
        case .string:
            .keeping { column in
                """
                CASE WHEN \(Self.isNumber(column)) \
                THEN \(column)::double precision::text::numeric = \(column)::numeric ELSE false END
                """
            } replacing: { column in
                "CASE WHEN \(Self.isNumber(column)) THEN \(column)::double precision::text END"
            }
        default: nil
        }
    }

    /// The largest double within the range of `bigint`; greater integers are rounded to a double above that range.
    private static let largestInteger: SQL = "9223372036854774784"

    /// Whether a double represents an integer exactly.
    static func keepsDigits(_ column: SQL) -> SQL {
        """
        CASE WHEN \(column) > \(largestInteger) THEN false \
        ELSE \(column)::double precision::bigint = \(column) END
        """
    }

    private static func isNumber(_ column: SQL) -> SQL {
        """
        (\(column) ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$' AND length(\(column)) <= 200)
        """
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func number(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue? {
        Int64(networkOrder: bytes).map { .number(Double(bitPattern: UInt64(bitPattern: $0))) }
    }
}
