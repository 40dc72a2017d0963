package import SkyrowModel
package import SkyrowPostgres

/// `ref(type)`: `text COLLATE "C"` with a foreign key to the ids of the type's table.
package struct ReferenceColumn: ColumnType {
    let target: RecordTypeName

    package var sqlType: SQL { "text COLLATE \"C\"" }
    package var comment: String { "The _id of a \(target)." }
    /// The foreign key's triggers and the index besides the column.
    package var locks: Int64 { 4 }
    package var kind: RowPlan.Kind { .reference }
    package var kindName: String { target.rawValue }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        guard column.oid == .text, let referred = column.referredType else { return nil }
        return (try? RecordTypeName(referred)).map { .reference($0) }
    }

    package func constraint(in schema: SQLIdentifier) throws -> SQL? {
        // Deferrable, so that records that refer to each other can be saved in one transaction; NO ACTION and not
        // RESTRICT, which cannot be deferred.
        """
        REFERENCES \(try SchemaChange.table(target, schema)) (_id) ON DELETE NO ACTION DEFERRABLE INITIALLY IMMEDIATE
        """
    }

    /// By it PostgreSQL finds what refers to a record that is deleted, and queries what belongs to one.
    package func index(on column: SQLIdentifier, of table: SQL) -> SQL? {
        "CREATE INDEX ON \(table) (\(column)) WHERE \(column) IS NOT NULL"
    }

    package func selection(_ column: SQL, oid: PostgresOID) -> SQL {
        oid == .text ? column : "\(column)::text"
    }

    package func admission(of value: RecordValue) -> FieldAdmission {
        if case .reference(let id) = value, id.type == target { .fits } else { .conflicts }
    }

    /// Binds references as the public database stores them; a save that looks them up binds its own (``SaveStatement``).
    package func bind(_ values: ColumnValues, to bindings: inout PostgresBindings) {
        values.bind(to: &bindings) {
            if case .reference(let id) = $0 { StoredID(id.id, in: .everyone).text } else { nil }
        }
    }

    /// Encodes also the stored id that a row of an export has, which may be one of a private record.
    package func encode(_ value: RecordValue, as oid: PostgresOID, into encoder: inout PostgresEncoder) {
        switch value {
        case .reference(let id): encoder.appendField(id.id.utf8)
        case .string(let storedID): encoder.appendField(storedID.utf8)
        default: encoder.appendNull()
        }
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
