import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// The replacement for a column of a large table. A trigger copies new values into it, batches copy the existing
/// values, and finally it takes the old column's name. The column of a new sequence field is built in the same way.
///
/// ```sql
/// ALTER TABLE "app"."note" ADD COLUMN "_becoming_stars_0c2f…" double precision
/// ```
///
/// Field names do not begin with an underscore, so the name never collides with a field.
struct ColumnInMaking {
    static let prefix = "_becoming_"
    /// Triggers run in the order of their names, so this one runs last and sees the values that the others produce.
    static let triggerName: SQLIdentifier = "~becoming"

    let type: RecordTypeName
    let field: FieldName
    let table: SQL
    let column: SQLIdentifier
    /// The column's temporary name, and the name of the trigger's function.
    let name: SQLIdentifier
    let sqlType: SQL
    private let schema: SQLIdentifier
    /// The condition that a value converts to the new type; nil if every value does.
    private let condition: (SQL) throws -> SQL?
    /// The replacement for a value that does not convert; nil for NULL.
    private let replacement: ((SQL) -> SQL)?

    init(
        _ field: FieldName,
        _ conversion: FieldConversion?,
        to target: FieldType,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) throws {
        self.type = type
        self.field = field
        self.schema = schema
        table = try SchemaChange.table(type, schema)
        column = try SQLIdentifier(field.rawValue)
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(type).\(field)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        name = try SQLIdentifier(Self.prefix + field.rawValue.prefix(20) + "_" + String(hash, radix: 16))
        sqlType = target.column.sqlType
        condition = { column in
            guard let conversion, conversion.isNarrowing else { return nil }
            return try conversion.fits(column, in: schema)
        }
        replacement = conversion?.replacement
    }

    /// Returns the statements that make the column and its trigger. From then on, values that do not convert are refused.
    func beginning() throws -> [SQL] {
        let new: SQL = "NEW.\(column)"
        let assignment: SQL = "NEW.\(name) := \(new)::\(sqlType);"
        let body: SQL
        if let fits = try condition(new) {
            body = """
                IF \(new) IS NULL THEN
                    NEW.\(name) := NULL;
                ELSIF (\(fits)) THEN
                    \(assignment)
                ELSIF TG_OP = 'INSERT' THEN
                    RAISE EXCEPTION 'The type of the column %.% is changing, and this value does not fit the new type.',
                        TG_TABLE_NAME, \(literal: field.rawValue) USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME;
                ELSIF \(new) IS DISTINCT FROM OLD.\(column) THEN
                    RAISE EXCEPTION 'The type of the column %.% is changing, and this value does not fit the new type.',
                        TG_TABLE_NAME, \(literal: field.rawValue) USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME;
                END IF;
                """
        } else {
            body = assignment
        }
        return [
            "ALTER TABLE \(table) ADD COLUMN \(name) \(sqlType)",
            """
            COMMENT ON COLUMN \(table).\(name) IS \
            \(literal: "The converted values of \(field); replaces it when \"skyrow schema apply\" ends.")
            """,
            """
            CREATE FUNCTION \(schema).\(name)() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
            AS $becoming$
            BEGIN
                \(body)
                RETURN NEW;
            END $becoming$
            """,
            """
            CREATE TRIGGER \(Self.triggerName) BEFORE INSERT OR UPDATE ON \(table) \
            FOR EACH ROW EXECUTE FUNCTION \(schema).\(name)()
            """,
        ]
    }

    /// Returns the batch that replaces values that do not convert, as changes of the records; nil if every value converts.
    func replacing() throws -> RowBatch? {
        guard let fits = try condition("record.\(column)") else { return nil }
        let value: SQL = replacement?("record.\(column)") ?? "NULL"
        return RowBatch(
            table: table,
            assignment: "\(column) = \(value)",
            condition: "record.\(column) IS NOT NULL AND NOT \(fits)",
            keepsRevision: false
        )
    }

    /// Returns the batch that fills the new column, which no reader sees yet.
    func filling() -> RowBatch {
        RowBatch(
            table: table,
            assignment: "\(name) = record.\(column)::\(sqlType)",
            condition: "record.\(column) IS NOT NULL AND record.\(name) IS NULL",
            keepsRevision: true
        )
    }

    /// Returns the statements that replace the old column with the new one.
    ///
    /// - Parameters:
    ///   - foreignKeys: The foreign keys of the old column, which are dropped with it.
    ///   - indexes: The indexes of the new column, and their final names.
    func ending(
        foreignKeys: [String],
        indexes: [(made: SQLIdentifier, name: SQLIdentifier)],
        comment: String?
    ) throws -> [SQL] {
        var statements: [SQL] = [
            "LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE",
            SchemaChange.closing(type, schema),
            "DROP TRIGGER \(Self.triggerName) ON \(table)",
            "DROP FUNCTION \(schema).\(name)()",
            StoredWords.removal(field, of: type, in: schema),
        ]
        for key in foreignKeys { statements.append("ALTER TABLE \(table) DROP CONSTRAINT \(try SQLIdentifier(key))") }
        statements += [
            "ALTER TABLE \(table) DROP COLUMN \(column)",
            "ALTER TABLE \(table) RENAME COLUMN \(name) TO \(column)",
        ]
        for index in indexes { statements.append("ALTER INDEX \(schema).\(index.made) RENAME TO \(index.name)") }
        let text: SQL = comment.map { "\(literal: $0)" } ?? "NULL"
        statements.append("COMMENT ON COLUMN \(table).\(column) IS \(text)")
        return statements
    }

