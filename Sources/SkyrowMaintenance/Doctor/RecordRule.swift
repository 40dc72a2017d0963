internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// A rule that the service enforces on the rows of a record table, and psql may break.
enum RecordRule: String, CaseIterable {
    case id
    case temporaryID
    case unknownDatabase
    case unknownOwner
    case access
    case longAccess
    case unnotedRelation
    case goneRole
    case publicToPrivate
    case privateToOthers
    case noRevision
    case futureRevision
    case noTime
    case futureTime
    case json
    case notANumber

    /// Returns the condition for the rows of a table, aliased `record`, that break the rule; nil if the rule does not
    /// apply to the table.
    func violation(in table: RecordTable, schema: SQLIdentifier) -> SQL? {
        switch self {
        case .id:
            return
                "NOT (\(schema)._id_fits(record._id, record._database) AND \(schema)._database_fits(record._database))"
        case .temporaryID:
            return "starts_with(split_part(CASE WHEN record._database = '_public' THEN record._id "
                + "ELSE substr(record._id, strpos(record._id, '/') + 1) END, '/', 1), '$')"
        case .unknownDatabase:
            return
                "record._database <> '_public' AND record._database NOT IN (SELECT account.id FROM \(schema.internal)._user AS account)"
        case .unknownOwner:
            // `NOT IN` of an empty list is true for NULL, so NULL is excluded first.
            return
                "record._owner IS NOT NULL AND record._owner NOT IN (SELECT account.id FROM \(schema.internal)._user AS account)"
        case .access:
            return """
                NOT coalesce(jsonb_typeof(record._access) = 'object', true) OR EXISTS (
                    SELECT FROM jsonb_each(
                        CASE jsonb_typeof(record._access) WHEN 'object' THEN record._access ELSE '{}' END
                    ) AS entry (subject, level)
                    WHERE NOT (
                        coalesce(entry.level #>> '{}' IN (\(RecordRule.levels)), false) AND (
                            entry.subject IN (\(RecordRule.nameless))
                            OR entry.subject ~ '^(user|role|group|key):.' OR entry.subject IN (\(RecordRule.relations))
                        )
                    )
                )
                """
        case .longAccess:
            return """
                CASE jsonb_typeof(record._access) WHEN 'object' THEN (
                    pg_column_size(record._access) > 1048576
                    OR (SELECT count(*) FROM jsonb_object_keys(record._access)) > \(literal: "\(AccessList.utmostMaximum)")
                ) END
                """
        case .unnotedRelation:
            return """
                record._access ?| ARRAY[\(RecordRule.relations)] AND NOT EXISTS (
                    SELECT FROM \(schema.internal)._class_option AS option
                    WHERE option.type = \(literal: table.name.rawValue) AND option.relations @> ARRAY(
                        SELECT named.name FROM unnest(ARRAY['friend', 'follower', 'followed']) AS named (name)
                        WHERE record._access ? ('relation:' || named.name)
                    )
                )
                """
        case .goneRole:
            return """
                EXISTS (
                    SELECT FROM jsonb_object_keys(
                        CASE jsonb_typeof(record._access) WHEN 'object' THEN record._access ELSE '{}' END
                    ) AS entry (subject)
                    WHERE starts_with(entry.subject, 'role:')
                        AND substr(entry.subject, 6) NOT IN (SELECT role.name FROM \(schema.internal)._role AS role)
                )
                """
        case .publicToPrivate:
            return anyReference(of: table) { "record._database = '_public' AND starts_with(\($0), '~')" }
        case .privateToOthers:
            return anyReference(of: table) {
                "record._database <> '_public' AND starts_with(\($0), '~') "
                    + "AND NOT starts_with(\($0), '~' || record._database || '/')"
            }
        case .noRevision:
            return "record._revision IS NULL"
        case .futureRevision:
            // The revision that the next transaction would write, computed without assigning a transaction id.
            return """
                record._revision >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                    + (SELECT meta.revision_offset FROM \(schema.internal)._meta AS meta)
                """
        case .noTime:
            return "record._created_at IS NULL OR record._updated_at IS NULL"
        case .futureTime:
            return "greatest(record._created_at, record._updated_at) > clock_timestamp() + interval '1 minute'"
        case .json:
            return any(table.columns.filter { $0.type == .json }) { RecordRule.isMalformed("\($0)") }
        case .notANumber:
            return any(table.columns.filter { $0.type == .number }) {
                "\($0) IN ('NaN', 'Infinity', '-Infinity')"
            }
        }
    }

    private static var levels: SQL {
        AccessLevel.allCases.map { "\(literal: $0.rawValue)" as SQL }.joined(separator: ", ")
    }

    private static var nameless: SQL {
        let subjects: [Subject] = [.everyone, .users, .registered, .verified, .owner]
        return subjects.map { "\(literal: $0.key)" as SQL }.joined(separator: ", ")
    }

    private static var relations: SQL {
        Subject.Relation.allCases.map { "\(literal: Subject.relation($0).key)" as SQL }.joined(separator: ", ")
    }

    private func anyReference(of table: RecordTable, _ condition: (SQL) -> SQL) -> SQL? {
        let references = table.columns.filter { if case .reference = $0.type { true } else { false } }
        return any(references, condition)
    }

    private func any(_ columns: [RecordColumn], _ condition: (SQL) -> SQL) -> SQL? {
        guard !columns.isEmpty else { return nil }
        return columns.map { "(\(condition("record.\($0.identifier)")))" as SQL }.joined(separator: " OR ")
    }

    /// Returns whether a value of `jsonb` is invalid for a json field: neither array nor object, an object that clients
    /// take for another kind of value, or one that contains a typed value they cannot read.
    private static func isMalformed(_ column: SQL) -> SQL {
        """
        jsonb_typeof(\(column)) NOT IN ('array', 'object') OR (jsonb_typeof(\(column)) = 'object' AND \(column) ? '$type')
            OR \(column) @? '$.** ? (
                (@."$type" == "date" && !(@."$date" like_regex "^[+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:"))
                || (@."$type" == "ref" && !(@."$id" like_regex "^[A-Za-z][A-Za-z0-9_]*/.")
                    && !(exists(@."$recordType") && exists(@."$recordID")))
                || (@."$type" == "bytes" && !(@."$base64" like_regex "^[A-Za-z0-9+/]*=*$")))'
        """
    }
}
