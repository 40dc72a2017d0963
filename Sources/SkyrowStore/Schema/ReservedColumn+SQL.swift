package import SkyrowModel
package import SkyrowPostgres

extension ReservedColumn {
    package var identifier: SQLIdentifier { SQLIdentifier(known: rawValue) }

    /// The type of the column in PostgreSQL. A table with these names but other types is not a record table.
    package var oid: PostgresOID { RowPlan.Kind(self).oid }
}

extension RowPlan.Kind {
    /// How the column is emitted as a member of a record.
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
