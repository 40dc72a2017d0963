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
    /// - Parameters:
    ///   - named: the columns whose users rules of fields and of lists mean; those that a rule asks for are selected, too.
    ///   - list: in which records the whole access list is visible.
    ///   - firstColumn: the place of the first of these columns in the row.
    package init(
        of type: RecordTypeName,
        as alias: SQLIdentifier,
        fields: [RecordColumn],
        naming named: [RecordColumn] = [],
        list: FieldStanding,
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
            reach: FieldReach? = nil
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
            select(
                field.selection(from: alias),
                field.key,
                type.kind,
                type.kindName,
                reach: field.reach
            )
        }
        var asked = Set(fields.lazy.compactMap(\.reach).flatMap(\.members).map(\.name))
        if case .some(let reach) = list { asked.formUnion(reach.members.lazy.map(\.name)) }
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
    /// The column as a statement selects it: in the type its field is read in, whatever psql made it.
    package func selection(from alias: SQLIdentifier) -> SQL {
        type.column.selection("\(alias).\(identifier)", oid: oid)
    }
}
