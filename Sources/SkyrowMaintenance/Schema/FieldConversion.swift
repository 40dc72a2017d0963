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

    /// nil when PostgreSQL is not to be asked to do this by itself; a person copies what is to be kept.
    package init?(from: FieldType, to: FieldType) {
        self.from = from
        self.to = to
        guard FieldConversion.isPossible(from, to) else { return nil }
    }

    private static func isPossible(_ from: FieldType, _ to: FieldType) -> Bool {
        switch (from, to) {
        case (.integer, .number), (.sequence, .integer), (.number, .integer): true
        case (.integer, .string), (.number, .string), (.boolean, .string), (.json, .string), (.unknown, .string),
            (.reference, .string):
            true
        case (.string, .integer), (.string, .number), (.string, .boolean): true
        case (.string, .reference), (.reference, .reference): true
        case (.string, _), (.integer, _), (.number, _), (.boolean, _), (.datetime, _), (.json, _), (.reference, _),
            (.sequence, _), (.bytes, _), (.unknown, _):
            false
        }
    }

    /// Whether there can be values that the new type does not hold; they become NULL.
    package var isNarrowing: Bool {
        switch (from, to) {
        case (.number, .integer), (.string, .integer), (.string, .number), (.string, .boolean), (_, .reference): true
        case (.string, _), (.integer, _), (.number, _), (.boolean, _), (.datetime, _), (.json, _), (.reference, _),
            (.sequence, _), (.bytes, _), (.unknown, _):
            false
        }
    }

    /// The condition of a value that the new type holds.
    func fits(_ column: SQL, in schema: SQLIdentifier) throws -> SQL {
        switch (from, to) {
        case (.number, .integer):
            // Neither NaN nor infinity passes, and no double between these bounds is beyond a bigint.
            "(\(column) = trunc(\(column)) AND abs(\(column)) < 9.2e18)"
        case (_, .integer):
            "\(column) ~ '^[+-]?[0-9]{1,18}$'"
        case (_, .number):
            "(\(column) ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$' AND length(\(column)) <= 200)"
        case (_, .boolean):
            "\(column) IN ('true', 'false')"
        case (_, .reference(let target)):
            "EXISTS (SELECT FROM \(try SchemaChange.table(target, schema)) AS target WHERE target._id = \(column))"
        case (_, .string), (_, .datetime), (_, .json), (_, .sequence), (_, .bytes), (_, .unknown):
            "true"
        }
    }

    /// The statements, for a column whose values all fit or are to be lost.
    package func statements(_ field: FieldName, of type: RecordTypeName, in schema: SQLIdentifier) throws -> [SQL] {
        let table = try SchemaChange.table(type, schema)
        let column = try SQLIdentifier(field.rawValue)
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN \(column)"
        var statements: [SQL] = []
        for name in foreignKeys { statements.append("ALTER TABLE \(table) DROP CONSTRAINT \(try SQLIdentifier(name))") }
        for name in indexes { statements.append("DROP INDEX \(schema).\(try SQLIdentifier(name))") }
        if from == .sequence {
            statements += ["\(alter) DROP IDENTITY IF EXISTS", "\(alter) DROP NOT NULL"]
        }
        if hasDefault { statements.append("\(alter) DROP DEFAULT") }
        if isNarrowing {
            // An update, so that the rows get a new revision.
            statements.append(
                """
                UPDATE \(table) SET \(column) = NULL \
                WHERE \(column) IS NOT NULL AND NOT \(try fits("\(table).\(column)", in: schema))
                """
            )
        }
        switch (from, to) {
        case (.reference, .string), (_, .reference):
            break
        case (.string, _), (.integer, _), (.number, _), (.boolean, _), (.datetime, _), (.json, _), (.reference, _),
            (.sequence, _), (.bytes, _), (.unknown, _):
            let sqlType = try SchemaChange.columnType(to, schema)
            statements.append("\(alter) TYPE \(sqlType) USING \(column)::\(sqlType)")
        }
        if case .reference(let target) = to {
            let reference = try SchemaChange.reference(to: target, schema)
            statements.append("ALTER TABLE \(table) ADD FOREIGN KEY (\(column)) \(reference)")
            if let index = try SchemaChange.index(field, to, table) { statements.append(index) }
        }
        return statements
    }
}
