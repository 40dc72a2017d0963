package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// An object of a record table other than a column: how it is recognised, and the name by which `_create_type_parts` of
/// `sql/schema.sql` makes it.
package enum RecordTablePart: Hashable, Sendable, CaseIterable {
    /// Index of the newest records of a database.
    case databaseIndex
    /// Index of the newest records of an owner.
    case ownerIndex
    /// Trigger that stamps manual updates.
    case stamp
    /// Triggers that write tombstones for deletions, truncations and changed ids.
    case tombstoneDeleted
    case tombstoneTruncated
    case tombstoneRenamed
    /// Trigger that writes tombstones for records that lost readers.
    case conceal
    /// Trigger that notes that access lists name relations.
    case relationEntries
    /// Constraints on the form of id, database and access list.
    case idFits
    case databaseFits
    case accessFits

    /// The name in `_create_type_parts`, in reports, and in drift keys.
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

    /// The consequence of a missing part.
    package var purpose: String {
        switch self {
        case .databaseIndex: "queries sort the whole table"
        case .ownerIndex: "queries for one's own records read the whole table"
        case .stamp: "rows updated in psql keep their old revision, and clients that fetch changes miss them"
        case .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed: "clients that fetch changes miss deletions"
        case .conceal: "clients that fetch changes keep records that they may no longer read"
        case .relationEntries: "access lists that psql writes do not admit friends and followers"
        case .idFits: "rows that no client can address may be written"
        case .databaseFits: "rows may be written in databases of no user"
        case .accessFits: "access lists may be written that admit no caller"
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

    /// Returns whether the index has this part's columns and condition.
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

    /// Returns whether the index is one that every record table has.
    static func isStandard(_ index: InventoryIndex) -> Bool {
        index.isPrimary || allCases.contains { $0.isMade(by: index) }
    }

    /// Returns whether the index is that of a reference or of a sequence, whose index is unique.
    static func isOfReferenceOrSequence(_ index: InventoryIndex) -> Bool {
        guard index.columns.count == 1, let column = index.columns[0], let condition = index.condition else {
            return false
        }
        return condition == "(\(column) IS NOT NULL)" || condition == "(\"\(column)\" IS NOT NULL)"
    }

    /// Returns the statement that makes the part, replacing a broken one.
    ///
    /// - Parameter validates: Whether a constraint is validated against existing rows.
    package func repair(of relation: String, in schema: SQLIdentifier, validates: Bool = true) -> SQL {
        let validity: SQL = validates ? "" : ", false"
        return "SELECT \(schema)._create_type_parts(\(literal: relation), \(literal: name)\(validity))"
    }
}

extension ReservedColumn {
    /// The default as PostgreSQL prints it with the schema first in the search path; nil for no default.
    package var defaultValue: String? {
        switch self {
        case .id: "(gen_random_uuid())::text"
        case .database: "'_public'::text"
        case .createdAt, .updatedAt: "now()"
        case .revision: "_revision()"
        case .owner, .access, .createdBy, .updatedBy: nil
        }
    }

    /// Returns the statement that sets the default.
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
