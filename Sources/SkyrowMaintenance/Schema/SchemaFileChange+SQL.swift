internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

extension SchemaFileChange {
    /// Returns the statements of a change that only schema files make, considered alone.
    ///
    /// - Parameter isLarge: Whether constraints are made for new rows only, as validating the existing ones would take
    ///   too long.
    func ownStatements(in schema: SQLIdentifier, isLarge: Bool = false) throws -> [SQL] {
        switch self {
        case .renameType(let type, let newName):
            // Clients that catch up look for deletions under the type's current name.
            [
                // The first update precedes the table lock, as it may be long; the second one covers tombstones written
                // meanwhile.
                "UPDATE \(schema.internal)._tombstone SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                SchemaChange.closing(type, schema),
                "ALTER TABLE \(try SchemaChange.table(type, schema)) RENAME TO \(try SQLIdentifier(newName.rawValue))",
                "UPDATE \(schema.internal)._tombstone SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                "UPDATE \(schema.internal)._index SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                // The rules follow the type, so the rename never widens access.
                "DELETE FROM \(schema.internal)._class_rule WHERE type = \(literal: newName.rawValue)",
                "UPDATE \(schema.internal)._class_rule SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                "DELETE FROM \(schema.internal)._field_rule WHERE type = \(literal: newName.rawValue)",
                "UPDATE \(schema.internal)._field_rule SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                "DELETE FROM \(schema.internal)._class_option WHERE type = \(literal: newName.rawValue)",
                "UPDATE \(schema.internal)._class_option SET type = \(literal: newName.rawValue) WHERE type = \(literal: type.rawValue)",
                "SELECT \(schema)._rename_relations(\(literal: newName.rawValue))",
            ]
        case .convertField(let field, let conversion, let type):
            [SchemaChange.closing(type, schema)] + (try conversion.statements(field, of: type, in: schema))
        case .setDeleteRule(let rule, let field, let target, let names, let type):
            try Self.setDeleteRule(rule, field, to: target, replacing: names, of: type, in: schema, isLarge: isLarge)
        case .setTextLanguage(let language, let isStored, let field, let names, let type):
            try Self.setTextLanguage(
                language,
                isStored: isStored,
                field,
                replacing: names,
                of: type,
                in: schema,
                isLarge: isLarge
            )
        case .setDefault(let value, let field, let type):
            [try Self.setDefault(value, field, SchemaChange.table(type, schema))]
        case .setComment(let text, nil, let type):
            ["COMMENT ON TABLE \(try SchemaChange.table(type, schema)) IS \(literal: text)"]
        case .setComment(let text, let field?, let type):
            [
                """
                COMMENT ON COLUMN \(try SchemaChange.table(type, schema)).\(try SQLIdentifier(field.rawValue)) \
                IS \(literal: text)
                """
            ]
        case .createIndex(let index, let type):
            [try index.creation(on: SchemaChange.table(type, schema))]
        case .deleteIndex(let index, let type):
            [
                index.isConstraint
                    ? "ALTER TABLE \(try SchemaChange.table(type, schema)) DROP CONSTRAINT \(try SQLIdentifier(index.name))"
                    : "DROP INDEX \(schema).\(try SQLIdentifier(index.name))"
            ]
        case .setAccess(let access, let type):
            try Self.setAccess(access, of: type, in: schema)
        case .setAccessOfAll(let access):
            Self.setFieldRules(access, of: ClassAccess.everyName, in: schema)
        case .setLive(.full, let type):
            ["ALTER TABLE \(try SchemaChange.table(type, schema)) REPLICA IDENTITY FULL"]
        case .setLive(.key, let type):
            ["ALTER TABLE \(try SchemaChange.table(type, schema)) REPLICA IDENTITY DEFAULT"]
        case .setSync(true, let type): FollowedTypes.wish(for: type, in: schema)
        case .setSync(false, let type): FollowedTypes.removal(for: type, in: schema)
        case .repair(let drift): try drift.repair(in: schema, isLarge: isLarge) ?? []
        case .common, .deleteType: []
        }
    }

    private static func setDeleteRule(
        _ rule: DeleteRule,
        _ field: FieldName,
        to target: RecordTypeName,
        replacing names: [String],
        of type: RecordTypeName,
        in schema: SQLIdentifier,
        isLarge: Bool
    ) throws -> [SQL] {
        let column = try SQLIdentifier(field.rawValue)
        let drops = try names.map { "DROP CONSTRAINT \(try SQLIdentifier($0))" as SQL }
        guard let reference = try ReferenceColumn(target: target, onDelete: rule).constraint(of: column, in: schema)
        else {
            return []
        }
        let validity: SQL = isLarge ? " NOT VALID" : ""
        let parts = (drops + ["ADD FOREIGN KEY (\(column)) \(reference)\(validity)"]).joined(separator: ", ")
        return ["ALTER TABLE \(try SchemaChange.table(type, schema)) \(parts)"]
    }

