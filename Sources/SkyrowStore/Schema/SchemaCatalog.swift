package import SkyrowModel
package import SkyrowPostgres

/// Every record type of the application as its tables were at one moment.
package struct SchemaCatalog: Sendable {
    /// The PostgreSQL schema of the application.
    package let schema: SQLIdentifier
    /// Grows with every load of this process.
    package let version: Int
    package let tables: [RecordTypeName: RecordTable]
    /// What else in the schema bears a name that a record type might want: views, indexes, tables of other make.
    package let otherNames: Set<String>

    package init(
        schema: SQLIdentifier,
        version: Int,
        tables: [RecordTable],
        otherNames: Set<String> = []
    ) {
        self.schema = schema
        self.version = version
        self.tables = Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.otherNames = otherNames
    }

    /// The table of a type, nil when there is no such type.
    package subscript(type: RecordTypeName) -> RecordTable? {
        tables[type]
    }

    /// The answer of `schema:fetch`.
    package var recordSchema: RecordSchema {
        RecordSchema(types: tables.mapValues(\.recordType))
    }
}
