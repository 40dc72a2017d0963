import SkyrowModel
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What each check makes of the rows it is given, without a server: the fault and its absence side by side.
@Suite struct DoctorJudgementTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var check: DoctorCheck
        var rows: [DoctorRow]
        /// The severity and a part of the text of each finding.
        var findings: [(DoctorFinding.Severity, String)]

        init(_ check: DoctorCheck, _ rows: [DoctorRow], _ findings: (DoctorFinding.Severity, String)...) {
            self.check = check
            self.rows = rows
            self.findings = findings
        }

        var testDescription: String { "\(check.name) \(rows.map(\.values))" }
    }

    /// What a server answers that folds as Skyrow does.
    private static let folded = TextFolding.changes.map { change -> DoctorRow in
        ["code": "\(change.scalar.value)", "folded": change.folded]
    }

    private static let rows: [Row] = [
        Row(.server, [["version": "15.4", "number": "150004", "encoding": "UTF8", "standby": "false"]]),
        Row(
            .server,
            [["version": "13.1", "number": "130001", "encoding": "SQL_ASCII", "standby": "true"]],
            (.error, "version 13.1"),
            (.error, "SQL_ASCII"),
            (.error, "standby")
        ),
        Row(.migrations, []),
        Row(.migrations, [["step": "install"]], (.error, "no Skyrow tables")),
        Row(.migrations, [["step": "migrate", "summary": "0002_more"]], (.warning, "0002_more")),
        Row(.migrations, [["step": "newer", "summary": "It is newer."]], (.error, "It is newer.")),
        Row(
            .durability,
            [
                ["name": "fsync", "setting": "on"], ["name": "full_page_writes", "setting": "on"],
                ["name": "synchronous_commit", "setting": "on"], ["name": "data_checksums", "setting": "on"],
                ["name": "zero_damaged_pages", "setting": "off"],
            ]
        ),
        Row(.durability, [["name": "synchronous_commit", "setting": "local"]]),
        Row(
            .durability,
            [
                ["name": "fsync", "setting": "off"], ["name": "full_page_writes", "setting": "off"],
                ["name": "synchronous_commit", "setting": "off"], ["name": "data_checksums", "setting": "off"],
                ["name": "zero_damaged_pages", "setting": "on"],
            ],
            (.error, "fsync is off"),
            (.error, "full_page_writes is off"),
            (.error, "synchronous_commit is off"),
            (.warning, "checksums"),
            (.error, "zero_damaged_pages")
        ),
        Row(.connections, [["maximum": "100", "reserved": "3", "used": "20", "elsewhere": "9", "services": "2"]]),
        Row(
            .connections,
            [["maximum": "100", "reserved": "3", "used": "20", "elsewhere": "60", "services": "2"]],
            (.warning, "20 of 37 connections are in use, and 2 running services may open 66.")
        ),
        Row(
            .connections,
            [["maximum": "100", "reserved": "3", "used": "20", "services": "3"]],
            (.warning, "20 of 97 connections are in use, and 3 running services may open 99.")
        ),
        Row(
            .connections,
            [["maximum": "100", "reserved": "3", "used": "90", "services": "1"]],
            (.error, "90 of 97 connections are in use")
        ),
        Row(.memory, [["buffers": "\(128 << 20)", "data": "\(400 << 20)"]]),
        Row(.memory, [["buffers": "\(1 << 30)", "data": "\(400 << 30)"]]),
        Row(.memory, [["buffers": "\(128 << 20)", "data": "\(2 << 30)"]], (.warning, "128 MB for 2048 MB of data")),
        Row(.memory, [["buffers": "\(5 << 30)", "data": "0"]], (.warning, "takes 5120 MB")),
        Row(.timeZone, [["name": "TimeZone", "setting": "Etc/UTC"]]),
        Row(.timeZone, [["name": "TimeZone", "setting": "Europe/Berlin"]], (.warning, "Europe/Berlin")),
        // The server's moment is between this machine's two.
        Row(.clock, [["before": "0", "database": "4000000", "after": "9000000"]]),
        Row(.clock, [["before": "0", "database": "900000", "after": "1"]]),
        Row(.clock, [["before": "0", "database": "2500000", "after": "1"]], (.warning, "2.4 s ahead of")),
        Row(.clock, [["before": "60000000", "database": "0", "after": "60000001"]], (.error, "60.0 s behind")),
        Row(.collations, []),
        Row(
            .collations,
            [
                ["kind": "database", "name": "app", "stored": "1", "actual": "2"],
                ["kind": "collation", "name": "de", "stored": "1", "actual": "2"],
            ],
            (.error, "database app was created with version 1"),
            (.error, "collation de")
        ),
        Row(.extensions, []),
        Row(.extensions, [["name": "pg_trgm", "installed": "1.5", "available": "1.6"]], (.warning, "pg_trgm")),
        Row(.extensions, [["name": "postgis", "installed": "3.3"]], (.error, "its files are missing")),
        Row(.autovacuum, [["kind": "dead", "name": "note", "value": "20000", "alive": "100000"]]),
        Row(.autovacuum, [["kind": "dead", "name": "note", "value": "9000", "alive": "0"]]),
        Row(
            .autovacuum,
            [
                ["kind": "setting", "name": "autovacuum"], ["kind": "switched-off", "name": "note"],
                ["kind": "dead", "name": "note", "value": "20000", "alive": "1000"],
            ],
            (.error, "autovacuum is off"),
            (.warning, "disabled for note"),
            (.warning, "20000 dead rows and 1000")
        ),
        Row(.wraparound, [["name": "note", "age": "200000000"]]),
        Row(.wraparound, [["name": "note", "age": "600000000"]], (.warning, "note has not been frozen")),
        Row(.wraparound, [["name": "note", "age": "1500000000"]], (.error, "note has not been frozen")),
        Row(
            .transactions,
            [
                ["kind": "idle", "id": "7", "who": "psql of ann", "seconds": "300"],
                ["kind": "long", "id": "8", "who": "psql of ann", "seconds": "3600"],
                ["kind": "prepared", "id": "'x'", "who": "ann", "seconds": "10"],
            ]
        ),
        Row(
            .transactions,
            [
                ["kind": "idle", "id": "7", "who": "psql of ann", "seconds": "301"],
                ["kind": "long", "id": "8", "who": "psql of ann", "seconds": "3601"],
                ["kind": "prepared", "id": "'x'", "who": "ann", "seconds": "400"],
                ["kind": "slot", "id": "'s'", "who": "physical"],
            ],
            (.warning, "psql of ann (process 7) has been idle"),
            (.warning, "(process 8) has been in one transaction"),
            (.warning, "prepared transaction 'x'"),
            (.warning, "slot 's'")
        ),
        Row(.locks, [["waiting": "7", "relation": "note", "seconds": "10", "blocking": "8"]]),
        Row(
            .locks,
            [["waiting": "7", "relation": "note", "seconds": "11", "blocking": "8, 9"]],
            (.warning, "Process 7 has been waiting for a lock on note for 11 s, held by 8, 9.")
        ),
        Row(.tracking, [["name": "track_activities", "setting": "on"]]),
        Row(.tracking, [["name": "track_activities", "setting": "off"]], (.warning, "track_activities is off")),
        Row(.drift, []),
        Row(
            .drift,
            [["place": "note", "sentence": "lacks _tombstone_deleted", "commands": "A;\nB;"]],
            (.warning, "note lacks _tombstone_deleted.")
        ),
        Row(.foreignKeyIndexes, []),
        Row(
            .foreignKeyIndexes,
            [["name": "note", "key": "k", "columns": "category", "target": "category"]],
            (.warning, "category of note has no index")
        ),
        Row(.invalidIndexes, []),
        Row(.invalidIndexes, [["name": "i", "relation": "note", "is_unique": "true"]], (.error, "index i of note")),
        Row(.failedIndexes, []),
        Row(
            .failedIndexes,
            [["name": "i", "relation": "note", "reason": "duplicate", "duplicates": "3"]],
            (.warning, "The index i of note was requested and could not be built: 3 values are not unique.")
        ),
        Row(
            .failedIndexes,
            [["name": "i", "relation": "note", "reason": "error", "sql_state": "53100"]],
            (.warning, "PostgreSQL rejected it with 53100")
        ),
        Row(.wordIndexes, []),
        Row(
            .wordIndexes,
            [
                [
                    "name": "i", "relation": "note", "field": "title", "has": "english", "wanted": "none",
                    "is_ours": "true",
                ]
            ],
            (
                .warning,
                "The text-search index i of note has the language english, and the field title has the language none."
            )
        ),
        Row(
            .wordIndexes,
            [
                [
                    "name": "i", "relation": "note", "field": "title", "has": "none", "wanted": "german",
                    "is_ours": "false",
                ]
            ],
            (
                .warning,
                "The text-search index i of note has the language none, and the field title has the language german."
            )
        ),
        Row(.storedWords, []),
        Row(
            .storedWords,
            [["name": "_words_title", "relation": "note", "field": "title", "has": "english", "wanted": "none"]],
            (.warning, "The text-search column _words_title of note has the language english")
        ),
        Row(.rules, [["kind": "subject", "type": "note", "action": "read", "subject": "users", "is_known": "true"]]),
        Row(
            .rules,
            [
                ["kind": "gone", "type": "memo", "name": "'memo'"],
                ["kind": "subject", "type": "note", "action": "create", "subject": "owner", "is_known": "true"],
                ["kind": "subject", "type": "note", "action": "read", "subject": "Editors", "is_known": "true"],
                ["kind": "subject", "type": "note", "action": "read", "subject": "field:gone", "is_known": "false"],
                ["kind": "profiles", "type": "\"user\"", "action": "update"],
                ["kind": "unique", "type": "note", "action": "title", "name": "'note'"],
                [
                    "kind": "fieldSubject", "type": "note", "action": "title create", "subject": "field:title",
                    "is_known": "true",
                ],
                [
                    "kind": "fieldSubject", "type": "note", "action": "title read", "subject": "field:title",
                    "is_known": "true",
                ],
            ],
            (.warning, "There are access rules for the type memo, which does not exist."),
            (.error, "The rule of note about create names 'owner', which is not a valid subject."),
            (.error, "The rule of note about read names 'Editors', which is not a valid subject."),
            (.warning, "The rule of note about read names 'field:gone', which does not exist."),
            (.warning, "A rule of \"user\" allows every logged-in user to update profiles."),
            (.warning, "The field title of note is unique, and a rule hides it from some users."),
            (.error, "The rule of the field title of note names 'field:title', which is not a valid subject.")
        ),
        Row(.policies, []),
        Row(
            .policies,
            [["sentence": "The policy _select of note was dropped."]],
            (.warning, "The policy _select of note was dropped.")
        ),
        Row(.textOrder, []),
        Row(
            .textOrder,
            [["type": "note", "columns": "_id, title"]],
            (.warning, "note has text columns with a linguistic collation: _id, title.")
        ),
        Row(.triggerPaths, []),
        Row(.triggerPaths, [["function": "app.touch()"]], (.warning, "app.touch() does not set a search path")),
        Row(.files, []),
        Row(.files, [["examined": "0", "missing": "0", "directory": "/f/app", "name": ""]]),
        Row(.files, [["examined": "500", "missing": "0", "directory": "/f/app", "name": ""]]),
        Row(
            .files,
            [["examined": "500", "missing": "2", "directory": "/f/app", "name": "7b-cat.png"]],
            (.error, "2 of 500 stored files are missing in /f/app, such as 7b-cat.png.")
        ),
        Row(
            .files,
            [
                [
                    "fault": "The files cannot be used: Cannot open the directory /f/app: Permission denied.",
                    "remedy": "Check file-directory.",
                ]
            ],
            (.error, "The files cannot be used: Cannot open the directory /f/app: Permission denied.")
        ),
        Row(.sweeping, [["kind": "counts of wrong passwords", "count": "0"]]),
        Row(
            .sweeping,
            [["kind": "sessions", "count": "2"], ["kind": "counts of wrong passwords", "count": "7"]],
            (.warning, "2 expired sessions have not been removed"),
            (.warning, "7 expired counts of wrong passwords have not been removed")
        ),
        Row(
            .sweeping,
            [["kind": "announcements of files", "count": "3"], ["kind": "files without a row", "count": "0"]],
            (.warning, "3 expired announcements of files have not been removed")
        ),
        Row(
            .sealing,
            [
                ["place": "_identity.token_sealed", "key": "_2", "count": "3"],
                ["place": "_secret", "key": "_2", "count": "0"], ["place": "_secret", "key": "_1", "count": "0"],
            ]
        ),
        Row(
            .sealing,
            [
                ["place": "_identity.token_sealed", "key": "k9", "count": "3"],
                ["place": "_factor.secret_sealed", "key": "_1", "count": "2"],
                ["place": "_factor.pending_sealed", "key": "", "count": "1"],
                ["place": "_secret", "key": "_2", "count": "0"], ["place": "_secret", "key": "_1", "count": "0"],
            ],
            (
                .error,
                "3 tokens of providers (_identity.token_sealed) are sealed with the key 'k9', which does not exist."
            ),
            (
                .warning,
                "2 secrets of second factors (_factor.secret_sealed) are sealed with the key '_1', which is not the first one."
            ),
            (
                .error,
                "1 secrets of second factors (_factor.pending_sealed) are sealed with the key '', which does not exist."
            )
        ),
        Row(.mail, []),
        Row(
            .mail,
            [
                ["state": "dead", "count": "2", "failure": "The server refused it."],
                ["state": "waiting", "count": "7", "failure": ""],
            ],
            (.warning, "2 mails of the last day could not be delivered. The last failure: The server refused it."),
            (.warning, "7 mails have waited for more than an hour.")
        ),
        Row(.passwords, [["cost": "ln=15,r=8,p=3", "count": "3"], ["cost": "ln=17,r=8,p=1", "count": "3"]]),
        Row(
            .passwords,
            [
                ["cost": "", "count": "2", "example": "ann"], ["cost": "ln=14,r=8,p=3", "count": "3"],
                ["cost": "ln=15,r=8,p=1", "count": "3"], ["role": "boss"],
            ],
            (.warning, "a format that this version of skyrow does not support, such as that of 'ann'"),
            (.warning, "hashed with ln=14,r=8,p=3, which is weaker"),
            (.warning, "hashed with ln=15,r=8,p=1, which is weaker"),
            (.warning, "The role boss grants administrator rights, and no user has it.")
        ),
        Row(
            .functions,
            [
                ["name": "nearby", "signature": "nearby()", "fault": "", "unguarded": "false"],
                ["name": "schema:best", "signature": "best()", "fault": "", "unguarded": "false"],
            ]
        ),
        Row(
            .functions,
            [
                ["name": "nearby", "signature": "nearby()", "fault": "It is gone.", "unguarded": "false"],
                ["name": "schema:fetch", "signature": "fetch()", "fault": "", "unguarded": "false"],
                ["name": "best", "signature": "best()", "fault": "", "unguarded": "true"],
            ],
            (.warning, "cannot be called: It is gone."),
            (.warning, "which is the name of an action"),
            (.error, "SECURITY DEFINER")
        ),
        Row(
            .keys,
            [
                ["kind": "scope", "id": "k00000001", "name": "'web'", "text": "type:note:read"],
                ["kind": "scope", "id": "k00000001", "name": "'web'", "text": "action:schema:fetch"],
                ["kind": "network", "id": "k00000001", "name": "'web'", "text": "10.0.0.0/8"],
            ]
        ),
        Row(
            .keys,
            [
                ["kind": "scope", "id": "k00000001", "name": "'web'", "text": "all"],
                ["kind": "scope", "id": "k00000001", "name": "'web'", "text": "action:schema:fech"],
                ["kind": "scope", "id": "k00000001", "name": "'web'", "text": "action:key:create"],
                ["kind": "network", "id": "k00000001", "name": "'web'", "text": "10.0.0.0"],
                ["kind": "network", "id": "k00000001", "name": "'web'", "text": "10.0.0.1/8"],
                ["kind": "refused", "id": "k00000002", "name": "'web'", "count": "1"],
                ["kind": "endless", "id": "k00000003", "name": "'web'"],
            ],
            (.error, "has the scope 'all', which this version of skyrow does not support"),
            (.warning, "has the scope 'action:schema:fech', which names an action that does not exist"),
            (.error, "has the scope 'action:key:create', which this version of skyrow does not support"),
            (.error, "has the network '10.0.0.1/8', which this version of skyrow does not support"),
            (.warning, "was refused in 1 minute of the last week"),
            (.warning, "is a server key that never expires")
        ),
        Row(.parents, []),
        Row(
            .parents,
            [["type": "item", "name": "'item'"], ["type": "\"Task\"", "name": "'Task'", "disabled": "true"]],
            (.error, "_check_parent of item is missing"),
            (.error, "_check_parent of \"Task\" is disabled")
        ),
        Row(.relations, []),
        Row(
            .relations,
            ["gone", "columns", "key", "index", "owner", "target", "comment", "other"].map { fault in
                [
                    "type": "post", "field": "likes", "type_name": "'post'", "field_name": "'likes'",
                    "members": "\"post.likes\"", "target": "user", "columns": "_from text, _to integer",
                    "fault": "\(fault)",
                ]
            },
            (.error, "The relation post.likes has no members table"),
            (.error, "The members table of post.likes has unexpected columns: _from text, _to integer."),
            (.error, "The members table of post.likes has no primary key"),
            (.warning, "The members table of post.likes has no index of _to and _from"),
            (.error, "_from in the members table of post.likes has no foreign key to post"),
            (.error, "_to in the members table of post.likes has no foreign key to \"user\""),
            (.warning, "The comment of the members table of post.likes")
        ),
        // Neither key nor comment says of what type the members are.
        Row(
            .relations,
            [["type": "post", "field": "likes", "members": "\"post.likes\"", "fault": "target"]],
            (.error, "The members table of post.likes does not refer to a record type")
        ),
        Row(.textFolding, folded),
        // A letter that is younger than the table.
        Row(.textFolding, folded + [["code": "42955", "folded": "\u{264}"]]),
        Row(
            .textFolding,
            Array(folded.dropFirst()),
            (.warning, "folds the case of 1 letters differently from Skyrow, such as 'A'")
        ),
        Row(.textFolding, folded + [["code": "223", "folded": "ss"]], (.warning, "such as 'ß'")),
        Row(.duplicateIndexes, []),
        Row(
            .duplicateIndexes,
            [["relation": "note", "names": "a b c", "form": "btree (title)"]],
            (.warning, "3 indexes of the form btree (title)")
        ),
        Row(.unusedIndexes, [["name": "i", "relation": "note", "bytes": "\(9 << 20)", "scans": "0", "days": "6.9"]]),
        Row(.unusedIndexes, [["name": "i", "relation": "note", "bytes": "8192", "scans": "0", "days": "60"]]),
        Row(.unusedIndexes, [["name": "i", "relation": "note", "bytes": "\(9 << 20)", "scans": "1", "days": "60"]]),
        Row(
            .unusedIndexes,
            [["name": "i", "relation": "note", "bytes": "\(9 << 20)", "scans": "0", "days": "7.5"]],
            (.warning, "i of note, 9 MB, has not been used for 7 days")
        ),
        Row(
            .sequentialScans,
            [
                // Small, seldom read, read in parts, or mostly by an index.
                ["name": "a", "alive": "9999", "scans": "500", "lookups": "0", "rows_a_scan": "9999"],
                ["name": "b", "alive": "90000", "scans": "49", "lookups": "0", "rows_a_scan": "90000"],
                ["name": "c", "alive": "90000", "scans": "500", "lookups": "0", "rows_a_scan": "20"],
                ["name": "d", "alive": "90000", "scans": "500", "lookups": "5000", "rows_a_scan": "90000"],
            ]
        ),
        Row(
            .sequentialScans,
            [["name": "a", "alive": "90000", "scans": "500", "lookups": "4000", "rows_a_scan": "90000"]],
            (.warning, "a with 90000 rows was read completely 500 times")
        ),
        Row(
            .accounts,
            [
                ["kind": "profile", "count": "0"], ["kind": "id", "count": "0"],
                ["kind": "administrator", "count": "0"],
            ]
        ),
        Row(
            .accounts,
            [
                ["kind": "profile", "count": "1", "example": "x"], ["kind": "id", "count": "2", "example": "_y"],
                ["kind": "administrator", "count": "5"],
            ],
            (.warning, "1 row of \"user\" have no account, such as 'x'"),
            (.error, "2 accounts have an invalid user id"),
            (.warning, "No role grants administrator rights")
        ),
        Row(
            .changes,
            [
                [
                    "what": "server", "wal_level": "logical", "slots": "20", "senders": "20", "slots_used": "1",
                    "senders_used": "1",
                ],
                ["what": "role", "permitted": "true", "role": "app"],
            ]
        ),
        Row(
            .changes,
            [
                ["what": "server", "wal_level": "replica", "slots": "10", "senders": "10"],
                ["what": "role", "permitted": "false", "role": "app"],
                ["what": "unpublished", "table": "note", "statement": "SELECT app._publish('note');"],
                ["what": "slot", "name": "skyrow_app_1"],
                ["what": "standby", "names": "ANY 1 (*)"],
                ["what": "wide", "table": "note", "bytes": "90000"],
                ["what": "writer", "id": "77", "database": "other", "seconds": "61"],
                ["what": "follow", "type": "note", "state": "failed", "old": "1", "built": "false"],
                ["what": "follow", "type": "memo", "state": "building", "old": "601", "built": "false"],
                ["what": "follow", "type": "task", "state": "building", "old": "599", "built": "false"],
                ["what": "follow", "type": "post", "state": "ready", "old": "6000", "built": "true"],
                ["what": "tombstones", "count": "3"], ["what": "tombstones", "count": "0"],
            ],
            (.warning, "wal_level is replica"),
            (.warning, "including app"),
            (.warning, "changes of note"),
            (.error, "skyrow_app_1"),
            (.warning, "ANY 1 (*)"),
            (.warning, "90000 bytes"),
            (.warning, "process 77 in the database other"),
            (.error, "finds the changes of note could not be built"),
            (.warning, "finds the changes of memo is missing"),
            (.warning, "3 tombstones")
        ),
        Row(
            .changes,
            [["what": "server", "wal_level": "logical", "slots": "5", "senders": "20", "slots_used": "5"]],
            (.warning, "5 of 5 replication slots")
        ),
        Row(
            .changes,
            [["what": "server", "wal_level": "logical", "slots": "20", "senders": "4", "senders_used": "4"]],
            (.warning, "4 of 4 WAL senders")
        ),
        Row(.roles, []),
        Row(
            .roles,
            [
                ["kind": "cycle", "what": "'a', 'b'", "place": ""],
                ["kind": "gone", "what": "'x'", "place": "the role 'a'"],
            ],
            (.error, "Roles contain themselves: 'a', 'b'."),
            (.warning, "The access list of the role 'a' names the role 'x', which does not exist.")
        ),
        Row(.notices, []),
        Row(
            .notices,
            [
                ["counter": "rules"], ["place": "_role", "trigger": "_announce", "state": "off"],
                ["place": "_key", "trigger": "_announce_all", "state": "missing"],
            ],
            (.error, "_version has no row 'rules'."),
            (.error, "The trigger _announce of _role is off."),
            (.error, "The trigger _announce_all of _key is missing.")
        ),
        Row(.records, []),
        Row(
            .records,
            [
                ["name": "note", "rule": "id", "count": "1", "example": "~x"],
                ["name": "\"user\"", "rule": "access", "count": "3", "example": "it's"],
                ["name": "note", "rule": "futureRevision", "count": "2", "example": "1"],
            ],
            (.error, "1 row of note have an _id that does not match _database, such as '~x'"),
            (.warning, "3 rows of \"user\" have an access list"),
            (.error, "2 rows of note have a _revision in the future")
        ),
    ]

    @Test(arguments: rows)
    func aCheckJudgesItsRows(_ row: Row) {
        var limits = DoctorLimits()
        limits.machineMemory = 8 << 30
        limits.actions = ["schema:fetch", "key:create"]
        let findings = row.check.judge(row.rows, limits)
        #expect(findings.map(\.severity) == row.findings.map(\.0))
        for (finding, expected) in zip(findings, row.findings) {
            #expect(finding.what.contains(expected.1), "\(finding.what)")
            #expect(!finding.meaning.isEmpty && !finding.remedy.isEmpty)
        }
    }

    @Test func everyCheckHasRowsWithAndWithoutItsFault() {
        for check in DoctorCheck.ofTheDatabase {
            let own = Self.rows.filter { $0.check.name == check.name }
            #expect(own.contains { $0.findings.isEmpty }, "\(check.name)")
            #expect(own.contains { !$0.findings.isEmpty }, "\(check.name)")
        }
        #expect(Set(DoctorCheck.ofTheDatabase.map(\.name)).count == DoctorCheck.ofTheDatabase.count)
    }

    @Test(arguments: RecordRule.allCases)
    func everyRuleOfRecordsSaysWhatToDo(_ rule: RecordRule) throws {
        let finding = try #require(rule.finding(type: "note", count: 2, example: "it's"))
        #expect(finding.what.contains("2 rows of note") && !finding.commands.isEmpty)
        #expect(!finding.commands.contains { $0.contains("'it's'") })
    }
}
