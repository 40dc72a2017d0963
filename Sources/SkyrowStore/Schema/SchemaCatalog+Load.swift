package import SkyrowModel
package import SkyrowPostgres
package import SkyrowQuery

extension SchemaCatalog {
    /// Reads the catalog or a part of it in one statement; unchanged tables keep their objects.
    ///
    /// Also returns the number of rows read.
    ///
    /// - Parameter readsAccess: whether to read the rules of types too, which do not exist before the reserved tables.
    package static func load(
        _ part: CatalogPart,
        from client: PostgresClient,
        replacing previous: SchemaCatalog,
        readsAccess: Bool = false
    ) async throws -> (catalog: SchemaCatalog, rows: Int) {
        let query = query(part, of: previous.schema, readsAccess: readsAccess)
        let rows = try CatalogRow.all(in: try await client.read(query))
        return (SchemaCatalog(rows: rows, of: part, replacing: previous), rows.count)
    }

    /// Reads some types, or all, as a transaction sees them.
    ///
    /// - Parameter rules: the built-in rules of types; without them, stored rules are not read either.
    package static func load(
        _ part: CatalogPart = .everything,
        of schema: SQLIdentifier,
        in transaction: PostgresTransaction,
        rules: [RecordTypeName: TypeRules]? = nil
    ) async throws -> SchemaCatalog {
        let result = try await transaction.query(query(part, of: schema, readsAccess: rules != nil))
        let nothing = SchemaCatalog(schema: schema, version: 0, tables: [], rules: rules ?? [:])
        return SchemaCatalog(rows: try CatalogRow.all(in: result), replacing: nothing)
    }

