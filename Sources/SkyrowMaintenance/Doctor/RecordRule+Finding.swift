internal import SkyrowModel

extension RecordRule {
    /// What is found in this many rows, of which one is `example`.
    package func finding(type: String, count: Int, example: String) -> DoctorFinding {
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
                commands: [
                    "UPDATE \(type) SET _owner = NULL WHERE _owner IS NOT NULL AND _owner NOT IN (SELECT id FROM _user);"
                ]
            )
        case .access:
            return DoctorFinding(
                .warning,
                "\(rows) have an access list with something in it that is no entry, such as '\(example)'.",
                meaning: "It admits nobody; perhaps it was meant to.",
                remedy: "Write entries as [{\"level\": \"read\", \"role\": \"editor\"}], or NULL for the default.",
                commands: ["SELECT _id, _access FROM \(type) WHERE _id = \(quoted(example));"]
            )
        case .longAccess:
            return DoctorFinding(
                .error,
                "\(rows) have an access list of more than \(AccessList.utmostMaximum) entries or 1 MB, such as '\(example)'.",
                meaning:
                    "Such a row cannot be changed while its list is that long, nor restored from a dump, and each query "
                    + "that meets it takes milliseconds longer.",
                remedy: "Give it a shorter list: a role that holds these users, for example.",
                commands: ["SELECT _id, jsonb_array_length(_access) FROM \(type) WHERE _id = \(quoted(example));"]
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
                meaning: "JSON has no such number; clients get a value of unknown type.",
                remedy: "Write a number, or NULL.",
                commands: [show]
            )
        }
    }

    private func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: "''"))'"
    }
}
