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
            fault: "have an _id that does not match _database",
            meaning: "A public row has a plain id, a private one ~<user id>/<id>; no request can address such a row.",
            remedy: "Correct the id; references to it have to be changed by hand."
        ),
        .temporaryID: RecordRuleText(
            severity: .warning,
            fault: "have an id that begins with '$'",
            meaning: "Such ids are placeholders for new records within one request.",
            remedy: "Change the id."
        ),
        .unknownDatabase: RecordRuleText(
            severity: .warning,
            fault: "are in the private database of a user that does not exist",
            meaning: "Only the master key can see them.",
            remedy: "Delete them, or move them into the database of an existing user.",
            command: "DELETE FROM {type} WHERE _database <> '_public' AND _database NOT IN (SELECT id FROM _users);"
        ),
        .unknownOwner: RecordRuleText(
            severity: .warning,
            fault: "are owned by a user that does not exist",
            meaning: """
                Only the master key and subjects of the access list can change them. A master key that acts as an \
                unknown user also creates such rows.
                """,
            remedy: "Set an owner, or remove it.",
            command: """
                UPDATE {type} SET _owner = NULL \
                WHERE _owner IS NOT NULL AND _owner NOT IN (SELECT id FROM _users);
                """
        ),
        .access: RecordRuleText(
            severity: .warning,
            fault: "have an access list with an invalid subject or level",
            meaning: "The entry admits no caller, perhaps by mistake.",
            remedy:
                "Write lists such as {\"role:editor\": \"read\", \"user:<id>\": \"write\"}, or NULL for the default.",
            command: "SELECT _id, _access FROM {type} WHERE _id = {example};"
        ),
        .longAccess: RecordRuleText(
            severity: .error,
            fault: "have an access list of more than \(AccessList.utmostMaximum) entries or 1 MB",
            meaning: """
                Each query that reads such a row takes milliseconds longer. A row with a list of more than 1 MB cannot be \
                changed, nor restored from a dump.
                """,
            remedy: "Shorten the list, for example with a role for these users.",
            command: "SELECT _id, (SELECT count(*) FROM jsonb_object_keys(_access)) FROM {type} WHERE _id = {example};"
        ),
        .unnotedRelation: RecordRuleText(
            severity: .warning,
            fault: "have an access list that names a relation that is not registered for the type",
            meaning: """
                Those entries admit no caller. They were written while a trigger was missing or disabled, or before version 28 of \
                the tables, or the table was renamed in psql.
                """,
            remedy: "Write one of the lists again, which registers the relation for the type.",
            command: "UPDATE {type} SET _access = _access WHERE _id = {example};"
        ),
        .goneRole: RecordRuleText(
            severity: .warning,
            fault: "have an access list that names a role that does not exist",
            meaning: "The entry admits no caller, and would admit the users of a new role with that name.",
            remedy: "Remove it from the list.",
            command: "SELECT _id, _access FROM {type} WHERE _id = {example};"
        ),
        .publicToPrivate: RecordRuleText(
            severity: .warning,
            fault: "are public and refer to a private one",
            meaning: "Users who cannot see the private record get a dangling reference, and learn that it exists.",
            remedy: "Refer to a public record, or move the referring record into the private database."
        ),
        .privateToOthers: RecordRuleText(
            severity: .warning,
            fault: "are private and refer to a private one of another user",
            meaning: "Their user cannot see the record that they refer to.",
            remedy: "Refer to a public record, or to a private record of the same user."
        ),
        .noRevision: RecordRuleText(
            severity: .error,
            fault: "have no _revision",
            meaning: "Clients that fetch changes miss those of this row, and preconditions on it fail.",
            remedy: "Set the revision.",
            command: "UPDATE {type} SET _revision = _revision() WHERE _revision IS NULL;"
        ),
        .futureRevision: RecordRuleText(
            severity: .error,
            fault: "have a _revision in the future",
            meaning: "Clients that fetch changes miss those of this row, and preconditions on it fail.",
            remedy: "Set the revision.",
            command: "UPDATE {type} SET _revision = _revision() WHERE _revision > _revision();"
        ),
        .noTime: RecordRuleText(
            severity: .error,
            fault: "have no _created_at or _updated_at",
            meaning: "They cannot be read or sorted as records.",
            remedy: "Set the timestamps.",
            command: """
                UPDATE {type} SET _created_at = coalesce(_created_at, now()), _updated_at = coalesce(_updated_at, now()) \
                WHERE _created_at IS NULL OR _updated_at IS NULL;
                """
        ),
        .futureTime: RecordRuleText(
            severity: .warning,
            fault: "were created or updated in the future",
            meaning: "They come before all new records in lists that are sorted by time.",
            remedy: "Set the current time, unless this is intended.",
            command: """
                UPDATE {type} SET _created_at = least(_created_at, now()), _updated_at = now() \
                WHERE greatest(_created_at, _updated_at) > now();
                """
        ),
        .json: RecordRuleText(
            severity: .warning,
            fault: "have a json field that is not an array or object, or contains an invalid typed value",
            meaning: "Clients read a value of another type than the field's, or fail to read it.",
            remedy: """
                Write arrays and objects, and in them typed values such as {"$type": "date", "$date": "2020-01-31T12:00:00Z"}, \
                as in the protocol manual.
                """
        ),
        .notANumber: RecordRuleText(
            severity: .warning,
            fault: "have a number that is NaN or infinity",
            meaning: "JSON has no such number; clients get a value of unknown type.",
            remedy: "Write a number, or NULL."
        ),
    ]
}