    /// Selects one row for each field of a record table, one for each other relation or table without fields, and one for the
    /// rules of every type if there are any.
    private static func query(_ part: CatalogPart, of schema: SQLIdentifier, readsAccess: Bool = false) -> SQL {
        let reserved = ReservedColumn.allCases.map { column -> SQL in
            "(\(PostgresName(column.rawValue)), \(column.oid))"
        }.joined(separator: ", ")
        let access: SQL = readsAccess ? ClassAccess.rows(in: schema) : "SELECT NULL::text AS type, NULL::text AS access"
        let selection: SQL =
            switch part {
            case .everything: ""
            case .types(let types): " AND relname = ANY (\(types.sorted().map { PostgresName($0.rawValue) }))"
            }
        return """
            WITH app AS MATERIALIZED (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            ), internal AS MATERIALIZED (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.internal.name))
            ), relation AS MATERIALIZED (
                SELECT oid, relname, relkind IN ('r', 'p') AND NOT relispartition AS is_table
                FROM pg_catalog.pg_class
                WHERE relnamespace = (SELECT oid FROM app) AND NOT starts_with(relname, '_')\(selection)
            ), record_table AS MATERIALIZED (
                SELECT attrelid AS oid,
                    string_agg(attname || ' ' || \(TextCollation.ofAttribute), ',')
                        FILTER (WHERE attcollation NOT IN (0, 'pg_catalog."C"'::regcollation)) AS collations,
                    (
                        -- Once for a table and not for each of its texts: of some columns, the last one counts, which is the
                        -- first by its name.
                        SELECT jsonb_object_agg(number || ' ' || language, name ORDER BY name DESC)
                        FROM (\(TextLanguage.storedWords("words.attrelid = pg_attribute.attrelid"))) AS kept
                        WHERE language IS NOT NULL
                    ) AS stored_words
                FROM pg_catalog.pg_attribute
                WHERE attrelid IN (SELECT oid FROM relation WHERE is_table) AND attnum > 0 AND NOT attisdropped
                    AND (attname, atttypid) IN (\(reserved))
                GROUP BY attrelid
                HAVING count(*) = \(Int64(ReservedColumn.allCases.count))
            ), class AS MATERIALIZED (
                \(access)
            )
            SELECT
                relation.relname,
                record_table.oid IS NOT NULL,
                field.attname,
                field.atttypid,
                format_type(field.atttypid, NULL),
                attidentity <> '' OR coalesce((
                    SELECT starts_with(pg_get_expr(adbin, adrelid), 'nextval(')
                    FROM pg_catalog.pg_attrdef
                    WHERE atthasdef AND atttypid IN ('bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
                        AND adrelid = attrelid AND adnum = field.attnum
                ), false),
                attgenerated = '' AND attidentity <> 'a',
                reference.type,
                reference.name,
                \(TextCollation.ofAttribute),
                record_table.collations,
                CASE WHEN field.atttypid >= 16384 THEN (
                    SELECT extname || ':' || regexp_replace(format_type(atttypid, atttypmod), '^.*[.]', '')
                    FROM pg_catalog.pg_depend JOIN pg_catalog.pg_extension ON pg_extension.oid = refobjid
                    WHERE classid = 'pg_type'::regclass AND objid = atttypid AND deptype = 'e'
                        AND refclassid = 'pg_extension'::regclass
                ) END,
                CASE WHEN record_table.oid IS NOT NULL AND row_number() OVER (
                    PARTITION BY relation.oid ORDER BY field.attnum
                ) = 1 THEN \(TableIndex.selection(of: "record_table.oid")) END,
                reference.rule,
                CASE WHEN field.atttypid >= 16384 THEN (
                    SELECT nspname::text FROM pg_catalog.pg_type
                    JOIN pg_catalog.pg_namespace ON pg_namespace.oid = typnamespace
                    WHERE pg_type.oid = field.atttypid
                ) END,
                reference.members,
                language.name,
                record_table.stored_words ->> (field.attnum || ' ' || language.name),
                CASE WHEN record_table.oid IS NOT NULL AND row_number() OVER (
                    PARTITION BY relation.oid ORDER BY field.attnum
                ) = 1 THEN (SELECT access FROM class WHERE type = relname::text COLLATE "C") END,
                record_table.oid,
                field.attnum::integer,
                field.atthasmissing OR field.attgenerated <> ''
            FROM relation
            LEFT JOIN record_table USING (oid)
            LEFT JOIN pg_catalog.pg_attribute AS field
                ON attrelid = record_table.oid AND field.attnum > 0 AND NOT attisdropped
                AND (
                    NOT starts_with(field.attname, '_') OR field.attname = '_parent'
                    OR (field.attname = '_verified' AND relname = 'user')
                )
            LEFT JOIN LATERAL (
                SELECT CASE field.atttypid WHEN 'text'::regtype THEN \(TextLanguage.ofAttribute("field")) END AS name OFFSET 0
            ) AS language ON true
            LEFT JOIN LATERAL (
                -- A foreign key to records or to files (AssetColumn), of an array the check that names the table (ArrayColumn), or
                -- of a relation the one that names the table of its members (RelationColumn).
                SELECT conname AS name, target.relname AS type,
                    CASE confdeltype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set_null' WHEN 'd' THEN 'set_null' END AS rule,
                    NULL::name AS members
                FROM pg_catalog.pg_constraint
                JOIN pg_catalog.pg_class AS target ON target.oid = confrelid
                JOIN pg_catalog.pg_attribute AS id ON id.attrelid = confrelid AND id.attnum = confkey[1]
                WHERE conrelid = field.attrelid AND contype = 'f' AND conkey = ARRAY[field.attnum]
                    AND field.atttypid = 'text'::regtype AND CASE id.attname
                        WHEN '_id' THEN target.relnamespace = (SELECT oid FROM app)
                            AND NOT starts_with(target.relname, '_')
                        WHEN 'name' THEN target.relname = \(literal: AssetColumn.table)
                            AND target.relnamespace = (SELECT oid FROM internal)
                        ELSE false
                    END
                UNION ALL
                SELECT conname, target.relname, NULL, NULL
                FROM pg_catalog.pg_constraint
                JOIN pg_catalog.pg_class AS target ON target.oid = to_regclass((
                    regexp_match(pg_get_expr(conbin, conrelid), '''([^'']+)''::regclass IS NOT NULL')
                )[1])
                WHERE conrelid = field.attrelid AND contype = 'c' AND conkey = ARRAY[field.attnum]
                    AND target.relkind IN ('r', 'p') AND target.relnamespace = (SELECT oid FROM app)
                    AND field.atttypid = 'text[]'::regtype
                UNION ALL
                SELECT key.conname, target.relname, NULL, members.relname
                FROM pg_catalog.pg_constraint AS stands
                JOIN pg_catalog.pg_class AS members ON members.oid = to_regclass((
                    regexp_match(pg_get_expr(stands.conbin, stands.conrelid), '''([^'']+)''::regclass IS NOT NULL')
                )[1])
                JOIN pg_catalog.pg_constraint AS key ON key.conrelid = members.oid AND key.contype = 'f'
                JOIN pg_catalog.pg_attribute AS member
                    ON member.attrelid = members.oid AND member.attname = '_to' AND key.conkey = ARRAY[member.attnum]
                JOIN pg_catalog.pg_class AS target ON target.oid = key.confrelid
                WHERE stands.conrelid = field.attrelid AND stands.contype = 'c' AND stands.conkey = ARRAY[field.attnum]
                    AND members.relnamespace = (SELECT oid FROM app) AND target.relnamespace = (SELECT oid FROM app)
                    AND field.atttypid = 'boolean'::regtype
                ORDER BY 1
                LIMIT 1
            ) AS reference ON field.atttypid IN ('text'::regtype, 'text[]'::regtype, 'boolean'::regtype)
            UNION ALL
            SELECT \(literal: ClassAccess.everyName)::name, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                NULL, NULL, NULL, access, NULL, NULL, NULL
            FROM class WHERE type = \(literal: ClassAccess.everyName)
            """
    }

