package import SkyrowModel
package import SkyrowPostgres

/// The columns of one table that a statement selects, and the plan by which its rows are read.
package struct RecordSelection: Sendable {
    /// `"r"."_id", "r"."_access", …`
    package let columns: SQL
    package let plan: RowPlan
    /// How many of the columns are reserved ones; they come first.
    package let reservedWidth: Int
    /// How many columns the selection has.
    package let width: Int

    /// Selects the reserved columns and some fields of a type's table, which the statement calls `alias`.
    ///
    /// - Parameter firstColumn: the place of the first of these columns in the row.
    package init(
        of type: RecordTypeName,
        as alias: SQLIdentifier,
        fields: [RecordColumn],
        showsDatabase: Bool = false,
        firstColumn: Int = 0
    ) {
        var columns: [SQL] = []
        var members: [RowPlan.Member] = []

        var ownerColumn = firstColumn

        func select(
            _ column: SQL,
            _ key: MemberKey,
            _ kind: RowPlan.Kind,
            _ name: String = "",
            isForOwnersEyes: Bool = false
        ) {
            members.append(
                RowPlan.Member(
                    key: key,
                    kind: kind,
                    name: name,
                    column: firstColumn + columns.count,
                    isForOwnersEyes: isForOwnersEyes
                )
            )
            columns.append(column)
        }

        for (reserved, key, kind) in Self.reservedMembers where showsDatabase || reserved != .database {
            if reserved == .owner { ownerColumn = firstColumn + columns.count }
            select("\(alias).\(reserved.identifier)", key, kind, kind == .id ? type.rawValue : "")
        }
        reservedWidth = columns.count
        for field in fields {
            select(
                field.selection(from: alias),
                field.key,
                field.kind,
                field.typeName,
                isForOwnersEyes: field.isForOwnersEyes
            )
        }
        self.columns = columns.joined(separator: ", ")
        width = columns.count
        plan = RowPlan(members: members, idColumn: firstColumn, ownerColumn: ownerColumn)
    }

    /// The reserved members in the order of the wire form; `_database` is shown in `_union` only.
    private static let reservedMembers: [(ReservedColumn, MemberKey, RowPlan.Kind)] = [
        (.id, MemberKey("_id"), .id),
        (.database, MemberKey("_database"), .text),
        (.access, MemberKey("_access"), .access),
        (.owner, MemberKey("_ownerID"), .text),
        (.createdAt, MemberKey("_created_at"), .plainDatetime),
        (.createdBy, MemberKey("_created_by"), .text),
        (.updatedAt, MemberKey("_updated_at"), .plainDatetime),
        (.updatedBy, MemberKey("_updated_by"), .text),
        (.revision, MemberKey("_revision"), .integer),
    ]
}

extension RecordColumn {
    /// The column as a statement selects it: in the type its field is read in, whatever psql made it.
    package func selection(from alias: SQLIdentifier) -> SQL {
        switch type {
        case .string: oid == .text ? "\(alias).\(identifier)" : "\(alias).\(identifier)::text"
        case .integer, .sequence: oid == .int8 ? "\(alias).\(identifier)" : "\(alias).\(identifier)::int8"
        case .number: oid == .float8 ? "\(alias).\(identifier)" : "\(alias).\(identifier)::float8"
        case .boolean: "\(alias).\(identifier)"
        case .datetime: oid == .timestamptz ? "\(alias).\(identifier)" : "\(alias).\(identifier)::timestamptz"
        case .json: oid == .jsonb ? "\(alias).\(identifier)" : "\(alias).\(identifier)::jsonb"
        case .reference: oid == .text ? "\(alias).\(identifier)" : "\(alias).\(identifier)::text"
        case .bytes: "\(alias).\(identifier)"
        case .unknown: "CASE WHEN \(alias).\(identifier) IS NOT NULL THEN true END"
        }
    }

    /// What a value of the column's selection is.
    package var kind: RowPlan.Kind {
        switch type {
        case .string: .text
        case .integer, .sequence: .integer
        case .number: .number
        case .boolean: .boolean
        case .datetime: .datetime
        case .json: .json
        case .reference: .reference
        case .bytes: .bytes
        case .unknown: .unknown
        }
    }

    /// The record type of a reference, or the SQL type of an unknown column.
    fileprivate var typeName: String {
        switch type {
        case .reference(let target): target.rawValue
        case .unknown(let name): name
        case .string, .integer, .sequence, .number, .boolean, .datetime, .json, .bytes: ""
        }
    }
}
