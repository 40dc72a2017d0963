internal import SkyrowModel
package import SkyrowPostgres
internal import SkyrowQuery
import SkyrowStore

extension SchemaInventory {
    /// Loads what a transaction sees, with a fixed number of statements.
    package static func load(
        of schema: SQLIdentifier,
        in transaction: PostgresTransaction
    ) async throws -> SchemaInventory {
        // These settings determine how defaults are printed, with the schema's names unqualified.
        _ = try await transaction.query(
            """
            SELECT set_config('extra_float_digits', '1', true), set_config('search_path', \(schema.quoted), true)
            """
        )
        let catalog = try await SchemaCatalog.load(of: schema, in: transaction)
        let name = PostgresName(schema.name)
        let columns = try await transaction.query(columnQuery(name))
        let comments = try await transaction.query(commentQuery(name))
        let indexes = try await transaction.query(indexQuery(name))
        let triggers = try await transaction.query(triggerQuery(name))
        let constraints = try await transaction.query(constraintQuery(name))

        var inventory = SchemaInventory(
            tables: catalog.tables.mapValues { _ in InventoryTable() },
            otherNames: catalog.otherNames
        )
        try inventory.add(columns: columns, of: catalog)
        for row in 0..<comments.rowCount {
            let comment = try comments.decode(row: row, column: 1, as: String?.self)
            let live = try comments.decode(row: row, column: 2, as: String?.self).flatMap { LiveIdentity(rawValue: $0) }
            try inventory.update(comments, row) { ($0.comment, $0.live) = (comment, live) }
        }
        for row in 0..<indexes.rowCount {
            let index = try InventoryIndex(indexes, row)
            try inventory.update(indexes, row) { $0.indexes.append(index) }
        }
        for row in 0..<triggers.rowCount {
            let trigger = InventoryTrigger(
                name: try triggers.decode(row: row, column: 1),
                function: try triggers.decode(row: row, column: 2),
                isEnabled: try triggers.decode(row: row, column: 3)
            )
            try inventory.update(triggers, row) { $0.triggers.append(trigger) }
        }
        try inventory.add(constraints: constraints)
        return inventory
    }

    /// Adds the access rules of the types.
    mutating func readAccess(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let rows = try await transaction.query(ClassAccess.rows(in: schema))
        for row in 0..<rows.rowCount {
            var access = ClassAccess(storedJSON: try rows.decode(row: row, column: 1))
            // A rule equal to the default is not a rule.
            access.rules = access.rules.filter { $1 != .standard($0) }
            if try rows.decode(row: row, column: 0, as: String.self) == ClassAccess.everyName {
                accessOfAll = access
            } else {
                try update(rows, row) { $0.access = access }
            }
        }
    }

    /// Adds which types are followed.
    mutating func readFollowed(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let rows = try await transaction.query(FollowedTypes.list(in: schema))
        for row in 0..<rows.rowCount { try update(rows, row) { $0.isFollowed = true } }
    }

    private mutating func update(
        _ result: PostgresResult,
        _ row: Int,
        _ change: (inout InventoryTable) -> Void
    ) throws {
        guard let type = try? RecordTypeName(try result.decode(row: row, column: 0)), var table = tables[type] else {
            return
        }
        change(&table)
        tables[type] = table
    }

    private mutating func add(columns result: PostgresResult, of catalog: SchemaCatalog) throws {
        var reserved: [String: Set<ReservedColumn>] = [:]
        for row in 0..<result.rowCount {
            let relation = try result.decode(row: row, column: 0, as: String.self)
            let name = try result.decode(row: row, column: 1, as: String.self)
            let details = InventoryColumn(
                isNotNull: try result.decode(row: row, column: 2),
                defaultValue: try result.decode(row: row, column: 3),
                comment: try result.decode(row: row, column: 4)
            )
            let known = ReservedColumn(rawValue: name)
            if let known { reserved[relation, default: []].insert(known) }
            let isIdentity = try result.decode(row: row, column: 5, as: Bool.self)
            let isGenerated = try result.decode(row: row, column: 6, as: Bool.self)
            let sqlType = try result.decode(row: row, column: 7, as: String.self)
            let isUnordered = try result.decode(row: row, column: 8, as: Bool.self)
            try update(result, row) { table in
                if isUnordered { table.unorderedTexts.append(name) }
                if let known {
                    table.reserved[known] = details
                } else if let column = catalog.column(name, of: relation) {
                    table.fields[column.field] = InventoryField(
                        column: column,
                        sqlType: sqlType,
                        details: details,
                        isIdentity: isIdentity,
                        isGenerated: isGenerated
                    )
                } else {
                    table.otherColumns.append(name)
                }
            }
        }
        for (relation, columns) in reserved where (try? RecordTypeName(relation)).map({ tables[$0] == nil }) ?? true {
            halfMade[relation] = ReservedColumn.allCases.filter { !columns.contains($0) }
        }
    }

    private mutating func add(constraints result: PostgresResult) throws {
        for row in 0..<result.rowCount {
            let name = try result.decode(row: row, column: 1, as: String.self)
            let isValidated = try result.decode(row: row, column: 3, as: Bool.self)
            let column = try result.decode(row: row, column: 5, as: String?.self)
            if try result.decode(row: row, column: 2, as: Bool.self) {
                let keepsLanguage = try result.decode(row: row, column: 6, as: Bool.self)
                let check = InventoryCheck(
                    name: name,
                    isValidated: isValidated,
                    languageOf: keepsLanguage ? column.flatMap { try? FieldName($0) } : nil
                )
                try update(result, row) { $0.checks.append(check) }
            } else if let column, let field = try? FieldName(column) {
                let key = InventoryForeignKey(
                    name: name,
                    field: field,
                    isDeferrable: try result.decode(row: row, column: 4),
                    isValidated: isValidated
                )
                try update(result, row) { $0.foreignKeys.append(key) }
            }
        }
    }
}