    /// Rebuilds the requested word indexes. Indexes made in psql stay.
    private static func setTextLanguage(
        _ language: TextLanguage,
        isStored: Bool,
        _ field: FieldName,
        replacing names: [String],
        of type: RecordTypeName,
        in schema: SQLIdentifier,
        isLarge: Bool
    ) throws -> [SQL] {
        let drops = try names.map { "DROP CONSTRAINT \(try SQLIdentifier($0))" as SQL }
        // The check holds for every possible row.
        let validity: SQL = isLarge ? " NOT VALID" : ""
        let check = language.check(of: try SQLIdentifier(field.rawValue)).map { ["ADD \($0)\(validity)" as SQL] } ?? []
        var statements = [StoredWords.removal(field, of: type, in: schema)]
        let parts = drops + check
        if !parts.isEmpty {
            statements.append("ALTER TABLE \(try SchemaChange.table(type, schema)) \(parts.joined(separator: ", "))")
        }
        if isStored { statements.append(StoredWords.addition(language, field, of: type, in: schema)) }
        return statements + SchemaChange.rebuildIndexesOfWords(field, of: type, in: schema)
    }

    private static func setAccess(
        _ access: ClassAccess,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) throws -> [SQL] {
        let name: SQL = "\(literal: type.rawValue)"
        var statements: [SQL] = [
            "DELETE FROM \(schema.internal)._class_rule WHERE type = \(name)"
        ]
        for (action, rule) in access.rules.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let allow = rule.allow.map { "\(literal: $0.key)" as SQL }.joined(separator: ", ")
            statements.append(
                """
                INSERT INTO \(schema.internal)._class_rule (type, action, allow, mode) \
                VALUES (\(name), \(literal: action.rawValue), ARRAY[\(allow)]::text[], \(literal: rule.mode.rawValue))
                """
            )
        }
        statements += setFieldRules(access, of: type.rawValue, in: schema)
        let list: SQL = access.defaultAccess.map { "\(literal: $0.storedJSON)" } ?? "NULL"
        let writers: SQL = access.listWriters.map { "\(literal: $0.rawValue)" } ?? "NULL"
        let readers: SQL = access.listReaders.map { "\(literal: $0.rawValue)" } ?? "NULL"
        let allowsPrivate: SQL = access.allowsPrivate ? "true" : "false"
        let allowsAggregates: SQL = access.allowsAggregates ? "true" : "false"
        statements.append(
            """
            INSERT INTO \(schema.internal)._class_option (type, default_access, list_by, list_read_by, transfer_by, creator, private, \
            aggregate) \
            VALUES (\(name), \(list), \(writers), \(readers), \(literal: access.transferrers.rawValue), \
            \(literal: access.newOwner.rawValue), \(allowsPrivate), \(allowsAggregates)) \
            ON CONFLICT (type) DO UPDATE SET default_access = EXCLUDED.default_access, list_by = EXCLUDED.list_by, \
            list_read_by = EXCLUDED.list_read_by, transfer_by = EXCLUDED.transfer_by, \
            creator = EXCLUDED.creator, private = EXCLUDED.private, aggregate = EXCLUDED.aggregate
            """
        )
        return statements
    }

    /// - Parameter type: The name of the type, or `*` for all types.
    private static func setFieldRules(_ access: ClassAccess, of type: String, in schema: SQLIdentifier) -> [SQL] {
        let rules = access.fieldRules.flatMap { field, uses in
            uses.map { use, allow -> SQL in
                let allow = allow.keys.map { "\(literal: $0)" as SQL }.joined(separator: ", ")
                return """
                    INSERT INTO \(schema.internal)._field_rule (type, field, action, allow) \
                    VALUES (\(literal: type), \(literal: field), \(literal: use.rawValue), ARRAY[\(allow)]::text[])
                    """
            }
        }
        return ["DELETE FROM \(schema.internal)._field_rule WHERE type = \(literal: type)"] + rules
    }

    private static func setDefault(_ value: RecordValue?, _ field: FieldName, _ table: SQL) throws -> SQL {
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN \(try SQLIdentifier(field.rawValue))"
        guard let text = value?.defaultText else { return "\(alter) DROP DEFAULT" }
        // A quoted literal takes the type of its column.
        return "\(alter) SET DEFAULT \(literal: text)"
    }
}

extension DocumentedIndex {
    /// Returns the statement that makes the index.
    ///
    /// - Parameter name: The name of an index built concurrently; without it, PostgreSQL chooses one and writes wait.
    func creation(named name: SQLIdentifier? = nil, on table: SQL) throws -> SQL {
        let columns = try columns.map { column -> SQL in
            let order: SQL = column.isDescending ? " DESC" : ""
            return "\(try SQLIdentifier(column.name))\(order)"
        }
        let method: SQL =
            switch method {
            case .btree: ""
            case .hash: " USING hash"
            case .gin: " USING gin"
            case .gist: " USING gist"
            case .brin: " USING brin"
            }
        let unique: SQL = isUnique ? "UNIQUE " : ""
        let named: SQL = name.map { "CONCURRENTLY \($0) " } ?? ""
        return "CREATE \(unique)INDEX \(named)ON \(table)\(method) (\(columns.joined(separator: ", ")))"
    }
}
