package import SkyrowPostgres
import SkyrowStore

/// What `_create_type` of `sql/schema.sql` gives every record table besides its columns, to be recognised and, where it
/// is missing, made again. A test holds the two together.
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
    /// Keeps id, database and access list in their forms.
    case reservedColumnsFit

    /// The name for people and in keys of drift.
    package var name: String {
        switch self {
        case .databaseIndex: "(_database, _created_at)"
        case .ownerIndex: "(_owner, _created_at)"
        case .stamp: "_stamp"
        case .tombstoneDeleted: "_tombstone_deleted"
        case .tombstoneTruncated: "_tombstone_truncated"
        case .tombstoneRenamed: "_tombstone_renamed"
        case .reservedColumnsFit: "_reserved_columns_fit"
        }
    }

    /// What goes wrong without it.
    package var purpose: String {
        switch self {
        case .databaseIndex: "queries sort the whole table"
        case .ownerIndex: "queries for one's own records read the whole table"
        case .stamp: "rows updated in psql keep their old revision, and clients that catch up miss them"
        case .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed: "clients that catch up miss deletions"
        case .reservedColumnsFit: "rows that no client can name may be written"
        }
    }

    func isPresent(in table: InventoryTable) -> Bool {
        switch self {
        case .databaseIndex:
            table.indexes.contains { $0.isValid && $0.columns == ["_database", "_created_at"] && $0.condition == nil }
        case .ownerIndex:
            table.indexes.contains {
                $0.isValid && $0.columns == ["_owner", "_created_at"] && $0.condition == "(_owner IS NOT NULL)"
            }
        case .stamp, .tombstoneDeleted, .tombstoneTruncated, .tombstoneRenamed:
            table.triggers.contains { $0.name == name && $0.function == name && $0.isEnabled }
        case .reservedColumnsFit:
            table.checks.contains { $0.name == name && $0.isValidated }
        }
    }

    /// Whether an index is one that every record table has.
    static func isStandard(_ index: InventoryIndex) -> Bool {
        index.isPrimary || (index.columns == ["_database", "_created_at"] && index.condition == nil)
            || (index.columns == ["_owner", "_created_at"] && index.condition == "(_owner IS NOT NULL)")
    }

    /// Whether an index is the one that a reference gets, or a sequence, whose index is unique.
    static func isOfReferenceOrSequence(_ index: InventoryIndex) -> Bool {
        guard index.columns.count == 1, let column = index.columns[0], let condition = index.condition else {
            return false
        }
        return condition == "(\(column) IS NOT NULL)" || condition == "(\"\(column)\" IS NOT NULL)"
    }

    /// The statements that make it, also where a broken one is in its place.
    package func statements(on table: SQL, in schema: SQLIdentifier) -> [SQL] {
        switch self {
        case .databaseIndex:
            ["CREATE INDEX ON \(table) (_database, _created_at)"]
        case .ownerIndex:
            ["CREATE INDEX ON \(table) (_owner, _created_at) WHERE _owner IS NOT NULL"]
        case .stamp:
            [
                "DROP TRIGGER IF EXISTS _stamp ON \(table)",
                """
                CREATE TRIGGER _stamp BEFORE UPDATE ON \(table) FOR EACH ROW \
                WHEN (NEW._revision IS NOT DISTINCT FROM OLD._revision) EXECUTE FUNCTION \(schema)._stamp()
                """,
            ]
        case .tombstoneDeleted:
            [
                "DROP TRIGGER IF EXISTS _tombstone_deleted ON \(table)",
                """
                CREATE TRIGGER _tombstone_deleted AFTER DELETE ON \(table) REFERENCING OLD TABLE AS deleted_row \
                FOR EACH STATEMENT EXECUTE FUNCTION \(schema)._tombstone_deleted()
                """,
            ]
        case .tombstoneTruncated:
            [
                "DROP TRIGGER IF EXISTS _tombstone_truncated ON \(table)",
                """
                CREATE TRIGGER _tombstone_truncated BEFORE TRUNCATE ON \(table) \
                FOR EACH STATEMENT EXECUTE FUNCTION \(schema)._tombstone_truncated()
                """,
            ]
        case .tombstoneRenamed:
            [
                "DROP TRIGGER IF EXISTS _tombstone_renamed ON \(table)",
                """
                CREATE TRIGGER _tombstone_renamed AFTER UPDATE OF _id ON \(table) FOR EACH ROW \
                WHEN (NEW._id <> OLD._id) EXECUTE FUNCTION \(schema)._tombstone_renamed()
                """,
            ]
        case .reservedColumnsFit:
            [
                "ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS _reserved_columns_fit",
                """
                ALTER TABLE \(table) ADD CONSTRAINT _reserved_columns_fit \
                CHECK (\(schema)._reserved_columns_fit(_id, _database, _access))
                """,
            ]
        }
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

    /// Whether NULL is refused.
    package var isNotNull: Bool { defaultValue != nil }

    /// The statement that gives it its default.
    package func setDefault(on table: SQL, in schema: SQLIdentifier) -> SQL {
        let alter: SQL = "ALTER TABLE \(table) ALTER COLUMN \(identifier)"
        return switch self {
        case .id: "\(alter) SET DEFAULT gen_random_uuid()::text"
        case .database: "\(alter) SET DEFAULT '_public'"
        case .createdAt, .updatedAt: "\(alter) SET DEFAULT now()"
        case .revision: "\(alter) SET DEFAULT \(schema)._revision()"
        case .owner, .access, .createdBy, .updatedBy: "\(alter) DROP DEFAULT"
        }
    }
}
