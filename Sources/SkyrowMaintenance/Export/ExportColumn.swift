package import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// A column that is exported, and how its values are emitted.
package struct ExportColumn: Sendable {
    /// What the statement calls the table.
    static let alias: SQLIdentifier = "r"

    let key: MemberKey
    let kind: RowPlan.Kind
    /// The type of the record that an id or a reference names, in UTF-8.
    let typeName: [UInt8]
    let selection: SQL

    init(_ column: ReservedColumn, of type: RecordTypeName) {
        typeName = Array(type.rawValue.utf8)
        key = MemberKey(column.rawValue)
        selection = "\(Self.alias).\(column.identifier)"
        kind = RowPlan.Kind(column)
    }

    init(_ column: RecordColumn, of table: RecordTable) {
        let type = column.type.column
        key = column.key
        typeName = Array(type.kindName.utf8)
        if case .unknown = column.type {
            // Exported as text.
            selection = "\(Self.alias).\(column.identifier)::text"
            kind = .text
        } else if let members = column.members {
            // Exported as an array of references.
            selection = """
                ARRAY(SELECT "m"."_to" FROM \(table.schema).\(members) AS "m" \
                WHERE "m"."_from" = \(Self.alias)."_id" ORDER BY "m"."_to")
                """
            kind = .array(.reference)
        } else {
            selection = column.selection(from: Self.alias)
            kind = type.kind
        }
    }
}

extension ReservedColumn {
    /// All but the revision, which says when a row was written here and means nothing elsewhere.
    package static let exported = allCases.filter { $0 != .revision }
}

extension RecordTable {
    /// The table as `pg_get_serial_sequence` takes it.
    var sequenceOwner: String { "\(schema.quoted).\(identifier.quoted)" }
}
