internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

/// What the rows of a record table keep to when the service wrote them, and may not when psql did.
enum RecordRule: String, CaseIterable {
    case id
    case temporaryID
    case unknownDatabase
    case unknownOwner
    case access
    case longAccess
    case publicToPrivate
    case privateToOthers
    case noRevision
    case futureRevision
    case noTime
    case futureTime
    case json
    case notANumber

    /// The condition of the rows of a table, `record`, that break the rule; nil where it says nothing of the table.
    func violation(in table: RecordTable, schema: SQLIdentifier) -> SQL? {
        switch self {
        case .id:
            return "NOT \(schema)._reserved_columns_fit(record._id, record._database, NULL)"
        case .temporaryID:
            return "starts_with(split_part(CASE WHEN record._database = '_public' THEN record._id "
                + "ELSE substr(record._id, strpos(record._id, '/') + 1) END, '/', 1), '$')"
        case .unknownDatabase:
            return
                "record._database <> '_public' AND record._database NOT IN (SELECT account.id FROM \(schema)._user AS account)"
        case .unknownOwner:
            // NULL is not in an empty list either.
            return
                "record._owner IS NOT NULL AND record._owner NOT IN (SELECT account.id FROM \(schema)._user AS account)"
        case .access:
            return """
                jsonb_typeof(record._access) <> 'array' OR EXISTS (
                    SELECT FROM jsonb_array_elements(
                        CASE jsonb_typeof(record._access) WHEN 'array' THEN record._access ELSE '[]' END
                    ) AS entry (value)
                    WHERE NOT coalesce(
                        entry.value ->> 'level' IN (\(RecordRule.levels)) AND (
                            entry.value -> 'public' = 'true' OR entry.value -> 'owner' = 'true'
                            OR jsonb_typeof(entry.value -> 'user_id') = 'string'
                            OR jsonb_typeof(entry.value -> 'role') = 'string'
                        ), false
                    )
                )
                """
        case .longAccess:
            // What the tables refuse by now, and took before they had a bound.
            return """
                jsonb_typeof(record._access) = 'array'
                    AND NOT \(schema)._reserved_columns_fit(record._id, record._database, record._access)
                    AND \(schema)._reserved_columns_fit(record._id, record._database, NULL)
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
            // What the next transaction would write, without taking a transaction's number.
            return """
                record._revision >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                    + (SELECT meta.revision_offset FROM \(schema)._meta AS meta)
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

    private func anyReference(of table: RecordTable, _ condition: (SQL) -> SQL) -> SQL? {
        let references = table.columns.filter { if case .reference = $0.type { true } else { false } }
        return any(references, condition)
    }

    private func any(_ columns: [RecordColumn], _ condition: (SQL) -> SQL) -> SQL? {
        guard !columns.isEmpty else { return nil }
        return columns.map { "(\(condition("record.\($0.identifier)")))" as SQL }.joined(separator: " OR ")
    }

    /// Whether a value of `jsonb` is none of a json field: no array or object, one that clients take for another kind of
    /// value, or with a typed value inside that they cannot read.
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
