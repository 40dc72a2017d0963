import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// The column that is to take the place of another one of a large table: a trigger gives it the values that are written, batches
/// give it those that there are, and at last it gets the name. That of a new sequence field is made in the same way.
///
/// ```sql
/// ALTER TABLE "app"."note" ADD COLUMN "_becoming_stars_0c2f…" double precision
/// ```
///
/// No field is called so, since names of fields do not begin with an underscore.
struct ColumnInMaking {
    static let prefix = "_becoming_"
    /// Behind the names of all other triggers, whose order they are called in, so that it sees what these make of a value.
    static let triggerName: SQLIdentifier = "~becoming"

    let type: RecordTypeName
    let field: FieldName
    let table: SQL
    let column: SQLIdentifier
    /// The name of the column until then, and of the trigger's function.
    let name: SQLIdentifier
    let sqlType: SQL
    private let schema: SQLIdentifier
    /// Whether a value can become one of the new type; nil where all can.
    private let condition: (SQL) throws -> SQL?
    /// What takes the place of one that cannot; nil for NULL.
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

    /// The statements that make the column and its trigger. From then on no value is written that it could not hold.
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
                    RAISE EXCEPTION 'The column %.% is becoming of another type, which this value does not fit.',
                        TG_TABLE_NAME, \(literal: field.rawValue) USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME;
                ELSIF \(new) IS DISTINCT FROM OLD.\(column) THEN
                    RAISE EXCEPTION 'The column %.% is becoming of another type, which this value does not fit.',
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
            \(literal: "What \"skyrow schema apply\" makes of \(field); it takes its place in the end.")
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

    /// Gives the records of a batch what takes the place of values that do not fit, as changes of theirs; nil where all fit.
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

    /// Gives the records of a batch their new values, which change nothing that anybody reads yet.
    func filling() -> RowBatch {
        RowBatch(
            table: table,
            assignment: "\(name) = record.\(column)::\(sqlType)",
            condition: "record.\(column) IS NOT NULL AND record.\(name) IS NULL",
            keepsRevision: true
        )
    }

    /// The statements that give it the place of the other one.
    ///
    /// - Parameters:
    ///   - foreignKeys: those of the column, which go with it.
    ///   - indexes: those of the new one, and the names that they get.
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
        for index in indexes {
            statements.append("ALTER INDEX \(schema).\(index.made) RENAME TO \(index.name)")
        }
        let text: SQL = comment.map { "\(literal: $0)" } ?? "NULL"
        statements.append("COMMENT ON COLUMN \(table).\(column) IS \(text)")
        return statements
    }

    // MARK: Sequences

    /// The statements that make the column of a new sequence field, and a sequence that counts the records which are saved meanwhile.
    func beginningSequence() -> [SQL] {
        [
            "ALTER TABLE \(table) ADD COLUMN \(name) bigint",
            """
            COMMENT ON COLUMN \(table).\(name) IS \(literal: "What \"skyrow schema apply\" makes \(field) of.")
            """,
            "CREATE SEQUENCE \(schema).\(name) OWNED BY \(table).\(name)",
            // Roles that policies let write need no right to the sequence of an identity column, which this becomes.
            "GRANT USAGE ON SEQUENCE \(schema).\(name) TO PUBLIC",
            "ALTER TABLE \(table) ALTER COLUMN \(name) SET DEFAULT \(nextNumber)",
        ]
    }

    /// Counts the records of a batch.
    func counting() -> RowBatch {
        RowBatch(
            table: table,
            assignment: "\(name) = \(nextNumber)",
            condition: "record.\(name) IS NULL",
            keepsRevision: true
        )
    }

    /// The statements that make it the field, as `ADD COLUMN … GENERATED BY DEFAULT AS IDENTITY` does, which writes the table again.
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
            // The highest number is looked up in the index.
            "SELECT set_config('enable_seqscan', 'off', true)",
            "SELECT \(schema)._keep_sequences(\(literal: type.rawValue))",
            "COMMENT ON COLUMN \(table).\(column) IS \(literal: FieldType.sequence.column.comment)",
        ]
    }

    private var sequence: SQL { "\(literal: "\(schema.quoted).\(name.quoted)")::regclass" }
    private var nextNumber: SQL { "nextval(\(sequence))" }

    /// The statement that drops what conversions have left in a schema that were cut off.
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

/// A change of many records, a few at a time in the order of their ids, so that a save of one of them waits for a moment.
struct RowBatch {
    let table: SQL
    /// What is set, with the row as `record`.
    let assignment: SQL
    let condition: SQL
    /// Whether the records are, for all who read them, the same as before.
    let keepsRevision: Bool

    /// The statement for the records behind an id; it returns the last id and the number of records that it looked at.
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
