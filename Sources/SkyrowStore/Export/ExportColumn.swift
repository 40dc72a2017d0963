internal import SkyrowModel
internal import SkyrowPostgres

/// A column that is exported, and how its values are told.
struct ExportColumn: Sendable {
    /// What a value of the column's binary form is.
    enum Kind: Hashable, Sendable {
        case id
        case text
        case integer
        case number
        case boolean
        case plainDatetime
        case datetime
        case json
        case reference
        case bytes
    }

    /// What the statement calls the table.
    static let alias: SQLIdentifier = "r"

    let key: MemberKey
    let kind: Kind
    /// The type of the record that an id or a reference names, in UTF-8.
    let typeName: [UInt8]
    let selection: SQL

    init(_ column: ReservedColumn, of type: RecordTypeName) {
        typeName = Array(type.rawValue.utf8)
        key = MemberKey(column.rawValue)
        selection = "\(Self.alias).\(column.identifier)"
        kind =
            switch column {
            case .id: .id
            case .database, .owner, .createdBy, .updatedBy: .text
            case .access: .json
            case .createdAt, .updatedAt: .plainDatetime
            case .revision: .integer
            }
    }

    init(_ column: RecordColumn) {
        key = column.key
        if case .reference(let target) = column.type { typeName = Array(target.rawValue.utf8) } else { typeName = [] }
        if case .unknown = column.type {
            selection = "\(Self.alias).\(column.identifier)::text"
        } else {
            selection = column.selection(from: Self.alias)
        }
        kind =
            switch column.type {
            case .string, .unknown: .text
            case .integer, .sequence: .integer
            case .number: .number
            case .boolean: .boolean
            case .datetime: .datetime
            case .json: .json
            case .reference: .reference
            case .bytes: .bytes
            }
    }
}

extension ReservedColumn {
    /// All but the revision, which says when a row was written here and means nothing elsewhere.
    package static let exported = allCases.filter { $0 != .revision }
}

extension RecordTable {
    /// The table as `pg_get_serial_sequence` wants it.
    var sequenceOwner: String { "\(schema.quoted).\(identifier.quoted)" }
}
