/// The collation of a text column, as far as it decides where a query must name another one.
///
/// Texts are compared by the bytes of their UTF-8 everywhere (Documentation/Protocol/predicates.md). A column with a different
/// collation is compared under an explicit one, which prevents the use of its index.
package enum TextCollation: String, Hashable, Sendable, CaseIterable {
    /// `"C"`, the collation of new columns in record tables.
    case bytes
    /// The database's default, with the order of `"C"`.
    case databaseBytes
    /// The database's default, with the order of a language; equality is that of bytes.
    case database
    /// Another collation, which may even treat different bytes as equal.
    case other

    /// Whether the column orders texts by their bytes without an explicit collation.
    package var ordersByBytes: Bool {
        switch self {
        case .bytes, .databaseBytes: true
        case .database, .other: false
        }
    }

    /// Whether the column compares texts as equal exactly if their bytes are, without an explicit collation.
    package var equatesByBytes: Bool {
        switch self {
        case .bytes, .databaseBytes, .database: true
        case .other: false
        }
    }
}
