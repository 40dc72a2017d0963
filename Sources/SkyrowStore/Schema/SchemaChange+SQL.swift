package import SkyrowModel
package import SkyrowPostgres

extension SchemaChange {
    /// Returns the statements that make several changes, with one `ALTER TABLE` for all new fields of a type.
    ///
    /// - Parameter large: the types whose tables must not be read: new references get no index, and new checks are not validated,
    ///   since they hold for every row without a value.
    package static func statements(
        for changes: [SchemaChange],
        in schema: SQLIdentifier,
        large: Set<RecordTypeName> = []
    ) throws -> [SQL] {
        var statements: [SQL] = []
        var added: [RecordTypeName: [(name: FieldName, type: FieldType, attributes: FieldAttributes)]] = [:]
        var others: [SQL] = []
        for change in changes {
            switch change {
            case .createType(let type):
                statements.append("SELECT \(schema)._create_type(\(literal: type.rawValue))")
            case .addField(let name, let fieldType, let attributes, let type):
                added[type, default: []].append((name, fieldType, attributes))
            case .widenField(let name, let type):
                let column = try SQLIdentifier(name.rawValue)
                others.append(closing(type, schema))
                others.append("ALTER TABLE \(try table(type, schema)) ALTER COLUMN \(column) TYPE double precision")
                others.append(try comment(name, .number, table(type, schema)))
            case .renameField(let name, let newName, let type):
                let column = try SQLIdentifier(name.rawValue)
                let newColumn = try SQLIdentifier(newName.rawValue)
                others.append("ALTER TABLE \(try table(type, schema)) RENAME COLUMN \(column) TO \(newColumn)")
                others.append(renameInIndexes(name, to: newName, of: type, in: schema))
                others += renameInRules(name, to: newName, of: type, in: schema)
            case .deleteField(let name, let type):
                let column = try SQLIdentifier(name.rawValue)
                others.append(closing(type, schema))
                // The trigger belongs to this column.
                if name == .parent {
                    others.append("DROP TRIGGER IF EXISTS _check_parent ON \(try table(type, schema))")
                }
                others.append(StoredWords.removal(name, of: type, in: schema))
                others.append("ALTER TABLE \(try table(type, schema)) DROP COLUMN \(column)")
            case .renameRelation(let name, let newName, let type):
                others.append(
                    """
                    SELECT \(schema)._rename_relation(\(literal: type.rawValue), \(literal: name.rawValue), \
                    \(literal: newName.rawValue))
                    """
                )
                others += renameInRules(name, to: newName, of: type, in: schema)
            case .deleteRelation(let name, let type):
                others.append(closing(type, schema))
                others.append("SELECT \(schema)._delete_relation(\(literal: type.rawValue), \(literal: name.rawValue))")
            }
        }
        if added.values.joined().contains(where: { PostGIS.isNeeded(by: $0.type) }) {
            statements.append(PostGIS.requirement)
        }
        // New tables come first, so that existing ones are locked as briefly as possible. The order is the same in every process,
        // so that two changes never wait for each other's tables.
        let new = Set(changes.lazy.compactMap { if case .createType(let type) = $0 { type } else { nil } })
        let order = added.sorted { (new.contains($0.key) ? 0 : 1, $0.key) < (new.contains($1.key) ? 0 : 1, $1.key) }
        for (type, added) in order {
            let table = try table(type, schema)
            for field in added {
                guard case .relation(let target) = field.type else { continue }
                statements.append(
                    """
                    SELECT \(schema)._create_relation(\(literal: type.rawValue), \(literal: field.name.rawValue), \
                    \(literal: target.rawValue))
                    """
                )
            }
            let fields = added.filter { if case .relation = $0.type { false } else { true } }
            if fields.isEmpty { continue }
            let isLarge = large.contains(type)
            let additions = try fields.map { try addition($0.name, $0.type, $0.attributes, schema, isLarge: isLarge) }
            statements.append("ALTER TABLE \(table) \(additions.joined(separator: ", "))")
            for field in fields {
                statements.append(try comment(field.name, field.type, table))
                if field.attributes.storesWords {
                    statements.append(
                        StoredWords.addition(field.attributes.textLanguage, field.name, of: type, in: schema)
                    )
                }
                let column = try SQLIdentifier(field.name.rawValue)
                if !isLarge, let index = field.type.column.index(on: column, of: table) { statements.append(index) }
            }
            if fields.contains(where: { $0.name == .parent }) {
                statements.append("SELECT \(schema)._keep_parent(\(literal: type.rawValue))")
            }
            if fields.contains(where: { $0.type == .sequence }) {
                statements.append("SELECT \(schema)._keep_sequences(\(literal: type.rawValue))")
            }
        }
        return statements + others
    }

