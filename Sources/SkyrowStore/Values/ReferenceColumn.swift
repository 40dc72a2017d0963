package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `ref(type)`: `text COLLATE "C"` with a foreign key to the ids of the type's table.
package struct ReferenceColumn: ColumnType {
    let target: RecordTypeName
    /// The ON DELETE action of a new column's foreign key.
    var onDelete = DeleteRule.restrict

    package init(target: RecordTypeName, onDelete: DeleteRule = .restrict) {
        self.target = target
        self.onDelete = onDelete
    }

    package var sqlType: SQL { "text COLLATE \"C\"" }
    package var comment: String { "The _id of a \(target)." }
    /// Includes the foreign key's triggers and the index.
    package var locks: Int64 { 4 }
    package var kind: RowPlan.Kind { .reference }
    package var textCast: TextCast? { .reference(target) }
    package var kindName: String { target.rawValue }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        guard column.oid == .text, let referred = column.referredType else { return nil }
        return (try? RecordTypeName(referred)).map { .reference($0) }
    }

    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) throws -> SQL? {
        // Deferrable, so that one transaction can save records that refer to each other. RESTRICT cannot be deferred.
        let action: SQL =
            switch onDelete {
            case .restrict: "NO ACTION"
            case .setNull: "SET NULL"
            case .cascade: "CASCADE"
            }
        return """
            REFERENCES \(try SchemaChange.table(target, schema)) (_id) ON DELETE \(action) \
            DEFERRABLE INITIALLY IMMEDIATE
            """
    }

    /// Lets PostgreSQL find the references to a deleted record, and queries the records that refer to one.
    package func index(on column: SQLIdentifier, of table: SQL) -> SQL? {
        "CREATE INDEX ON \(table) (\(column)) WHERE \(column) IS NOT NULL"
    }

    /// The stored id of a reference in the public database; a save that looks references up binds its own values
    /// (``SaveStatement``). A row of an export has the stored id itself, which may be that of a private record.
    package func value(of value: RecordValue) -> String? {
        switch value {
        case .reference(let id): id.id
        case .string(let storedID): storedID
        default: nil
        }
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        if case .reference(let id) = value, id.type == target { .fits } else { .conflicts }
    }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        switch other {
        case .string, .reference:
            ColumnConversion(
                condition: { [target] column, schema in
                    let table = try SchemaChange.table(target, schema)
                    return "EXISTS (SELECT FROM \(table) AS target WHERE target._id = \(column))"
                },
                changesColumn: false
            )
        default: nil
        }
    }
}