extension SchemaCatalog {
    /// Returns the column of that name; nil if it is not a field of a record type.
    fileprivate func column(_ name: String, of relation: String) -> RecordColumn? {
        guard let type = try? RecordTypeName(relation), let field = try? FieldName(name) else { return nil }
        return tables[type]?[field]
    }
}

extension InventoryIndex {
    fileprivate init(_ result: PostgresResult, _ row: Int) throws {
        let columns = try result.decode(row: row, column: 3, as: [String?].self)
        let options = try result.decode(row: row, column: 4, as: [Int16].self)
        self.init(
            name: try result.decode(row: row, column: 1),
            columns: columns,
            condition: try result.decode(row: row, column: 6),
            isValid: try result.decode(row: row, column: 8),
            isPrimary: try result.decode(row: row, column: 9),
            isConstraint: try result.decode(row: row, column: 10)
        )
        let method = DocumentedIndex.Method(rawValue: try result.decode(row: row, column: 2))
        let isPlain = try result.decode(row: row, column: 7, as: Bool.self)
        // Schema files do not describe the indexes of exclusion constraints.
        let isUnique = try result.decode(row: row, column: 5, as: Bool.self)
        guard !isConstraint || isUnique else { return }
        // 0 is ascending with NULLs last, 3 descending with NULLs first: the defaults of ASC and DESC.
        guard let method, isPlain, condition == nil, options.allSatisfy({ $0 == 0 || $0 == 3 }) else { return }
        let named = columns.compactMap { $0 }
        guard named.count == columns.count else { return }
        described = DocumentedIndex(
            zip(named, options).map { DocumentedIndex.Column($0, isDescending: $1 == 3) },
            isUnique: isUnique,
            method: method
        )
    }
}

// MARK: The statements

/// The application's possible record tables, as `relation`.
private func relations(_ schema: PostgresName) -> SQL {
    """
    (
        SELECT oid, relname, relreplident FROM pg_catalog.pg_class
        WHERE relkind IN ('r', 'p') AND NOT relispartition AND NOT starts_with(relname, '_')
            AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(schema))
    ) AS relation
    """
}

private func columnQuery(_ schema: PostgresName) -> SQL {
    """
    SELECT relname, attname, attnotnull, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum),
        attidentity <> '', attgenerated <> '', format_type(atttypid, atttypmod),
        atttypid = 'text'::regtype AND \(TextCollation.ofAttribute) NOT IN ('bytes', 'databaseBytes')
    FROM \(relations(schema))
    JOIN pg_catalog.pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
        AND NOT \(StoredWords.isColumn("pg_attribute"))
    LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum
    ORDER BY relname, attnum
    """
}

private func commentQuery(_ schema: PostgresName) -> SQL {
    """
    SELECT relname, obj_description(oid, 'pg_class'),
        CASE
            WHEN relreplident = 'f' THEN 'full'
            WHEN relreplident = 'i' OR relreplident = 'd' AND EXISTS (
                SELECT FROM pg_catalog.pg_index WHERE indrelid = relation.oid AND indisprimary
            ) THEN 'key'
        END
    FROM \(relations(schema))
    """
}

private func indexQuery(_ schema: PostgresName) -> SQL {
    """
    SELECT relation.relname, index_class.relname, amname,
        ARRAY(
            SELECT attname::text
            FROM unnest(indkey::smallint[]) WITH ORDINALITY AS key (number, place)
            LEFT JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key.number AND key.number > 0
            ORDER BY place
        ),
        ARRAY(SELECT unnest(indoption::smallint[])), indisunique, pg_get_expr(indpred, indrelid),
        indnatts = indnkeyatts AND indexprs IS NULL
            AND NOT EXISTS (
                SELECT FROM unnest(indclass::oid[]) AS class (oid) JOIN pg_catalog.pg_opclass USING (oid)
                WHERE NOT opcdefault
            )
            AND NOT EXISTS (
                SELECT FROM unnest(indkey::smallint[], indcollation::oid[]) AS key (number, collation_oid)
                JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key.number
                WHERE attcollation <> key.collation_oid OR \(StoredWords.isColumn("pg_attribute"))
            )
            AND NOT coalesce(to_jsonb(pg_index) ->> 'indnullsnotdistinct' = 'true', false),
        indisvalid, indisprimary,
        EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
    FROM \(relations(schema))
    JOIN pg_catalog.pg_index ON indrelid = relation.oid
    JOIN pg_catalog.pg_class AS index_class ON index_class.oid = indexrelid
    JOIN pg_catalog.pg_am ON pg_am.oid = index_class.relam
    ORDER BY 1, 2
    """
}

private func triggerQuery(_ schema: PostgresName) -> SQL {
    """
    SELECT relname, tgname, proname, tgenabled IN ('O', 'A')
    FROM \(relations(schema))
    JOIN pg_catalog.pg_trigger ON tgrelid = relation.oid AND NOT tgisinternal
    JOIN pg_catalog.pg_proc ON pg_proc.oid = tgfoid
    ORDER BY 1, 2
    """
}

/// Selects checks, and foreign keys of one column.
private func constraintQuery(_ schema: PostgresName) -> SQL {
    """
    SELECT relname, conname, contype = 'c', convalidated, condeferrable, attname, coalesce(\(TextLanguage.isKept), false)
    FROM \(relations(schema))
    JOIN pg_catalog.pg_constraint ON conrelid = relation.oid
    LEFT JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND attnum = conkey[1] AND cardinality(conkey) = 1
    WHERE contype = 'c' OR (contype = 'f' AND cardinality(conkey) = 1)
    ORDER BY 1, 2
    """
}
