internal import SkyrowModel

/// The text of a finding about rows that break a rule.
struct RecordRuleText {
    let severity: DoctorFinding.Severity
    /// The continuation of "3 rows of note ".
    let fault: String
    let meaning: String
    let remedy: String
    /// SQL in which `{type}` stands for the table and `{example}` for a row's id, quoted.
    var command = "SELECT * FROM {type} WHERE _id = {example};"
}

extension RecordRule {
    /// Returns the finding for `count` rows, of which `example` is one.
    func finding(type: String, count: Int, example: String) -> DoctorFinding? {
        guard let text = RecordRule.texts[self] else { return nil }
        let quoted = "'\(example.replacing("'", with: "''"))'"
        return DoctorFinding(
            text.severity,
            "\(count) row\(count == 1 ? "" : "s") of \(type) \(text.fault), such as '\(example)'.",
            meaning: text.meaning,
            remedy: text.remedy,
            commands: [text.command.replacing("{type}", with: type).replacing("{example}", with: quoted)]
        )
    }

    private static let texts: [RecordRule: RecordRuleText] = [
        .id: RecordRuleText(
            severity: .error,
            fault: "have an _id that does not go with _database",
            meaning: "A public row has a plain id, a private one ~<user id>/<id>; no request can name such a row.",
            remedy: "Give it the id it should have; what refers to it follows only by hand."
        ),
        .temporaryID: RecordRuleText(
            severity: .warning,
            fault: "have an id that begins with '$'",
            meaning: "Such ids live for one request; in a save it would stand for a new record.",
            remedy: "Give it another id."
        ),
        .unknownDatabase: RecordRuleText(
            severity: .warning,
            fault: "are in the private database of a user that does not exist",
            meaning: "No user sees them; only the master key does.",
            remedy: "Delete them, or put them into the database of a user that there is.",
            command: "DELETE FROM {type} WHERE _database <> '_public' AND _database NOT IN (SELECT id FROM _users);"
        ),
        .unknownOwner: RecordRuleText(
            severity: .warning,
            fault: "are owned by a user that does not exist",
            meaning: """
                Only the master key, or whom the access list admits, can change them. A master key that acts as an \
                unknown user makes such rows too.
                """,
            remedy: "Give them an owner, or none.",
            command: """
                UPDATE {type} SET _owner = NULL \
                WHERE _owner IS NOT NULL AND _owner NOT IN (SELECT id FROM _users);
                """
        ),
        .access: RecordRuleText(
            severity: .warning,
            fault: "have an access list with something in it that names no one, or at no level",
            meaning: "It admits no one; perhaps it was meant to.",
            remedy: "Write lists as {\"role:editor\": \"read\", \"user:<id>\": \"write\"}, or NULL for the default.",
            command: "SELECT _id, _access FROM {type} WHERE _id = {example};"
        ),
        .longAccess: RecordRuleText(
            severity: .error,
            fault: "have an access list of more than \(AccessList.utmostMaximum) entries or 1 MB",
            meaning: """
                Each query that meets such a row takes milliseconds longer. One of more than 1 MB cannot be changed while \
                its list is that long, nor restored from a dump.
                """,
            remedy: "Give it a shorter list: a role that holds these users, for example.",
            command: "SELECT _id, (SELECT count(*) FROM jsonb_object_keys(_access)) FROM {type} WHERE _id = {example};"
        ),
        .unnotedRelation: RecordRuleText(
            severity: .warning,
            fault: "have an access list that names a relation, which is not noted of the type",
            meaning: """
                Those entries admit no one. They were written while a trigger was missing or off, or before version 28 of \
                the tables, or the table was renamed in psql.
                """,
            remedy: "Write one of the lists again, which notes it for all.",
            command: "UPDATE {type} SET _access = _access WHERE _id = {example};"
        ),
        .goneRole: RecordRuleText(
            severity: .warning,
            fault: "have an access list that names a role that there is not",
            meaning: "The entry admits no one, and would admit the users of a new role of the name.",
            remedy: "Take it out of the list.",
            command: "SELECT _id, _access FROM {type} WHERE _id = {example};"
        ),
        .publicToPrivate: RecordRuleText(
            severity: .warning,
            fault: "are public and refer to a private one",
            meaning: "Those who may not see the private one find a reference to nothing, and learn that it is there.",
            remedy: "Refer to a public record, or move the referring one into the private database."
        ),
        .privateToOthers: RecordRuleText(
            severity: .warning,
            fault: "are private and refer to a private one of another user",
            meaning: "Their user cannot see what they refer to.",
            remedy: "Refer to a public record, or to one of the same user."
        ),
        .noRevision: RecordRuleText(
            severity: .error,
            fault: "have no _revision",
            meaning: "Clients that catch up miss changes of it, and preconditions on it fail.",
            remedy: "Stamp them.",
            command: "UPDATE {type} SET _revision = _revision() WHERE _revision IS NULL;"
        ),
        .futureRevision: RecordRuleText(
            severity: .error,
            fault: "have a _revision of the future",
            meaning: "Clients that catch up miss changes of it, and preconditions on it fail.",
            remedy: "Stamp them.",
            command: "UPDATE {type} SET _revision = _revision() WHERE _revision > _revision();"
        ),
        .noTime: RecordRuleText(
            severity: .error,
            fault: "have no _created_at or _updated_at",
            meaning: "They cannot be read or sorted as records are.",
            remedy: "Give them a time.",
            command: """
                UPDATE {type} SET _created_at = coalesce(_created_at, now()), _updated_at = coalesce(_updated_at, now()) \
                WHERE _created_at IS NULL OR _updated_at IS NULL;
                """
        ),
        .futureTime: RecordRuleText(
            severity: .warning,
            fault: "were created or updated in the future",
            meaning: "They stand before everything new in lists that are sorted by time.",
            remedy: "Give them the time of now, unless that was meant.",
            command: """
                UPDATE {type} SET _created_at = least(_created_at, now()), _updated_at = now() \
                WHERE greatest(_created_at, _updated_at) > now();
                """
        ),
        .json: RecordRuleText(
            severity: .warning,
            fault: "have a json field that holds no array or object, or a typed value that is none",
            meaning: "Clients read another kind of value than the field's, or fail to read it.",
            remedy: """
                Write arrays and objects; inside them {"$type": "date", "$date": "2020-01-31T12:00:00Z"} and \
                its like as the manual of the protocol has them.
                """
        ),
        .notANumber: RecordRuleText(
            severity: .warning,
            fault: "have a number that is none (NaN or infinity)",
            meaning: "JSON has no such number; clients get a value of unknown type.",
            remedy: "Write a number, or NULL."
        ),
    ]
}
