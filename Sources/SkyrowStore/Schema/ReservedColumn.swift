package import SkyrowModel
package import SkyrowPostgres

/// The columns that every record table has, in their order in the table.
package enum ReservedColumn: String, Hashable, Sendable, CaseIterable {
    /// The stored id: the wire id of a public row, `~<user id>/<wire id>` of a private one.
    case id = "_id"
    /// `_public`, or the id of the user whose private database holds the row.
    case database = "_database"
    case owner = "_owner"
    /// The record's own access list; NULL means the type's default.
    case access = "_access"
    case createdAt = "_created_at"
    case createdBy = "_created_by"
    case updatedAt = "_updated_at"
    case updatedBy = "_updated_by"
    /// Grows with every write of the row.
    case revision = "_revision"

    package var identifier: SQLIdentifier {
        switch self {
        case .id: "_id"
        case .database: "_database"
        case .owner: "_owner"
        case .access: "_access"
        case .createdAt: "_created_at"
        case .createdBy: "_created_by"
        case .updatedAt: "_updated_at"
        case .updatedBy: "_updated_by"
        case .revision: "_revision"
        }
    }

    /// The type that a field with the same column would have.
    package var type: FieldType {
        switch self {
        case .id, .database, .owner, .createdBy, .updatedBy: .string
        case .access: .json
        case .createdAt, .updatedAt: .datetime
        case .revision: .integer
        }
    }

    /// The type of the column in PostgreSQL; a table that has the names but not the types is no record table.
    package var oid: PostgresOID { type.column.kind.oid }
}
