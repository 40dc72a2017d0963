package import SkyrowModel
package import SkyrowPostgres

/// The columns of one table that a statement selects, and the plan for reading its rows.
package struct RecordSelection: Sendable {
    /// `"r"."_id", "r"."_access", …`
    package let columns: SQL
    package let plan: RowPlan
    /// The number of reserved columns, which come first.
    package let reservedWidth: Int
    /// The number of columns.
    package let width: Int

    /// Selects the reserved columns and some fields of a type's table, which the statement aliases as `alias`.
    ///
    /// - Parameters:
    ///   - named: the columns with users that rules of fields and of lists refer to; those that a rule needs are selected, too.
    ///   - list: in which records the whole access list is visible.
    ///   - firstColumn: the index of the first of these columns in the row.
    package init(
        of type: RecordTypeName,
        as alias: SQLIdentifier,
        fields: [RecordColumn],
        naming named: [RecordColumn] = [],
        list: AccessCondition,
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
            reserved: ReservedColumn? = nil,
            reach: AccessCondition? = nil
        ) {
            members.append(
                RowPlan.Member(
                    key: key,
                    kind: kind,
                    name: name,
                    column: firstColumn + columns.count,
                    reserved: reserved,
                    reach: reach
                )
            )
            columns.append(column)
        }

        for (reserved, key) in Self.reservedMembers where showsDatabase || reserved != .database {
            if reserved == .owner { ownerColumn = firstColumn + columns.count }
            select(
                "\(alias).\(reserved.identifier)",
                key,
                RowPlan.Kind(reserved),
                reserved == .id ? type.rawValue : "",
                reserved: reserved
            )
        }
        reservedWidth = columns.count
        var namedColumns: [FieldName: Int] = [:]
        for field in fields {
            let type = field.type.column
            namedColumns[field.field] = firstColumn + columns.count
            select(field.selection(from: alias), field.key, type.kind, type.kindName, reach: field.reach)
        }
        var asked = Set(fields.lazy.compactMap(\.reach).flatMap(\.members).map(\.name))
        asked.formUnion(list.members.lazy.map(\.name))
        for column in named where namedColumns[column.field] == nil && asked.contains(column.field) {
            namedColumns[column.field] = firstColumn + columns.count
            columns.append(column.selection(from: alias))
        }
        let names = Set(named.map(\.field))
        namedColumns = namedColumns.filter { names.contains($0.key) }
        self.columns = columns.joined(separator: ", ")
        width = columns.count
        plan = RowPlan(
            members: members,
            idColumn: firstColumn,
            ownerColumn: ownerColumn,
            namedColumns: namedColumns,
            list: list
        )
    }

    private static let reservedMembers = ReservedColumn.inWireOrder.map { (column: $0, key: MemberKey($0.member)) }
}

extension RecordColumn {
    /// Returns the column as statements select it: cast to the type in which its field is read, whichever psql gave it.
    package func selection(from alias: SQLIdentifier) -> SQL {
        type.column.selection("\(alias).\(identifier)", oid: oid)
    }
}
