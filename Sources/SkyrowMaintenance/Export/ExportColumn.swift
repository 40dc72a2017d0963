package import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// An exported column, and how its values are emitted.
package struct ExportColumn: Sendable {
    /// The table's alias in the statement.
    static let alias: SQLIdentifier = "r"

    let key: MemberKey
    let kind: RowPlan.Kind
    /// The record type of an id or reference, in UTF-8.
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
            // Unsupported types are exported as text.
            selection = "\(Self.alias).\(column.identifier)::text"
            kind = .text
        } else if let members = column.members {
            // Relations are exported as arrays of references.
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
    /// All columns except the revision, which is meaningful only in the database that assigned it.
    package static let exported = allCases.filter { $0 != .revision }
}

extension RecordTable {
    /// The table's name as an argument of `pg_get_serial_sequence`.
    var sequenceOwner: String { "\(schema.quoted).\(identifier.quoted)" }
}
