package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// What a record table has besides its columns: how it is recognised, and by which name `_create_type_parts` of
/// `sql/schema.sql` makes it.
package enum RecordTablePart: Hashable, Sendable, CaseIterable {
    /// The newest of a database.
    case databaseIndex
    /// The newest of an owner.
    case ownerIndex
    /// Stamps what is updated by hand.
    case stamp
    /// Tombstones of deletions, truncations and changed ids.
    case tombstoneDeleted
    case tombstoneTruncated
    case tombstoneRenamed
    /// Tombstones of records that some no longer see.
    case conceal
    /// Says that access lists name relations.
    case relationEntries
    /// Keep id, database and access list in their forms.
    case idFits
    case databaseFits
    case accessFits

    /// The name in `_create_type_parts`, for people, and in keys of drift.
    package var name: String {
        switch self {
        case .databaseIndex: "(_database, _created_at)"
        case .ownerIndex: "(_owner, _created_at)"
        case .stamp: "_stamp"
        case .tombstoneDeleted: "_tombstone_deleted"
        case .tombstoneTruncated: "_tombstone_truncated"
        case .tombstoneRenamed: "_tombstone_renamed"
        case .conceal: "_conceal"
        case .relationEntries: "_note_relation_entry"
        case .idFits: "_id_fits"
        case .databaseFits: "_database_fits"
        case .accessFits: "_access_fits"
        }
    }

    /// What goes wrong without it.
    package var purpose: String {
        switch self {
        case .databaseIndex: "queries sort the whole table"
        case .ownerIndex: "queries for one's own records read the whole table"
        case .stamp: "rows updated in psql keep their old revision, and clients that catch up miss them"
        case .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed: "clients that catch up miss deletions"
        case .conceal: "clients that catch up keep records that they may no longer read"
        case .relationEntries: "access lists that psql writes admit no friends and followers"
        case .idFits: "rows that no client can name may be written"
        case .databaseFits: "rows may be written in databases that no user has"
        case .accessFits: "access lists may be written that admit no one"
        }
    }

    func isPresent(in table: InventoryTable) -> Bool {
        switch self {
        case .databaseIndex, .ownerIndex:
            table.indexes.contains { $0.isValid && isMade(by: $0) }
        case .stamp, .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed, .conceal, .relationEntries:
            table.triggers.contains { $0.name == name && $0.function == name && $0.isEnabled }
        case .idFits, .databaseFits, .accessFits:
            table.checks.contains { $0.name == name && $0.isValidated }
        }
    }

    /// Whether the part is an index with these columns and this condition.
    private func isMade(by index: InventoryIndex) -> Bool {
        switch self {
        case .databaseIndex:
            index.columns == ["_database", "_created_at"] && index.condition == nil
        case .ownerIndex:
            index.columns == ["_owner", "_created_at"] && index.condition == "(_owner IS NOT NULL)"
        case .stamp, .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed, .conceal, .relationEntries,
            .idFits, .databaseFits, .accessFits:
            false
        }
    }

    /// Whether an index is one that every record table has.
    static func isStandard(_ index: InventoryIndex) -> Bool {
        index.isPrimary || allCases.contains { $0.isMade(by: index) }
    }

    /// Whether an index is the one that a reference gets, or a sequence, whose index is unique.
    static func isOfReferenceOrSequence(_ index: InventoryIndex) -> Bool {
        guard index.columns.count == 1, let column = index.columns[0], let condition = index.condition else {
            return false
        }
        return condition == "(\(column) IS NOT NULL)" || condition == "(\"\(column)\" IS NOT NULL)"
    }

    /// The statement that makes it anew, also where a broken one is in its place.
    ///
    /// - Parameter validates: whether a constraint is made on the rows that there are, too.
    package func repair(of relation: String, in schema: SQLIdentifier, validates: Bool = true) -> SQL {
        let validity: SQL = validates ? "" : ", false"
        return "SELECT \(schema)._create_type_parts(\(literal: relation), \(literal: name)\(validity))"
    }
}

extension ReservedColumn {
    /// The default as PostgreSQL prints it with the schema first in the search path; nil for none.
    package var defaultValue: String? {
        switch self {
        case .id: "(gen_random_uuid())::text"
        case .database: "'_public'::text"
        case .createdAt, .updatedAt: "now()"
        case .revision: "_revision()"
        case .owner, .access, .createdBy, .updatedBy: nil
        }
    }

    /// The statement that gives it its default.
    package func setDefault(on table: SQL, in schema: SQLIdentifier) -> SQL {
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN \(identifier)"
        return switch self {
        case .revision: "\(alter) SET DEFAULT \(schema)._revision()"
        case .id, .database, .owner, .access, .createdAt, .createdBy, .updatedAt, .updatedBy:
            if let defaultValue {
                "\(alter) SET DEFAULT \(SQL(trustedText: defaultValue))"
            } else {
                "\(alter) DROP DEFAULT"
            }
        }
    }
}
