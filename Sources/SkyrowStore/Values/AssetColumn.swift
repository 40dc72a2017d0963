package import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres

/// `asset`: `text COLLATE "C"` with a foreign key to the names of the application's files.
///
/// ```sql
/// ALTER TABLE "app"."note" ADD COLUMN "photo" text COLLATE "C" REFERENCES "app_internal"._asset (name) …
/// ```
///
/// The foreign key holds a file that a record refers to, and one that a record is about to refer to.
package struct AssetColumn: ColumnType {
    /// The table of files, in the internal schema.
    package static let table = "_asset"

    package init() {}

    package var sqlType: SQL { "text COLLATE \"C\"" }
    package var comment: String { "The name of a file." }
    /// Includes the foreign key's triggers and the index.
    package var locks: Int64 { 4 }
    package var kind: RowPlan.Kind { .asset }
    package var textCast: TextCast? { .never }

    package static func type(of column: CatalogRow.Column) -> FieldType? {
        column.oid == .text && column.referredType == table ? .asset : nil
    }

    package func constraint(of column: SQLIdentifier, in schema: SQLIdentifier) -> SQL? {
        // Deferrable, so that one transaction can delete a file and then clear the fields that have it.
        "REFERENCES \(schema.internal)._asset (name) ON DELETE NO ACTION DEFERRABLE INITIALLY IMMEDIATE"
    }

    /// Lets PostgreSQL find the records that have a file.
    package func index(on column: SQLIdentifier, of table: SQL) -> SQL? {
        "CREATE INDEX ON \(table) (\(column)) WHERE \(column) IS NOT NULL"
    }

    package func value(of value: RecordValue) -> String? {
        if case .asset(let asset) = value { asset.name.rawValue } else { nil }
    }

    package func takesAsSent(_ value: RecordValue) -> Bool {
        if case .asset = value { true } else { false }
    }

    package func conversion(from other: FieldType) -> ColumnConversion? {
        guard other == .string else { return nil }
        return ColumnConversion(
            condition: { column, schema in
                "EXISTS (SELECT FROM \(schema.internal)._asset AS target WHERE target.name = \(column))"
            },
            changesColumn: false
        )
    }
}