    /// Builds the catalog from the rows, and from `previous` outside of the part. Rows with names that the protocol cannot carry
    /// are left out.
    init(rows: [CatalogRow], of part: CatalogPart = .everything, replacing previous: SchemaCatalog) {
        var columns: [RecordTypeName: [RecordColumn]] = [:]
        var reservedCollations: [RecordTypeName: [ReservedColumn: TextCollation]] = [:]
        var indexes: [RecordTypeName: [TableIndex]] = [:]
        var access: [RecordTypeName: StoredClassAccess] = [:]
        var accessOfAll = ClassAccess()
        var oids: [RecordTypeName: UInt32] = [:]
        var tables: [RecordTable] = []
        var otherNames: Set<String> = []
        if case .types(let types) = part {
            tables = previous.tables.values.filter { !types.contains($0.name) }
            otherNames = previous.otherNames.subtracting(types.map(\.rawValue))
        }
        for row in rows {
            if !row.isRecordTable, row.relation == ClassAccess.everyName, let rules = row.access {
                accessOfAll = rules.rules
                continue
            }
            guard row.isRecordTable, let name = try? RecordTypeName(row.relation) else {
                otherNames.insert(row.relation)
                continue
            }
            reservedCollations[name] = row.reservedCollations
            if !row.indexes.isEmpty { indexes[name] = row.indexes }
            if let rules = row.access { access[name] = rules }
            oids[name] = row.oid
            columns[name, default: []] += row.column.flatMap(RecordColumn.init).map { [$0] } ?? []
        }
        for (name, columns) in columns {
            guard let identifier = try? SQLIdentifier(name.rawValue) else { continue }
            var rules = previous.rules[name] ?? previous.otherRules
            if access[name] != nil || accessOfAll != ClassAccess() {
                let stored = access[name]
                rules = rules.applying(
                    stored?.rules ?? ClassAccess(),
                    besides: accessOfAll,
                    relations: stored.flatMap { RelationEntries($0.relations, in: previous.schema.name) },
                    fields: columns.lazy.map(\.field)
                ) { field in
                    columns.first { $0.field == field }?.type
                }
            }
            let table = RecordTable(
                name: name,
                schema: previous.schema,
                identifier: identifier,
                oid: oids[name] ?? 0,
                columns: columns,
                reservedCollations: reservedCollations[name] ?? [:],
                indexes: indexes[name] ?? [],
                rules: rules
            )
            if let known = previous[name], known.isSame(as: table) {
                tables.append(known)
            } else {
                tables.append(table)
            }
        }
        self.init(
            schema: previous.schema,
            version: previous.version + 1,
            tables: tables,
            otherNames: otherNames,
            rules: previous.rules,
            otherRules: previous.otherRules
        )
    }
}

/// A row of the catalog query.
package struct CatalogRow: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        var name: String
        var oid: PostgresOID
        var typeName: String
        /// The extension that provides the type, and the type with its modifiers: `postgis:geography(Point,4326)`. nil for types
        /// of PostgreSQL and of users.
        var extensionType: String?
        /// The schema of a type that is not built in.
        var typeSchema: String?
        /// Whether the default is the next number of a sequence.
        var isSequence = false
        /// False for generated columns, which PostgreSQL fills itself.
        var isWritable = true
        /// The record type that a foreign key, the ids of an array or the members of a relation refer to; the name of their table
        /// for files.
        var referredType: String?
        var foreignKey: String?
        /// What the foreign key does when the referenced record is deleted.
        var onDelete = DeleteRule.restrict
        var collation = TextCollation.bytes
        /// The table of the members of a relation.
        var members: String?
        /// How `match` finds the words of a text.
        var textLanguage = TextLanguage.words
        /// The column that stores these words.
        var storedWords: String?
        /// The attribute number in the table, which no other column of the table ever has.
        var number = 0
        /// Whether rows that existed before the column have a value.
        var isFilled = false
    }

    var relation: String
    var isRecordTable: Bool
    var column: Column?
    /// The reserved columns whose collations differ from those of new tables.
    var reservedCollations: [ReservedColumn: TextCollation] = [:]
    /// The indexes of the table, in one of its rows.
    var indexes: [TableIndex] = []
    /// The rules of the type, in one of its rows.
    var access: StoredClassAccess?
    /// The OID of the table.
    var oid: UInt32 = 0
}

