package import SkyrowModel
package import SkyrowPostgres

extension ReservedColumn {
    package var identifier: SQLIdentifier { SQLIdentifier(known: rawValue) }

    /// The type of the column in PostgreSQL; a table that has the names but not the types is no record table.
    package var oid: PostgresOID { RowPlan.Kind(self).oid }
}

extension RowPlan.Kind {
    /// How a record's member of the column is emitted.
    package init(_ column: ReservedColumn) {
        self =
            switch column {
            case .id: .id
            case .database, .owner, .createdBy, .updatedBy: .text
            case .access: .access
            case .createdAt, .updatedAt: .plainDatetime
            case .revision: .integer
            }
    }
}
