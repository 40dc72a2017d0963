package import SkyrowModel
import SkyrowStore

extension SchemaInventory {
    /// The schema file of the database. Comparing it with the same database yields only drift.
    package var document: SchemaDocument {
        var document = SchemaDocument()
        if accessOfAll != ClassAccess() { document.accessOfAll = accessOfAll }
        for (name, table) in tables {
            var type = DocumentedType()
            if name != .user, let comment = table.comment, comment != name.tableComment { type.comment = comment }
            for (fieldName, field) in table.fields where fieldName != .verified {
                var documented = DocumentedField(field.documentedType, isGenerated: field.isGenerated)
                if !field.isGenerated, let defaultValue = field.details.defaultValue {
                    documented.defaultValue = RecordValue(defaultExpression: defaultValue, type: field.type)
                }
                documented.onDelete = field.column.onDelete
                documented.textLanguage = field.column.textLanguage
                documented.storesWords = field.column.storedWords != nil
                let isAccountField = TypeRules.builtIn(name).requiredFields.contains(fieldName)
                if !isAccountField, let comment = field.details.comment, comment != field.type.column.comment {
                    documented.comment = comment
                }
                type.fields[fieldName] = documented
            }
            type.indexes = Set(table.indexes.filter(\.isWritable).compactMap(\.described))
            if table.access != ClassAccess() { type.access = table.access }
            if let live = table.live { type.live = live }
            type.isFollowed = table.isFollowed
            document.types[name] = type
        }
        return document
    }
}

extension InventoryField {
    /// The field's type, with the SQL type of an unsupported column.
    fileprivate var documentedType: FieldType {
        if case .unknown = type { .unknown(sqlType) } else { type }
    }
}
