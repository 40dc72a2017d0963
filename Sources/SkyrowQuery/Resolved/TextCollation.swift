/// The collation of a text column, as far as it decides where a query has to name another.
///
/// Texts are compared by the bytes of their UTF-8 everywhere (Documentation/Protocol.md, Predicates). A column whose
/// own collation does otherwise is compared under an explicit one, which costs the use of its index.
package enum TextCollation: String, Hashable, Sendable, CaseIterable {
    /// `"C"`: what the columns of record tables are made with.
    case bytes
    /// The database's own, which orders as `"C"` does.
    case databaseBytes
    /// The database's own, which orders by the rules of some language; equality is that of bytes.
    case database
    /// Another one, which may even take different bytes for equal.
    case other

    /// Whether the column orders texts by their bytes without being asked to.
    package var ordersByBytes: Bool {
        switch self {
        case .bytes, .databaseBytes: true
        case .database, .other: false
        }
    }

    /// Whether the column takes texts for equal when their bytes are, without being asked to.
    package var equatesByBytes: Bool {
        switch self {
        case .bytes, .databaseBytes, .database: true
        case .other: false
        }
    }
}
