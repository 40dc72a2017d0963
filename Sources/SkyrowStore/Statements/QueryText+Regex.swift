internal import SkyrowPostgres
internal import SkyrowQuery

extension QueryText {
    /// The most parts of a text that are looked up for one expression.
    private static let maximumParts = 16

    /// Returns the condition that a part of a text matches a regular expression.
    ///
    /// PostgreSQL would use a trigram index for the expression by itself, and miss texts: in a column with the collation `"C"` it
    /// treats a non-ASCII letter that is not in lower case as absent (Documentation/Decisions/text-and-places.md). With
    /// another byte-order collation than the column's it uses no index; the parts that every match has are looked up instead.
    func matching(_ column: ResolvedColumn, _ pattern: RegexPattern) -> SQL {
        let text = pattern.postgresText
        guard column.collation.equatesByBytes else { return "\(equated(column)) ~ \(text)" }
        let condition: SQL = "\(value(column)) ~ (\(text) COLLATE \"POSIX\")"
        guard let required = pattern.required, let parts = parts(required, of: column) else { return condition }
        return "(\(parts)) AND \(condition)"
    }

    /// Returns the condition that a text has the parts of every match; nil if no index serves it.
    private func parts(_ required: RequiredText, of column: ResolvedColumn) -> SQL? {
        switch required {
        case .text(let text):
            return hasTrigrams(column, for: text) ? "\(value(column)) LIKE \("%" + text.escapedForPattern + "%")" : nil
        case .all(let parts):
            let found = parts.lazy.compactMap { self.parts($0, of: column) }.prefix(Self.maximumParts)
            return found.isEmpty ? nil : "(\(found.joined(separator: ") AND (")))"
        case .any(let parts):
            guard parts.count <= Self.maximumParts else { return nil }
            let found = parts.compactMap { self.parts($0, of: column) }
            return found.count == parts.count ? "(\(found.joined(separator: ") OR (")))" : nil
        }
    }
}