extension CatalogRow {
    static func all(in result: PostgresResult) throws(PostgresError) -> [CatalogRow] {
        var rows: [CatalogRow] = []
        rows.reserveCapacity(result.rowCount)
        for row in 0..<result.rowCount { rows.append(try CatalogRow(result, row)) }
        return rows
    }

    private init(_ result: PostgresResult, _ row: Int) throws(PostgresError) {
        relation = try result.decode(row: row, column: 0)
        isRecordTable = try result.decode(row: row, column: 1)
        // "_id database,_owner database"
        for pair in (try result.decode(row: row, column: 10, as: String?.self) ?? "").split(separator: ",") {
            let words = pair.split(separator: " ")
            guard words.count == 2, let reserved = ReservedColumn(rawValue: String(words[0])) else { continue }
            reservedCollations[reserved] = TextCollation(rawValue: String(words[1]))
        }
        if let text = try result.decode(row: row, column: 12, as: String?.self) { indexes = TableIndex.all(json: text) }
        access = try result.decode(row: row, column: 18, as: String?.self).map { StoredClassAccess(json: $0) }
        oid = try result.decode(row: row, column: 19, as: PostgresOID?.self)?.rawValue ?? 0
        guard let name = try result.decode(row: row, column: 2, as: String?.self) else { return }
        column = Column(
            name: name,
            oid: try result.decode(row: row, column: 3),
            typeName: try result.decode(row: row, column: 4),
            extensionType: try result.decode(row: row, column: 11),
            typeSchema: try result.decode(row: row, column: 14),
            isSequence: try result.decode(row: row, column: 5),
            isWritable: try result.decode(row: row, column: 6),
            referredType: try result.decode(row: row, column: 7),
            foreignKey: try result.decode(row: row, column: 8),
            onDelete: try result.decode(row: row, column: 13, as: String?.self).flatMap(DeleteRule.init) ?? .restrict,
            collation: TextCollation(rawValue: try result.decode(row: row, column: 9)) ?? .other,
            members: try result.decode(row: row, column: 15),
            textLanguage: try result.decode(row: row, column: 16, as: String?.self).flatMap(TextLanguage.init)
                ?? .words,
            storedWords: try result.decode(row: row, column: 17),
            number: Int(try result.decode(row: row, column: 20, as: Int32.self)),
            isFilled: try result.decode(row: row, column: 21)
        )
    }
}

extension RecordColumn {
    /// Returns nil for a column that cannot be a field, and for a `_parent` or `_verified` that psql made for another use.
    init?(_ column: CatalogRow.Column) {
        guard let field = try? FieldName(column.name), let identifier = try? SQLIdentifier(column.name) else {
            return nil
        }
        if field == .parent {
            guard case .reference = FieldType(column), column.onDelete == .cascade else { return nil }
        }
        if field == .verified, FieldType(column) != .boolean { return nil }
        self.init(
            field: field,
            identifier: identifier,
            type: FieldType(column),
            oid: column.oid,
            isWritable: column.isWritable,
            foreignKey: column.foreignKey,
            onDelete: column.onDelete,
            collation: column.collation,
            textLanguage: column.textLanguage,
            storedWords: column.storedWords.flatMap { try? SQLIdentifier($0) },
            home: column.extensionType == nil ? nil : column.typeSchema.flatMap { try? SQLIdentifier($0) },
            members: column.members.flatMap { try? SQLIdentifier($0) },
            number: column.number,
            isFilled: column.isFilled || column.isSequence
        )
    }
}

extension TextCollation {
    /// The collation of the column in `pg_attribute`, in SQL.
    ///
    /// The default collation of the database orders by bytes with PostgreSQL's builtin provider, and with the locales C and
    /// C.UTF-8 of the system.
    package static var ofAttribute: SQL {
        """
        CASE attcollation WHEN 0 THEN 'bytes' WHEN 'pg_catalog."C"'::regcollation THEN 'bytes' \
        WHEN 'pg_catalog."default"'::regcollation THEN (\
        SELECT CASE WHEN coalesce(to_jsonb(pg_database) ->> 'datlocprovider', 'c') = 'b' \
        OR (coalesce(to_jsonb(pg_database) ->> 'datlocprovider', 'c') = 'c' \
        AND datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8')) THEN 'databaseBytes' ELSE 'database' END \
        FROM pg_catalog.pg_database WHERE datname = current_database()) ELSE 'other' END
        """
    }
}
