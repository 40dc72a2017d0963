package import SkyrowModel
package import SkyrowPostgres

/// Every record type of the application as its tables were at one moment.
///
/// A request copies it several times, so what it holds is an object.
package struct SchemaCatalog: Sendable {
    private final class Contents: Sendable {
        let schema: SQLIdentifier
        let version: Int
        let tables: [RecordTypeName: RecordTable]
        let otherNames: Set<String>
        let rules: [RecordTypeName: TypeRules]
        let otherRules: TypeRules
        let deleteRules: [RecordTypeName: [DeleteRuleReference]]

        init(
            schema: SQLIdentifier,
            version: Int,
            tables: [RecordTypeName: RecordTable],
            otherNames: Set<String>,
            rules: [RecordTypeName: TypeRules],
            otherRules: TypeRules
        ) {
            self.schema = schema
            self.version = version
            self.tables = tables
            self.otherNames = otherNames
            self.rules = rules
            self.otherRules = otherRules
            var deleteRules: [RecordTypeName: [DeleteRuleReference]] = [:]
            for table in tables.values.sorted(by: { $0.name < $1.name }) {
                for column in table.columns where column.onDelete != .restrict {
                    guard case .reference(let target) = column.type else { continue }
                    deleteRules[target, default: []].append(DeleteRuleReference(table: table, column: column))
                }
            }
            self.deleteRules = deleteRules
        }
    }

    private let contents: Contents
    /// Whose view of the tables this is; nil for all of every table.
    private var reader: FieldAccess?
    /// The roles as records, for statements that lead to them; nil for all others.
    private var roles: RecordTable?

    package init(
        schema: SQLIdentifier,
        version: Int,
        tables: [RecordTable],
        otherNames: Set<String> = [],
        rules: [RecordTypeName: TypeRules] = [:],
        otherRules: TypeRules = .none
    ) {
        contents = Contents(
            schema: schema,
            version: version,
            tables: Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }),
            otherNames: otherNames,
            rules: rules,
            otherRules: otherRules
        )
    }

    /// The PostgreSQL schema of the application.
    package var schema: SQLIdentifier { contents.schema }

    /// Grows with every load of this process.
    package var version: Int { contents.version }

    package var tables: [RecordTypeName: RecordTable] { contents.tables }

    /// What else in the schema bears a name that a record type might need: views, indexes, tables of other make.
    package var otherNames: Set<String> { contents.otherNames }

    /// The references to a type, by which a delete of one of its records changes others.
    var deleteRules: [RecordTypeName: [DeleteRuleReference]] { contents.deleteRules }

    /// The rules of the types that have some.
    var rules: [RecordTypeName: TypeRules] { contents.rules }

    /// The rules of all other types.
    var otherRules: TypeRules { contents.otherRules }

    /// The table of a type, nil when there is no such type.
    package subscript(type: RecordTypeName) -> RecordTable? {
        let table = roles != nil && type == .role ? roles : tables[type]
        guard let reader else { return table }
        return table?.visible(to: reader)
    }

    /// The same with roles as records beside the tables, for statements that read them or lead to them.
    func with(roles: RecordTable) -> SchemaCatalog {
        var view = self
        view.roles = roles
        return view
    }

    /// The same with every table as a reader sees it, for statements that read.
    package func visible(to reader: FieldAccess) -> SchemaCatalog {
        var view = self
        view.reader = reader
        return view
    }

    /// Whether both have the same tables with the same columns; a reload keeps the objects of those that did not change.
    func isSame(as other: SchemaCatalog) -> Bool {
        tables.count == other.tables.count && tables.allSatisfy { other.tables[$0.key] === $0.value }
    }

    /// The result of `schema:fetch`.
    package var recordSchema: RecordSchema {
        RecordSchema(types: tables.mapValues(\.recordType))
    }
}

/// A reference whose rule is not ``DeleteRule/restrict``.
struct DeleteRuleReference: Sendable {
    let table: RecordTable
    let column: RecordColumn
}
