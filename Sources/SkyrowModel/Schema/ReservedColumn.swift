/// The columns of every record table, in their order in the table.
package enum ReservedColumn: String, Hashable, Sendable, CaseIterable {
    /// The stored id: the wire id of a public row, `~<user id>/<wire id>` of a private one.
    case id = "_id"
    /// `_public`, or the id of the user whose private database holds the row.
    case database = "_database"
    case owner = "_owner"
    /// The record's access list; NULL means the type's default.
    case access = "_access"
    case createdAt = "_created_at"
    case createdBy = "_created_by"
    case updatedAt = "_updated_at"
    case updatedBy = "_updated_by"
    /// Grows with every write of the row.
    case revision = "_revision"

    /// Parses the name in a key path: that of the column, of the member or of Skygear; nil for any other.
    package init?(keyPath name: String) {
        guard name.utf8.first == UInt8(ascii: "_") else { return nil }
        switch name {
        case "_id": self = .id
        case "_owner", "_owner_id", "_ownerID": self = .owner
        case "_created_at": self = .createdAt
        case "_created_by": self = .createdBy
        case "_updated_at": self = .updatedAt
        case "_updated_by": self = .updatedBy
        case "_revision": self = .revision
        case "_database", "_database_id": self = .database
        case "_access": self = .access
        default: return nil
        }
    }

    /// Parses the name of a member of a record; nil for any other.
    package init?(member name: String) {
        guard let column = ReservedColumn(keyPath: name), column.member == name else { return nil }
        self = column
    }

    /// The member of a record in the wire form.
    package var member: String { self == .owner ? "_ownerID" : rawValue }

    /// The columns in the order of the members of a record; `_database` is shown in `_union` only.
    package static let inWireOrder: [ReservedColumn] = [
        .id, .database, .access, .owner, .createdAt, .createdBy, .updatedAt, .updatedBy, .revision,
    ]

    /// The type of a field with the same column.
    package var type: FieldType {
        switch self {
        case .id, .database, .owner, .createdBy, .updatedBy: .string
        case .access: .json
        case .createdAt, .updatedAt: .datetime
        case .revision: .integer
        }
    }

    /// Whether every row has a value.
    package var isNotNull: Bool {
        switch self {
        case .id, .database, .createdAt, .updatedAt, .revision: true
        case .owner, .access, .createdBy, .updatedBy: false
        }
    }

    /// Whether a requested index may begin with the column. A revision changes with every save, which an index on it would make
    /// more expensive (Documentation/Decisions/tables-and-values.md).
    package var takesIndex: Bool {
        switch self {
        case .owner, .createdAt, .createdBy, .updatedAt, .updatedBy: true
        case .id, .database, .access, .revision: false
        }
    }
}
