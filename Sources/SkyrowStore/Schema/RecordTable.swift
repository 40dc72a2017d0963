package import SkyrowModel
package import SkyrowPostgres

/// A field of a record type as the column that holds it.
package struct RecordColumn: Hashable, Sendable {
    package let field: FieldName
    package let identifier: SQLIdentifier
    package let type: FieldType
    /// The type of the column in PostgreSQL.
    package let oid: PostgresOID
    /// The name of the member in a record's wire form.
    package let key: MemberKey
    /// The name of the foreign key of a reference, by which a refusal of PostgreSQL tells the field.
    package let foreignKey: String?

    package init(
        field: FieldName,
        identifier: SQLIdentifier,
        type: FieldType,
        oid: PostgresOID,
        foreignKey: String? = nil
    ) {
        self.field = field
        self.identifier = identifier
        self.type = type
        self.oid = oid
        self.foreignKey = foreignKey
        key = MemberKey(field.rawValue)
    }
}

/// A record type as the table that holds it.
///
/// An object and not a value, because every row of an answer refers to it as its column plan. A reload of the catalogue
/// keeps the object of a table that did not change, so that what is derived from a table may be kept by its identity.
package final class RecordTable: Sendable {
    package let name: RecordTypeName
    package let schema: SQLIdentifier
    package let identifier: SQLIdentifier
    /// The columns of the fields, sorted by name; reserved ones (``ReservedColumn``) are not among them.
    package let columns: [RecordColumn]
    private let positions: [FieldName: Int]
    /// The reserved columns and all fields, as the alias `r` of a statement.
    package let wholeRow: RecordSelection
    /// The texts of the statements on this table.
    package let shapes = StatementShapes()

    package init(name: RecordTypeName, schema: SQLIdentifier, identifier: SQLIdentifier, columns: [RecordColumn]) {
        self.name = name
        self.schema = schema
        self.identifier = identifier
        self.columns = columns.sorted { $0.field < $1.field }
        positions = Dictionary(
            self.columns.enumerated().map { ($1.field, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        wholeRow = RecordSelection(of: name, as: "r", fields: self.columns)
    }

    /// `"app"."note"`
    package var qualifiedName: SQL { "\(schema).\(identifier)" }

    /// The column of a field, nil when the type has no such field.
    package subscript(field: FieldName) -> RecordColumn? {
        positions[field].map { columns[$0] }
    }

    /// The place of a field's column in ``columns``.
    package func position(of field: FieldName) -> Int? {
        positions[field]
    }

    /// The column whose foreign key has this name.
    package func column(foreignKey: String) -> RecordColumn? {
        columns.first { $0.foreignKey == foreignKey }
    }

    /// The type without the details of its table.
    package var recordType: RecordType {
        RecordType(
            name: name,
            fields: Dictionary(columns.map { ($0.field, $0.type) }, uniquingKeysWith: { first, _ in first })
        )
    }

    /// True when both are made of the same columns.
    package func isSame(as other: RecordTable) -> Bool {
        name == other.name && schema == other.schema && columns == other.columns
    }
}
