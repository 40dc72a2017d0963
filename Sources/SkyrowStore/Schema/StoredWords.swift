package import SkyrowModel
package import SkyrowPostgres

/// The column that stores the words of a text field whose schema has `"stored": true`.
///
/// ```sql
/// ALTER TABLE "app"."film" ADD COLUMN "_words_title" tsvector
///     GENERATED ALWAYS AS ("app"._words('pg_catalog.english'::regconfig, "title")) STORED
/// ```
///
/// No field has such a name, since field names do not begin with an underscore. The column is identified by its generation
/// expression and not by its name, which stays the same when the field is renamed
/// (Documentation/Decisions/text-and-places.md).
package enum StoredWords {
    /// The prefix of the columns' names.
    private static let prefix = "_words_"

    /// The condition that a row of `pg_attribute` is such a column, for any language, in SQL.
    package static func isColumn(_ alias: SQLIdentifier) -> SQL {
        """
        (\(alias).attgenerated = 's' AND \(alias).atttypid = 'tsvector'::regtype \
        AND starts_with(\(alias).attname, \(literal: prefix)) AND NOT \(alias).attisdropped)
        """
    }

    /// Returns the statement that adds the column, under an unused name.
    ///
    /// PostgreSQL rewrites the table for it; reads and writes of the table wait meanwhile.
    package static func addition(
        _ language: TextLanguage,
        _ field: FieldName,
        of type: RecordTypeName,
        in schema: SQLIdentifier
    ) -> SQL {
        """
        DO $words$
        DECLARE
            record_table regclass := format('%I.%I', \(literal: schema.name), \(literal: type.rawValue))::regclass;
            name text := left(\(literal: prefix + field.rawValue), 60);
            number integer := 0;
        BEGIN
            WHILE EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = record_table AND attname = name::name) LOOP
                number := number + 1;
                name := left(\(literal: prefix + field.rawValue), 60) || number;
            END LOOP;
            EXECUTE format(
                'ALTER TABLE %s ADD COLUMN %I tsvector GENERATED ALWAYS AS (%I._words(%L::regconfig, %I)) STORED',
                record_table, name, \(literal: schema.name), \(literal: "pg_catalog.\(language.rawValue)"),
                \(literal: field.rawValue)
            );
            EXECUTE format(
                'COMMENT ON COLUMN %s.%I IS %L', record_table, name, \(literal: "The words of \(field), by their stems.")
            );
        END $words$
        """
    }

    /// Returns the statement that drops all columns of the field's words, with their indexes.
    package static func removal(_ field: FieldName, of type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        """
        DO $words$
        DECLARE
            record_table regclass := format('%I.%I', \(literal: schema.name), \(literal: type.rawValue))::regclass;
            name text;
        BEGIN
            FOR name IN
                SELECT words.attname FROM pg_catalog.pg_attribute AS words
                JOIN pg_catalog.pg_attrdef ON adrelid = words.attrelid AND adnum = words.attnum
                JOIN pg_catalog.pg_attribute AS field
                    ON field.attrelid = words.attrelid AND field.attname = \(literal: field.rawValue)
                WHERE words.attrelid = record_table AND \(isColumn("words"))
                    AND adbin::text LIKE '%:varattno ' || field.attnum || ' %'
            LOOP
                EXECUTE format('ALTER TABLE %s DROP COLUMN %I', record_table, name);
            END LOOP;
        END $words$
        """
    }
}