    /// Drops the policies for database logins, if there are any; they prevent columns from being dropped or changed.
    package static func closing(_ type: RecordTypeName, _ schema: SQLIdentifier) -> SQL {
        "SELECT \(schema)._close_type(\(literal: type.rawValue))"
    }

    package static func table(_ type: RecordTypeName, _ schema: SQLIdentifier) throws -> SQL {
        "\(schema).\(try SQLIdentifier(type.rawValue))"
    }

    /// PostgreSQL renames the column in its indexes, but `_index` has the requested fields by name.
    private static func renameInIndexes(
        _ name: FieldName,
        to newName: FieldName,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) -> SQL {
        """
        UPDATE \(schema.internal)._index SET fields = ARRAY(
            SELECT CASE split_part(split_part(field, ' ', 1), '.', 1) WHEN \(literal: name.rawValue)
                THEN \(literal: newName.rawValue) || substr(field, length(\(literal: name.rawValue)) + 1) ELSE field END
            FROM unnest(fields) WITH ORDINALITY AS key (field, place) ORDER BY place
        )
        WHERE type = \(literal: type.rawValue)
        """
    }

    /// Moves the rules of a field to its new name, so that the field does not become more accessible. Rules of a deleted field
    /// stay, for a later field of its name.
    private static func renameInRules(
        _ name: FieldName,
        to newName: FieldName,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) -> [SQL] {
        [
            """
            DELETE FROM \(schema.internal)._field_rule \
            WHERE type = \(literal: type.rawValue) AND field = \(literal: newName.rawValue)
            """,
            """
            UPDATE \(schema.internal)._field_rule SET field = \(literal: newName.rawValue) \
            WHERE type = \(literal: type.rawValue) AND field = \(literal: name.rawValue)
            """,
        ]
    }

    /// Drops the `text` indexes that were requested for a field; an ``IndexBuilder`` then builds them with the present words.
    package static func rebuildIndexesOfWords(
        _ field: FieldName,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) -> [SQL] {
        let condition: SQL = """
            type = \(literal: type.rawValue) AND kind = 'text' AND fields = ARRAY[\(literal: field.rawValue)] \
            AND state <> 'deleting'
            """
        return [
            """
            DO $index$
            DECLARE
                index_name text;
            BEGIN
                FOR index_name IN SELECT name FROM \(schema.internal)._index WHERE \(condition) LOOP
                    EXECUTE format('DROP INDEX IF EXISTS %I.%I', \(literal: schema.name), index_name);
                END LOOP;
            END $index$
            """,
            """
            UPDATE \(schema.internal)._index SET state = 'building', attempts = 0, has_begun = false, reason = NULL,
                duplicates = NULL, sql_state = NULL, changed_at = now()
            WHERE \(condition)
            """,
            IndexBuilder.signal,
        ]
    }

    private static func addition(
        _ name: FieldName,
        _ type: FieldType,
        _ attributes: FieldAttributes,
        _ schema: SQLIdentifier,
        isLarge: Bool
    ) throws -> SQL {
        if case .unknown = type {
            throw SkyrowError(.incompatibleSchema, "A field of an unknown type can only be created with psql.")
        }
        let column = try SQLIdentifier(name.rawValue)
        let columnType: any ColumnType =
            switch type {
            case .reference(let target): ReferenceColumn(target: target, onDelete: attributes.onDelete)
            case .string: TextColumn(language: attributes.textLanguage)
            default: type.column
            }
        if isLarge, columnType.constraintIsCheck, let check = try columnType.constraint(of: column, in: schema) {
            return "ADD COLUMN \(column) \(columnType.sqlType), ADD \(check) NOT VALID"
        }
        return "ADD COLUMN \(column) \(try columnType.definition(of: column, in: schema))"
    }

    private static func comment(_ name: FieldName, _ type: FieldType, _ table: SQL) throws -> SQL {
        "COMMENT ON COLUMN \(table).\(try SQLIdentifier(name.rawValue)) IS \(literal: type.column.comment)"
    }
}

extension RecordTypeName {
    /// The comment on the type's table in the database.
    package var tableComment: String { "Records of the type \(self)." }
}
