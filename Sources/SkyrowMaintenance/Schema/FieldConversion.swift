package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// The conversion of a field to another type, and the data loss it causes.
package struct FieldConversion: Hashable, Sendable {
    package let from: FieldType
    package let to: FieldType
    /// Foreign keys, and indexes specific to references or sequences, which are dropped first.
    package var foreignKeys: [String] = []
    package var indexes: [String] = []
    package var hasDefault = false
    /// The delete rule, if the field becomes a reference.
    package var onDelete = DeleteRule.restrict

    /// Returns nil for conversions that are not automatic; an operator copies the values instead.
    package init?(from: FieldType, to: FieldType) {
        guard to.column.conversion(from: from) != nil else { return nil }
        self.from = from
        self.to = to
    }

    private var conversion: ColumnConversion { to.column.conversion(from: from) ?? .lossless }

    /// Whether the new type does not hold every value. Such values become the nearest one, or NULL.
    package var isNarrowing: Bool { conversion.condition != nil }

    /// Whether PostgreSQL rewrites all rows.
    var rewritesRows: Bool { conversion.changesColumn }
    /// The replacement for a value that the new type does not hold; nil for NULL.
    var replacement: (@Sendable (SQL) -> SQL)? { conversion.replacement }

    /// Returns the condition that the new type holds a value.
    func fits(_ column: SQL, in schema: SQLIdentifier) throws -> SQL {
        try conversion.condition?(column, schema) ?? "true"
    }

    /// Returns the statements for a column whose values all fit or may be lost.
    ///
    /// - Parameter isGradual: Whether the statements leave the rows alone. The rows are changed, and the foreign key is
    ///   validated, later.
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
        if from == .sequence { statements += ["\(alter) DROP IDENTITY IF EXISTS", "\(alter) DROP NOT NULL"] }
        if hasDefault { statements.append("\(alter) DROP DEFAULT") }
        if isNarrowing, !isGradual {
            // Without the lock, values that others write meanwhile would be missed.
            statements.append("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
            // An update gives the rows a new revision.
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
        let reference: SQL? =
            switch to {
            case .reference(let target):
                try ReferenceColumn(target: target, onDelete: onDelete).constraint(of: column, in: schema)
            case .asset: AssetColumn().constraint(of: column, in: schema)
            default: nil
            }
        if let reference {
            let validity: SQL = isGradual ? " NOT VALID" : ""
            statements.append("ALTER TABLE \(table) ADD FOREIGN KEY (\(column)) \(reference)\(validity)")
        }
        if !isGradual, let index = type.index(on: column, of: table) { statements.append(index) }
        return statements
    }
}
