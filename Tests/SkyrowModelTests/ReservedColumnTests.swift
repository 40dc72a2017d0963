import SkyrowModel
import Testing

@Suite struct ReservedColumnTests {
    @Test func keyPathsAndMembersHaveTheirNames() {
        let rows: [(name: String, keyPath: ReservedColumn?, member: ReservedColumn?)] = [
            ("_id", .id, .id), ("_database", .database, .database), ("_database_id", .database, nil),
            ("_owner", .owner, nil), ("_owner_id", .owner, nil), ("_ownerID", .owner, .owner),
            ("_access", .access, .access), ("_created_at", .createdAt, .createdAt),
            ("_created_by", .createdBy, .createdBy), ("_updated_at", .updatedAt, .updatedAt),
            ("_updated_by", .updatedBy, .updatedBy), ("_revision", .revision, .revision), ("_ownerId", nil, nil),
            ("_parent", nil, nil), ("_verified", nil, nil), ("_transient", nil, nil), ("id", nil, nil), ("", nil, nil),
        ]
        for row in rows {
            #expect(ReservedColumn(keyPath: row.name) == row.keyPath, "\(row.name)")
            #expect(ReservedColumn(member: row.name) == row.member, "\(row.name)")
        }
    }

    @Test func everyColumnHasItsPlaceInTheWireFormAndIsReadByBothNames() {
        #expect(Set(ReservedColumn.inWireOrder) == Set(ReservedColumn.allCases))
        #expect(ReservedColumn.inWireOrder.count == ReservedColumn.allCases.count)
        for column in ReservedColumn.allCases {
            #expect(ReservedColumn(keyPath: column.rawValue) == column)
            #expect(ReservedColumn(member: column.member) == column)
        }
    }
}