    // MARK: Sequences

    /// Returns the statements that make the column of a new sequence field, and a sequence that numbers records saved
    /// meanwhile.
    func beginningSequence() -> [SQL] {
        [
            "ALTER TABLE \(table) ADD COLUMN \(name) bigint",
            """
            COMMENT ON COLUMN \(table).\(name) IS \(literal: "The values from which \"skyrow schema apply\" builds \(field).")
            """,
            "CREATE SEQUENCE \(schema).\(name) OWNED BY \(table).\(name)",
            // Roles with write policies need no privilege on an identity column's sequence, which this becomes.
            "GRANT USAGE ON SEQUENCE \(schema).\(name) TO PUBLIC",
            "ALTER TABLE \(table) ALTER COLUMN \(name) SET DEFAULT \(nextNumber)",
        ]
    }

    /// Returns the batch that numbers the existing records.
    func counting() -> RowBatch {
        RowBatch(
            table: table,
            assignment: "\(name) = \(nextNumber)",
            condition: "record.\(name) IS NULL",
            keepsRevision: true
        )
    }

    /// Returns the statements that turn the column into the field. `ADD COLUMN … GENERATED BY DEFAULT AS IDENTITY`
    /// would rewrite the table.
    func endingSequence() throws -> [SQL] {
        let owner = "\(schema.quoted).\(try SQLIdentifier(type.rawValue).quoted)"
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN"
        return [
            "LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE",
            "\(alter) \(name) DROP DEFAULT",
            "ALTER TABLE \(table) RENAME COLUMN \(name) TO \(column)",
            "\(alter) \(column) ADD GENERATED BY DEFAULT AS IDENTITY",
            """
            SELECT setval(
                pg_get_serial_sequence(\(literal: owner), \(literal: field.rawValue))::regclass,
                pg_sequence_last_value(\(sequence))
            )
            """,
            "DROP SEQUENCE \(schema).\(name)",
            // With sequential scans off, the highest number is read from the index.
            "SELECT set_config('enable_seqscan', 'off', true)",
            "SELECT \(schema)._keep_sequences(\(literal: type.rawValue))",
            "COMMENT ON COLUMN \(table).\(column) IS \(literal: FieldType.sequence.column.comment)",
        ]
    }

    private var sequence: SQL { "\(literal: "\(schema.quoted).\(name.quoted)")::regclass" }
    private var nextNumber: SQL { "nextval(\(sequence))" }

    /// Returns the statement that drops what interrupted conversions left in a schema.
    static func clearing(_ schema: SQLIdentifier) -> SQL {
        """
        DO $becoming$
        DECLARE
            home oid := (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(literal: schema.name));
            held record;
        BEGIN
            FOR held IN
                SELECT tgrelid::regclass AS relation FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid
                WHERE tgname = \(literal: triggerName.name) AND relnamespace = home AND tgparentid = 0
            LOOP
                EXECUTE format('DROP TRIGGER %I ON %s', \(literal: triggerName.name), held.relation);
            END LOOP;
            FOR held IN
                SELECT proname AS name FROM pg_catalog.pg_proc
                WHERE pronamespace = home AND starts_with(proname, \(literal: prefix)) AND prorettype = 'trigger'::regtype
            LOOP
                EXECUTE format('DROP FUNCTION %I.%I()', \(literal: schema.name), held.name);
            END LOOP;
            FOR held IN
                SELECT attrelid::regclass AS relation, attname AS name FROM pg_catalog.pg_attribute
                JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
                WHERE relnamespace = home AND relkind IN ('r', 'p') AND NOT relispartition AND NOT attisdropped
                    AND starts_with(attname, \(literal: prefix))
            LOOP
                EXECUTE format('ALTER TABLE %s DROP COLUMN %I', held.relation, held.name);
            END LOOP;
        END $becoming$
        """
    }
}

/// A change of many records, made in small batches ordered by id. A concurrent save of a record waits for one batch only.
struct RowBatch {
    let table: SQL
    /// The assignment, with the row as `record`.
    let assignment: SQL
    let condition: SQL
    /// Whether readers see the records unchanged.
    let keepsRevision: Bool

    /// Returns the statement for the next `count` records after an id. Its row is the last id and the number of records read.
    func statement(after id: String, count: Int) -> SQL {
        """
        WITH batch AS MATERIALIZED (
            SELECT record._id FROM \(table) AS record WHERE record._id > \(id) ORDER BY record._id LIMIT \(Int64(count))
        ), changed AS (
            UPDATE \(table) AS record SET \(assignment)
            WHERE record._id IN (SELECT batch._id FROM batch) AND \(condition)
        )
        SELECT max(batch._id), count(*) FROM batch
        """
    }
}
