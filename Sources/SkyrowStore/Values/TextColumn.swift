package import SkyrowModel
package import SkyrowPostgres

/// `string`: `text COLLATE "C"`, a text of any length without NUL.
package struct TextColumn: ColumnType {
    /// The language by which `match` splits a new column's texts into words.
    var language = TextLanguage.words

    package var sqlType: SQL { "text COLLATE \"C\"" }
    package var comment: String { "A text." }
    package var indexes: [IndexKind] { [.order, .trigram, .text] }
    package var kind: RowPlan.Kind { .text }
    package var operators: OperatorFamily { .order }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .text ? .string : nil
    }

    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL? {
        language.check(of: column)
    }

    package var constraintIsCheck: Bool { true }

    package func value(of value: RecordValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }

    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? {
        if case .string(let text) = value, text.hasNUL { throw .nul }
        return value
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .string(let text) = value { !text.hasNUL } else { false }
    }

    package func defaultText(_ value: RecordValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }

    package func value(ofDefault text: String) -> RecordValue? { .string(text) }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        switch other {
        case .integer, .number, .boolean, .json, .unknown: .lossless
        // These are text columns with a foreign key.
        case .reference, .asset: ColumnConversion(changesColumn: false)
        default: nil
        }
    }
}

extension RowPlan.Kind {
    @inline(__always)
    static func text(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        .string(bytes)
    }
}

extension FieldMisfit {
    static let nul = FieldMisfit("cannot contain NUL")
}
