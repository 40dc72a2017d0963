package import SkyrowModel
package import SkyrowPostgres

/// `json`: `jsonb`, an array or object.
package struct JSONColumn: ColumnType {
    package var sqlType: SQL { "jsonb" }
    package var comment: String { "A JSON array or object." }
    package var indexes: [IndexKind] { [.contains] }
    package var kind: RowPlan.Kind { .json }
    package var operators: OperatorFamily { .json }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .jsonb ? .json : nil
    }

    package func value(of value: RecordValue) -> PostgresJSONB? {
        if case .json(let text) = value { PostgresJSONB(utf8: text.utf8) } else { nil }
    }

    package func accepted(_ value: RecordValue) throws(FieldMisfit) -> RecordValue? {
        if case .json(let text) = value, text.holdsNUL { throw .nul }
        return value
    }

    package func defaultText(_ value: RecordValue) -> String? {
        if case .json(let text) = value { String(decoding: text.utf8, as: UTF8.self) } else { nil }
    }

    package func value(ofDefault text: String) -> RecordValue? {
        .json(JSONText(validated: Array(text.utf8)))
    }
}

extension RowPlan.Kind {
    /// The format of jsonb_send: one byte with the version, then the text.
    @inline(__always)
    static func json(_ bytes: UnsafeRawBufferPointer) -> BorrowedValue {
        .json(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
    }
}

extension JSONText {
    /// Whether a string in the text contains U+0000, which `jsonb` cannot store.
    fileprivate var holdsNUL: Bool {
        var escapes = 0
        for (position, byte) in utf8.enumerated() {
            if byte == UInt8(ascii: "\\") {
                escapes += 1
                continue
            }
            // After an odd number of backslashes, "u" begins an escape of four digits.
            if byte == UInt8(ascii: "u"), !escapes.isMultiple(of: 2),
                utf8[(position + 1)...].prefix(4).elementsEqual("0000".utf8)
            {
                return true
            }
            escapes = 0
        }
        return false
    }
}
