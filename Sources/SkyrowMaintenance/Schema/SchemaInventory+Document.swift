package import SkyrowModel
import SkyrowStore

extension SchemaInventory {
    /// The file that says what there is; comparing it with the same database finds nothing but drift.
    package var document: SchemaDocument {
        var document = SchemaDocument()
        for (name, table) in tables {
            var type = DocumentedType()
            if name != .user, let comment = table.comment, comment != name.tableComment { type.comment = comment }
            for (field, column) in table.fields {
                var documented = DocumentedField(column.documentedType, isGenerated: column.isGenerated)
                if !column.isGenerated, let defaultValue = column.column.defaultValue {
                    documented.defaultValue = RecordValue(defaultExpression: defaultValue, type: column.type)
                }
                let isAccountField = TypeRules.builtIn(name).requiredFields.contains(field)
                if !isAccountField, let comment = column.column.comment, comment != column.type.column.comment {
                    documented.comment = comment
                }
                type.fields[field] = documented
            }
            type.indexes = Set(table.indexes.filter(\.isWritable).compactMap(\.described))
            document.types[name] = type
        }
        return document
    }
}

extension InventoryField {
    /// The field's type, with the SQL type of one that is not ours.
    fileprivate var documentedType: FieldType {
        if case .unknown = type { .unknown(sqlType) } else { type }
    }
}
