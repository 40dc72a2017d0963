public import SkyrowModel

/// The new name that `schema:rename` gives to a field.
public struct FieldRename: Sendable {
    public var type: RecordTypeName
    public var field: FieldName
    public var newName: FieldName

    public init(type: RecordTypeName, field: FieldName, newName: FieldName) {
        self.type = type
        self.field = field
        self.newName = newName
    }
}

/// The field that `schema:delete` drops.
public struct FieldDeletion: Sendable {
    public var type: RecordTypeName
    public var field: FieldName

    public init(type: RecordTypeName, field: FieldName) {
        self.type = type
        self.field = field
    }
}

extension Actions {
    /// Every record type with its fields.
    public static let schemaFetch = Action<Void, RecordSchema>(
        "schema:fetch",
        "Returns every record type with its fields.",
        requires: .masterOrDevelopment,
        cost: .read,
        .none,
        result: .schema
    )

    /// Creates types and adds fields to existing ones, all of them or none, and returns the whole schema.
    public static let schemaCreate = Action<[RecordType], RecordSchema>(
        "schema:create",
        "Creates record types and adds fields to existing ones.",
        requires: .masterOrDevelopment,
        cost: .write,
        effect: .repeatable,
        errors: [.incompatibleSchema],
        Form("record_types", .recordTypes, "Fields by record type, in the form of `schema:fetch`."),
        result: .schema
    )

    /// Renames a field, and returns the whole schema.
    public static let schemaRename = Action<FieldRename, RecordSchema>(
        "schema:rename",
        "Renames a field.",
        requires: .masterOrDevelopment,
        cost: .write,
        errors: [.resourceNotFound],
        Form(
            FieldRename.init(type:field:newName:),
            Member("record_type", \.type, .recordType, "The record type."),
            Member("item_name", \.field, .fieldName, "The field."),
            Member("new_name", \.newName, .fieldName, "Its new name.")
        ),
        result: .schema
    )

    /// Drops a field with its data, and returns the whole schema.
    public static let schemaDelete = Action<FieldDeletion, RecordSchema>(
        "schema:delete",
        "Drops a field with its data.",
        requires: .masterOrDevelopment,
        cost: .write,
        errors: [.resourceNotFound],
        Form(
            FieldDeletion.init(type:field:),
            Member("record_type", \.type, .recordType, "The record type."),
            Member("item_name", \.field, .fieldName, "The field.")
        ),
        result: .schema
    )
}
