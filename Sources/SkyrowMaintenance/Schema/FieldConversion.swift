package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// How a field becomes one of another type, and which of its values that costs.
package struct FieldConversion: Hashable, Sendable {
    package let from: FieldType
    package let to: FieldType
    /// What stands in the way and goes first: foreign keys, and indexes that only a reference or a sequence has.
    package var foreignKeys: [String] = []
    package var indexes: [String] = []
    package var hasDefault = false
    /// What becomes of the records, where the field becomes a reference.
    package var onDelete = DeleteRule.restrict

    /// nil when PostgreSQL is not to be asked to do this by itself; a person copies what is to be kept.
    package init?(from: FieldType, to: FieldType) {
        guard to.column.conversion(from: from) != nil else { return nil }
        self.from = from
        self.to = to
    }

    private var conversion: ColumnConversion { to.column.conversion(from: from) ?? .lossless }

    /// Whether there can be values that the new type does not hold; they become what is nearest to them, or NULL.
    package var isNarrowing: Bool { conversion.condition != nil }

    /// Whether PostgreSQL rewrites all rows for it.
    var rewritesRows: Bool { conversion.changesColumn }
    /// What becomes of a value that the new type does not hold; nil for NULL.
    var replacement: (@Sendable (SQL) -> SQL)? { conversion.replacement }

    /// The condition of a value that the new type holds.
    func fits(_ column: SQL, in schema: SQLIdentifier) throws -> SQL {
        try conversion.condition?(column, schema) ?? "true"
    }

    /// The statements, for a column whose values all fit or are to be lost.
    ///
    /// - Parameter isGradual: whether they leave the rows alone, which are changed, and whose foreign key is validated, afterwards.
    package func statements(
        _ field: FieldName,
        of type: RecordTypeName,
        in schema: SQLIdentifier,
        isGradual: Bool = false
    ) throws -> [SQL] {
        let table = try SchemaChange.table(type, schema)
        let column = try SQLIdentifier(field.rawValue)
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN \(column)"
        var statements: [SQL] = from == .string ? [StoredWords.removal(field, of: type, in: schema)] : []
        for name in foreignKeys { statements.append("ALTER TABLE \(table) DROP CONSTRAINT \(try SQLIdentifier(name))") }
        for name in indexes { statements.append("DROP INDEX \(schema).\(try SQLIdentifier(name))") }
        if from == .sequence {
            statements += ["\(alter) DROP IDENTITY IF EXISTS", "\(alter) DROP NOT NULL"]
        }
        if hasDefault { statements.append("\(alter) DROP DEFAULT") }
        if isNarrowing, !isGradual {
            // What others write meanwhile would not be looked at.
            statements.append("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            // An update, so that the rows get a new revision.
            statements.append(
                """
                UPDATE \(table) SET \(column) = \(replacement?("\(table).\(column)") ?? "NULL") \
                WHERE \(column) IS NOT NULL AND NOT \(try fits("\(table).\(column)", in: schema))
                """
            )
        }
        let type = to.column
        if conversion.changesColumn {
            statements.append("\(alter) TYPE \(type.sqlType) USING \(column)::\(type.sqlType)")
        }
        if case .reference(let target) = to,
            let reference = try ReferenceColumn(target: target, onDelete: onDelete).constraint(of: column, in: schema)
        {
            let validity: SQL = isGradual ? " NOT VALID" : ""
            statements.append("ALTER TABLE \(table) ADD FOREIGN KEY (\(column)) \(reference)\(validity)")
        }
        if !isGradual, let index = type.index(on: column, of: table) { statements.append(index) }
        return statements
    }
}
