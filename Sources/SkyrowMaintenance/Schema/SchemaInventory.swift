package import SkyrowModel
package import SkyrowStore

/// The record tables of a database with their comments and indexes, for comparison with a schema file.
package struct SchemaInventory: Sendable {
    package var tables: [RecordTypeName: InventoryTable] = [:]
    /// Other names in the schema that would collide with a record type.
    package var otherNames: Set<String> = []
    /// Tables with some of the reserved columns, and the columns they lack. Clients do not see them.
    package var halfMade: [String: [ReservedColumn]] = [:]
    /// The field rules that apply to all types, if loaded.
    package var accessOfAll = ClassAccess()
}

/// A record table as PostgreSQL describes it.
package struct InventoryTable: Hashable, Sendable {
    package var comment: String?
    package var reserved: [ReservedColumn: InventoryColumn] = [:]
    package var fields: [FieldName: InventoryField] = [:]
    /// Columns whose names are not valid field names.
    package var otherColumns: [String] = []
    /// Text columns that are not ordered by bytes.
    package var unorderedTexts: [String] = []
    package var indexes: [InventoryIndex] = []
    package var triggers: [InventoryTrigger] = []
    package var checks: [InventoryCheck] = []
    package var foreignKeys: [InventoryForeignKey] = []
    /// The rules of the type, if loaded.
    package var access = ClassAccess()
    /// The old row values in the WAL; nil for none, as with `REPLICA IDENTITY NOTHING`.
    package var live: LiveIdentity? = .full
    /// Whether an index of its changes exists or is requested, if loaded.
    package var isFollowed = false
}

/// The attributes of any column, reserved or a field's.
package struct InventoryColumn: Hashable, Sendable {
    package var isNotNull = false
    /// The default or the generation expression as PostgreSQL prints it, such as `'_public'::text`.
    package var defaultValue: String?
    package var comment: String?
}

/// A field's catalog column, with further details from the database.
package struct InventoryField: Hashable, Sendable {
    package var column: RecordColumn
    /// The type as PostgreSQL prints it, such as `character varying(20)`.
    package var sqlType: String
    package var details: InventoryColumn
    package var isIdentity = false
    package var isGenerated = false

    package var type: FieldType { column.type }
}

/// An index, with its schema file description if it has one.
package struct InventoryIndex: Hashable, Sendable {
    package var name: String
    /// The description; nil if the index has expressions, a condition, or other features a file cannot express.
    package var described: DocumentedIndex?
    /// The columns in order; nil for an expression.
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
    /// The function that the trigger calls, in the application's schema.
    package var function: String
    package var isEnabled = true
}

package struct InventoryCheck: Hashable, Sendable {
    package var name: String
    package var isValidated = true
    /// The field whose text language the check records.
    package var languageOf: FieldName?
}

/// A foreign key of one field.
package struct InventoryForeignKey: Hashable, Sendable {
    package var name: String
    package var field: FieldName
    package var isDeferrable = true
    package var isValidated = true
}
