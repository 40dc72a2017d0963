package import SkyrowModel
package import SkyrowStore

/// What the database has of the catalog's record tables, down to their comments and indexes: what a schema file is compared
/// with.
package struct SchemaInventory: Sendable {
    package var tables: [RecordTypeName: InventoryTable] = [:]
    /// What else in the schema bears a name that a record type might need.
    package var otherNames: Set<String> = []
    /// Tables that have some of the reserved columns but not all, with those that they lack; clients do not see them.
    package var halfMade: [String: [ReservedColumn]] = [:]
    /// The rules of fields of every type, as far as they were asked for.
    package var accessOfAll = ClassAccess()
}

/// A record table as PostgreSQL describes it.
package struct InventoryTable: Hashable, Sendable {
    package var comment: String?
    package var reserved: [ReservedColumn: InventoryColumn] = [:]
    package var fields: [FieldName: InventoryField] = [:]
    /// Columns whose names no field can have.
    package var otherColumns: [String] = []
    /// Text columns that are not ordered by bytes.
    package var unorderedTexts: [String] = []
    package var indexes: [InventoryIndex] = []
    package var triggers: [InventoryTrigger] = []
    package var checks: [InventoryCheck] = []
    package var foreignKeys: [InventoryForeignKey] = []
    /// The rules of the type, as far as they were asked for.
    package var access = ClassAccess()
    /// What the log says of a row before its change; nil when it says nothing, as with `REPLICA IDENTITY NOTHING`.
    package var live: LiveIdentity? = .full
    /// Whether an index leads to its changes or is to be built, as far as that was asked for.
    package var isFollowed = false
}

/// What a reserved column and that of a field have in common.
package struct InventoryColumn: Hashable, Sendable {
    package var isNotNull = false
    /// The default as PostgreSQL prints it, `'_public'::text`; also of a generated column.
    package var defaultValue: String?
    package var comment: String?
}

/// The column of a field as the catalog has it, and what else the database says of it.
package struct InventoryField: Hashable, Sendable {
    package var column: RecordColumn
    /// As PostgreSQL prints it, `character varying(20)`.
    package var sqlType: String
    package var details: InventoryColumn
    package var isIdentity = false
    package var isGenerated = false

    package var type: FieldType { column.type }
}

/// An index, with what a schema file can say of one when it can.
package struct InventoryIndex: Hashable, Sendable {
    package var name: String
    /// nil when it has expressions, a condition, or whatever else a file cannot say.
    package var described: DocumentedIndex?
    /// The columns in their order; nil in the place of an expression.
    package var columns: [String?]
    /// The condition as PostgreSQL prints it.
    package var condition: String?
    package var isValid = true
    package var isPrimary = false
    /// Whether it belongs to a constraint of the same name.
    package var isConstraint = false
}

package struct InventoryTrigger: Hashable, Sendable {
    package var name: String
    /// The function it calls, of the application's schema.
    package var function: String
    package var isEnabled = true
}

package struct InventoryCheck: Hashable, Sendable {
    package var name: String
    package var isValidated = true
    /// The field whose language it keeps.
    package var languageOf: FieldName?
}

/// A foreign key of one field.
package struct InventoryForeignKey: Hashable, Sendable {
    package var name: String
    package var field: FieldName
    package var isDeferrable = true
    package var isValidated = true
}
