package import SkyrowModel
package import SkyrowPostgres

/// All record types of the application, as their tables were at one point in time.
///
/// A request copies the catalog several times, so its contents are an object.
package struct SchemaCatalog: Sendable {
    private final class Contents: Sendable {
        let schema: SQLIdentifier
        let version: Int
        let tables: [RecordTypeName: RecordTable]
        let otherNames: Set<String>
        let rules: [RecordTypeName: TypeRules]
        let otherRules: TypeRules
        let deleteRules: [RecordTypeName: [DeleteRuleReference]]
        let fileTypes: [RecordTypeName]

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
            fileTypes = tables.values.filter(\.holdsFiles).map(\.name).sorted()
        }
    }

    private let contents: Contents
    /// The reader whose form of the tables this has; nil for all fields of every table.
    private var reader: FieldAccess?
    /// The roles as records, for statements that refer to them; nil for other statements.
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

    /// Increases with every load in this process.
    package var version: Int { contents.version }

    package var tables: [RecordTypeName: RecordTable] { contents.tables }

    /// The tables in the order of their names.
    package var sortedTables: [RecordTable] { tables.values.sorted { $0.name < $1.name } }

    /// Names of the schema that other objects than record types have: views, indexes, other tables.
    package var otherNames: Set<String> { contents.otherNames }

    /// The references to a type through which a delete of its records changes others.
    var deleteRules: [RecordTypeName: [DeleteRuleReference]] { contents.deleteRules }

    /// The types that have fields with files, in the order of their names.
    var fileTypes: [RecordTypeName] { contents.fileTypes }

    var rules: [RecordTypeName: TypeRules] { contents.rules }

    /// The rules of all other types.
    var otherRules: TypeRules { contents.otherRules }

    /// The table of a type; nil if the type does not exist.
    package subscript(type: RecordTypeName) -> RecordTable? {
        let table = roles != nil && type == .role ? roles : tables[type]
        guard let reader else { return table }
        return table?.visible(to: reader)
    }

    /// The catalog with roles as records, for statements that read them or refer to them.
    func with(roles: RecordTable) -> SchemaCatalog {
        var view = self
        view.roles = roles
        return view
    }

    /// The catalog with every table in the form for a reader, for statements that read.
    package func visible(to reader: FieldAccess) -> SchemaCatalog {
        var view = self
        view.reader = reader
        return view
    }

    /// Whether both have the same tables with the same columns; a reload keeps the objects of unchanged tables.
    func isSame(as other: SchemaCatalog) -> Bool {
        tables.count == other.tables.count && tables.allSatisfy { other.tables[$0.key] === $0.value }
    }

    /// The result of `schema:fetch`.
    package var recordSchema: RecordSchema { RecordSchema(types: tables.mapValues(\.recordType)) }
}

/// A reference whose rule is not ``DeleteRule/restrict``.
struct DeleteRuleReference: Sendable {
    let table: RecordTable
    let column: RecordColumn
}
