internal import SkyrowModel
internal import SkyrowPostgres

/// What the rows of a record table keep to when the service wrote them, and may not when psql did.
enum RecordRule: String, CaseIterable {
    case id
    case temporaryID
    case unknownDatabase
    case unknownOwner
    case access
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
            return "NOT \(schema)._reserved_columns_fit(record._id, record._database, record._access)"
        case .temporaryID:
            return "starts_with(split_part(CASE WHEN record._database = '_public' THEN record._id "
                + "ELSE substr(record._id, strpos(record._id, '/') + 1) END, '/', 1), '$')"
        case .unknownDatabase:
            return "record._database <> '_public' AND record._database NOT IN (SELECT id FROM \(schema)._user)"
        case .unknownOwner:
            return "record._owner NOT IN (SELECT id FROM \(schema)._user)"
        case .access:
            return """
                jsonb_typeof(record._access) <> 'array' OR EXISTS (
                    SELECT FROM jsonb_array_elements(
                        CASE jsonb_typeof(record._access) WHEN 'array' THEN record._access ELSE '[]' END
                    ) AS entry (value)
                    WHERE NOT coalesce(
                        value ->> 'level' IN (\(RecordRule.levels)) AND (
                            value -> 'public' = 'true' OR value -> 'owner' = 'true'
                            OR jsonb_typeof(value -> 'user_id') = 'string' OR jsonb_typeof(value -> 'role') = 'string'
                        ), false
                    )
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
            // What the next transaction would write, without taking a transaction's number.
            return """
                record._revision >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                    + (SELECT revision_offset FROM \(schema)._meta)
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

extension RecordRule {
    /// What is found in so many rows, of which one is `example`.
    func finding(type: String, count: Int, example: String) -> DoctorFinding {
        let rows = "\(count) row\(count == 1 ? "" : "s") of \(type)"
        let show = "SELECT * FROM \(type) WHERE _id = \(quoted(example));"
        switch self {
        case .id:
            return DoctorFinding(
                .error,
                "\(rows) have an _id that does not go with _database, such as '\(example)'.",
                meaning: "A public row has a plain id, a private one ~<user id>/<id>; nobody can name such a row.",
                remedy: "Give it the id it should have; what refers to it follows only by hand.",
                commands: [show]
            )
        case .temporaryID:
            return DoctorFinding(
                .warning,
                "\(rows) have an id that begins with '$', such as '\(example)'.",
                meaning: "Such ids live for one request; in a save it would stand for a new record.",
                remedy: "Give it another id.",
                commands: [show]
            )
        case .unknownDatabase:
            return DoctorFinding(
                .warning,
                "\(rows) are in the private database of nobody, such as '\(example)'.",
                meaning: "No user sees them; only the master key does.",
                remedy: "Delete them, or put them into the database of a user that there is.",
                commands: [
                    "DELETE FROM \(type) WHERE _database <> '_public' AND _database NOT IN (SELECT id FROM _user);"
                ]
            )
        case .unknownOwner:
            return DoctorFinding(
                .warning,
                "\(rows) are owned by nobody that there is, such as '\(example)'.",
                meaning:
                    "Only the master key, or whom the access list admits, can change them. A master key that acts as an "
                    + "unknown user makes such rows too.",
                remedy: "Give them an owner, or none.",
                commands: ["UPDATE \(type) SET _owner = NULL WHERE _owner NOT IN (SELECT id FROM _user);"]
            )
        case .access:
            return DoctorFinding(
                .warning,
                "\(rows) have an access list with something in it that is no entry, such as '\(example)'.",
                meaning: "It admits nobody; perhaps it was meant to.",
                remedy: "Write entries as [{\"level\": \"read\", \"role\": \"editor\"}], or NULL for the default.",
                commands: ["SELECT _id, _access FROM \(type) WHERE _id = \(quoted(example));"]
            )
        case .publicToPrivate:
            return DoctorFinding(
                .warning,
                "\(rows) are public and refer to a private one, such as '\(example)'.",
                meaning:
                    "Those who may not see the private one find a reference to nothing, and learn that it is there.",
                remedy: "Refer to a public record, or move the referring one into the private database.",
                commands: [show]
            )
        case .privateToOthers:
            return DoctorFinding(
                .warning,
                "\(rows) are private and refer to a private one of another user, such as '\(example)'.",
                meaning: "Their user cannot see what they refer to.",
                remedy: "Refer to a public record, or to one of the same user.",
                commands: [show]
            )
        case .noRevision, .futureRevision:
            return DoctorFinding(
                .error,
                self == .noRevision
                    ? "\(rows) have no _revision, such as '\(example)'."
                    : "\(rows) have a _revision of the future, such as '\(example)'.",
                meaning: "Clients that catch up miss changes of it, and preconditions on it fail.",
                remedy: "Stamp them.",
                commands: [
                    self == .noRevision
                        ? "UPDATE \(type) SET _revision = _revision() WHERE _revision IS NULL;"
                        : "UPDATE \(type) SET _revision = _revision() WHERE _revision > _revision();"
                ]
            )
        case .noTime:
            return DoctorFinding(
                .error,
                "\(rows) have no _created_at or _updated_at, such as '\(example)'.",
                meaning: "They cannot be read or sorted as records are.",
                remedy: "Give them a time.",
                commands: [
                    "UPDATE \(type) SET _created_at = coalesce(_created_at, now()), _updated_at = coalesce(_updated_at, now()) "
                        + "WHERE _created_at IS NULL OR _updated_at IS NULL;"
                ]
            )
        case .futureTime:
            return DoctorFinding(
                .warning,
                "\(rows) were created or updated in the future, such as '\(example)'.",
                meaning: "They stand before everything new in lists that are sorted by time.",
                remedy: "Give them the time of now, unless that was meant.",
                commands: [
                    "UPDATE \(type) SET _created_at = least(_created_at, now()), _updated_at = now() "
                        + "WHERE greatest(_created_at, _updated_at) > now();"
                ]
            )
        case .json:
            return DoctorFinding(
                .warning,
                "\(rows) have a json field that holds no array or object, or a typed value that is none, such as '\(example)'.",
                meaning: "Clients read another kind of value than the field's, or fail to read it.",
                remedy:
                    "Write arrays and objects; inside them {\"$type\": \"date\", \"$date\": \"2020-01-31T12:00:00Z\"} and "
                    + "its like as the manual of the protocol has them.",
                commands: [show]
            )
        case .notANumber:
            return DoctorFinding(
                .warning,
                "\(rows) have a number that is none (NaN or infinity), such as '\(example)'.",
                meaning: "JSON has no such number; clients are told that there is something unknown.",
                remedy: "Write a number, or NULL.",
                commands: [show]
            )
        }
    }

    private func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "''"))'"
    }
}
