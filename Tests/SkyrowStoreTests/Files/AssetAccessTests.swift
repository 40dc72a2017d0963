import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Who reads a file, and who may put it into a record.
@Suite(.timeLimit(.minutes(60))) struct AssetAccessTests {
    private static let carl = Caller(kind: .user("carl"), roles: ["staff"])

    /// A caller with a key that reaches some types alone.
    private static func keyed(_ caller: Caller, _ kind: KeyKind, _ scopes: String...) -> Caller {
        var caller = caller
        caller.key = KeyGrant(KeyID("k00000001")!, named: "web", kind, scopes.map { try! KeyScope($0) })
        return caller
    }

    static let callers: [(name: String, caller: Caller)] = [
        ("stranger", .anonymous), ("ann", .ann), ("bob", .bob), ("carl", carl), ("master", .master),
        ("master for bob", Caller(kind: .master(actingAs: "bob"))),
        ("bob by a key for cards", keyed(.bob, .client, "type:card")),
        ("bob by a key for safes", keyed(.bob, .client, "type:safe:read")),
        ("server for cards", keyed(.master, .server, "type:card")),
        ("server for safes", keyed(.master, .server, "type:safe")),
        ("server for cards of bob", keyed(Caller(kind: .master(actingAs: "bob")), .server, "type:card")),
        ("private server", keyed(.master, .server, "read_private")),
        ("private server for bob", keyed(Caller(kind: .master(actingAs: "bob")), .server, "read_private")),
    ]

    /// A card that refers to the file, and the callers who read the file through it.
    struct Row: Sendable, CustomTestStringConvertible {
        let card: String
        let readers: Set<String>
        var testDescription: String { card }
    }

    private static let operators: Set<String> = ["master", "master for bob"]
    /// Server keys that reach cards pass the rules of records.
    private static let servers: Set<String> = [
        "server for cards", "server for cards of bob", "private server", "private server for bob",
    ]
    private static let bobs: Set<String> = ["bob", "bob by a key for cards"]
    private static let always = operators.union(servers)

    static let rows: [Row] = [
        Row(card: "'1', '_public', 'ann', NULL", readers: always.union(bobs).union(["stranger", "ann", "carl"])),
        Row(card: "'1', '_public', 'ann', '{}'", readers: always.union(["ann"])),
        Row(card: "'1', '_public', NULL, '{}'", readers: always),
        Row(card: "'1', '_public', 'ann', '{\"user:bob\": \"read\"}'", readers: always.union(bobs).union(["ann"])),
        Row(card: "'1', '_public', 'bob', '{\"role:staff\": \"read\"}'", readers: always.union(bobs).union(["carl"])),
        Row(
            card: "'1', '_public', 'ann', '{\"users\": \"write\"}'",
            readers: always.union(bobs).union(["ann", "carl"])
        ),
        // In private databases lists have no effect. A server key opens one if it may, and acts for its user.
        Row(card: "'~ann/1', 'ann', 'ann', NULL", readers: operators.union(["ann"])),
        Row(
            card: "'~bob/1', 'bob', 'ann', '{\"public\": \"write\"}'",
            readers: operators.union(bobs).union(["private server for bob"])
        ),
    ]

    @Test(arguments: rows)
    func aFileIsReadThroughARecordThatIsOpen(_ row: Row) async throws {
        try await withAssets { f in
            // Neither has an uploader, so that only records open them.
            try await f.insert([file(1), file(2)], owner: nil)
            try await f.psql(
                "INSERT INTO card (_id, _database, _owner, _access, poster) VALUES (\(row.card), '\(file(1))')"
            )
            for (name, caller) in Self.callers {
                let open = try await f.open([file(1), file(2), file(3)], to: caller)
                let expected: Set<AssetName> = row.readers.contains(name) ? [file(1)] : []
                #expect(open.readable == expected.union(Self.operators.contains(name) ? [file(2)] : []), "\(name)")
                // A file without an uploader may be used by everyone who has its name.
                #expect(open.usable == [file(1), file(2)], "\(name)")
            }
        }
    }

    @Test(arguments: rows)
    func aFileIsUsedByItsUploaderAndItsReaders(_ row: Row) async throws {
        try await withAssets { f in
            try await f.insert([file(1), file(2)], owner: "carl")
            try await f.psql(
                "INSERT INTO card (_id, _database, _owner, _access, poster) VALUES (\(row.card), '\(file(1))')"
            )
            for (name, caller) in Self.callers {
                let open = try await f.open([file(1), file(2), file(3)], to: caller)
                let isReader = row.readers.contains(name) || name == "carl"
                let isOther = name == "carl" || Self.operators.contains(name)
                let expected = Set((isReader ? [file(1)] : []) + (isOther ? [file(2)] : []))
                #expect(open.readable == expected, "\(name)")
                #expect(open.usable == expected, "\(name)")
            }
        }
    }

    /// By a key with scopes a user reads files through records alone, and still saves what it has uploaded.
    @Test func aKeyWithScopesReachesNoFileByItsUploader() async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "bob")
            for (name, caller) in Self.callers {
                let open = try await f.open([file(1)], to: caller)
                #expect(open.readable.isEmpty == !["bob", "master", "master for bob"].contains(name), "\(name)")
                #expect(open.usable.isEmpty == (caller.userID != "bob" && name != "master"), "\(name)")
            }
        }
    }

    /// A file whose bytes have not arrived is neither read nor used.
    @Test func aFileThatIsExpectedIsOpenToNoOne() async throws {
        try await withAssets { f in
            for (number, owner) in [(1, "ann" as UserID?), (2, nil)] {
                let asset = StoredAsset(
                    name: file(number),
                    filename: "a",
                    contentType: "a/b",
                    size: 1,
                    state: .expected,
                    owner: owner
                )
                #expect(try await f.assets.announce(asset, limit: 9))
            }
            try await f.psql("INSERT INTO card (_id, poster) VALUES ('1', '\(file(1))')")
            for (name, caller) in Self.callers {
                let open = try await f.open([file(1), file(2)], to: caller)
                #expect(open.readable.isEmpty && open.usable.isEmpty, "\(name)")
            }
        }
    }

    @Test func classRulesDecide() async throws {
        try await withAssets { f in
            try await f.insert([file(1), file(2)], owner: "ann")
            try await f.psql(
                """
                INSERT INTO card (_id, _owner, members, poster) VALUES
                    ('1', 'carl', '{bob}', '\(file(1))'), ('2', 'carl', '{}', '\(file(2))')
                """
            )
            let rows: [(ClassRule?, one: Set<String>, two: Set<String>)] = [
                (nil, ["stranger", "bob", "carl"], ["stranger", "bob", "carl"]),
                (ClassRule([], .override), [], []),
                (ClassRule([.role("staff")], .override), ["carl"], ["carl"]),
                (ClassRule([.field(field("members"))], .override), ["bob"], []),
                (ClassRule([.field(field("members")), .owner], .require), ["bob", "carl"], ["carl"]),
            ]
            for (rule, one, two) in rows {
                var change = ClassAccessChange(type: type("card"))
                change.rules.updateValue(rule, forKey: .read)
                _ = try await f.store.classAccess.change(change)
                for (name, caller) in Self.callers where ["stranger", "bob", "carl"].contains(name) {
                    let open = try await f.open([file(1), file(2)], to: caller)
                    let expected = Set((one.contains(name) ? [file(1)] : []) + (two.contains(name) ? [file(2)] : []))
                    #expect(open.readable == expected && open.usable == expected, "\(name) \(String(describing: rule))")
                }
            }
        }
    }

    /// A field that the caller does not see opens no file, in each record for itself; another field of the record may.
    @Test func fieldRulesDecide() async throws {
        try await withAssets { f in
            try await f.insert((1...4).map { file($0) }, owner: "ann")
            try await f.psql(
                """
                INSERT INTO card (_id, _database, _owner, members, poster, scan) VALUES
                    ('1', '_public', 'bob', '{carl}', '\(file(1))', '\(file(2))'),
                    ('2', '_public', 'carl', '{}', '\(file(3))', '\(file(4))'),
                    ('~bob/3', 'bob', NULL, '{}', '\(file(4))', NULL)
                """
            )
            let rows: [(subjects: [Subject], readers: [String: Set<Int>])] = [
                ([.everyone], ["stranger": [1, 2, 3, 4], "bob": [1, 2, 3, 4], "carl": [1, 2, 3, 4]]),
                ([.users], ["stranger": [2, 4], "bob": [1, 2, 3, 4], "carl": [1, 2, 3, 4]]),
                ([.owner], ["stranger": [2, 4], "bob": [1, 2, 4], "carl": [2, 3, 4]]),
                ([.role("staff")], ["stranger": [2, 4], "bob": [2, 4], "carl": [1, 2, 3, 4]]),
                ([.field(field("members"))], ["stranger": [2, 4], "bob": [2, 4], "carl": [1, 2, 4]]),
                ([], ["stranger": [2, 4], "bob": [2, 4], "carl": [2, 4], "server for cards": [1, 2, 3, 4]]),
            ]
            for (subjects, readers) in rows {
                var change = ClassAccessChange(type: type("card"))
                change.fields[field("poster")] = [.read: .some(FieldSubjects(subjects))]
                _ = try await f.store.classAccess.change(change)
                for (name, caller) in Self.callers {
                    guard let numbers = readers[name] else { continue }
                    let open = try await f.open((1...4).map { file($0) }, to: caller)
                    #expect(open.readable == Set(numbers.map { file($0) }), "\(name) \(subjects)")
                    #expect(open.usable == open.readable, "\(name) \(subjects)")
                }
            }
            // The private record opens its file to its user alone, by the same rule.
            try await f.psql("DELETE FROM card WHERE _id IN ('1', '2')")
            for (subjects, isSeen) in [([.users], true), ([.owner], false)] as [([Subject], Bool)] {
                var change = ClassAccessChange(type: type("card"))
                change.fields[field("poster")] = [.read: .some(FieldSubjects(subjects))]
                _ = try await f.store.classAccess.change(change)
                #expect((try await f.assets.readable(file(4), by: .bob) != nil) == isSeen)
                #expect(try await f.assets.readable(file(4), by: Self.carl) == nil)
            }
        }
    }

    /// The statement finds records by the indexes of their fields, and looks for records of a name that no file has, too.
    @Test func recordsAreFoundByIndexes() async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "ann")
            try await f.psql(
                """
                INSERT INTO card (_id, poster) SELECT number, '\(file(1))' FROM generate_series(1, 20000) AS number WHERE number < 3;
                INSERT INTO card (_id) SELECT 'x' || number FROM generate_series(1, 20000) AS number; ANALYZE card
                """
            )
            for caller in [Caller.anonymous, .bob] {
                let catalog = f.store.cache.current
                let statement = AssetAccessStatement(for: caller, catalog, f.store.assetTexts)
                for sql in [statement.readable(file(9)), statement.usable([file(1), file(9)])] {
                    #expect(sql.bindings.failure == nil)
                    let plan = try await f.records.client.read("EXPLAIN \(sql)").decodeColumn(0, as: String.self)
                        .joined(separator: "\n")
                    for name in ["card_poster_idx", "card_scan_idx"] { #expect(plan.contains(name), "\(plan)") }
                }
            }
        }
    }

    /// A table whose records all refer to one file is not read from its start for another file.
    @Test func indexesAreUsedWhateverTheStatisticsSay() async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "ann")
            try await f.psql(
                """
                INSERT INTO card (_id, poster, scan) SELECT number, '\(file(1))', '\(file(1))' FROM generate_series(1, 20000) AS number;
                ANALYZE card
                """
            )
            for caller in [Caller.anonymous, .bob] {
                let statement = AssetAccessStatement(for: caller, f.store.cache.current, f.store.assetTexts)
                for sql in [statement.readable(file(9)), statement.usable([file(1), file(9)])] {
                    let count = (1...99).last { sql.text.contains("$\($0)") } ?? 0
                    let arguments = Array(repeating: "NULL", count: count).joined(separator: ", ")
                    let generic = try await f.psql(
                        """
                        DEALLOCATE ALL;
                        SET plan_cache_mode = force_generic_plan;
                        PREPARE question AS \(sql.text);
                        EXPLAIN EXECUTE question(\(arguments));
                        """
                    )
                    let custom = try await f.records.client.read("EXPLAIN \(sql)").decodeColumn(0, as: String.self)
                    for plan in [generic, custom.joined(separator: "\n")] {
                        for name in ["card_poster_idx", "card_scan_idx"] { #expect(plan.contains(name), "\(plan)") }
                        #expect(!plan.contains("Seq Scan on card"), "\(plan)")
                    }
                }
            }
        }
    }

    @Test func textsAreMadeOnceForCallersOfAKind() async throws {
        try await withAssets { f in
            func text(_ caller: Caller) -> String {
                AssetAccessStatement(for: caller, f.store.cache.current, f.store.assetTexts).readable(file(1)).text
            }
            #expect(text(.ann) == text(.bob))
            #expect(text(.ann) != text(.anonymous))
            #expect(text(.master).contains("SELECT true AS is_open"))
            #expect(!text(Self.keyed(.bob, .client, "type:card")).contains("\"safe\""))
        }
    }

    // MARK: Inside of JSON

    /// A name inside of JSON counts where someone stands behind it who uploaded the file.
    @Test func filesInsideOfJSONAreThoseOfTheRecordsUsers() async throws {
        try await withAssets { f in
            let users: [UserID?] = ["ann", "bob", "carl", nil]
            for (number, user) in users.enumerated() { try await f.insert([file(number)], owner: user) }
            let list = (0..<4).map { nested(file($0)) }.joined(separator: ", ")
            func insert(_ id: String, _ users: String) async throws {
                try await f.psql(
                    """
                    INSERT INTO card (_id, _database, _owner, _created_by, _updated_by, meta)
                    VALUES (\(id), \(users), '{"a": {"b": [\(list), {"$type": "asset"}, {"$name": "\(file(0))"}]}}')
                    """
                )
            }
            try await insert("'1', '_public'", "'ann', 'ann', 'ann'")
            try await insert("'2', '_public'", "'ann', 'carl', 'bob'")
            try await insert("'3', '_public'", "NULL, NULL, NULL")
            try await insert("'~bob/1', 'bob'", "'bob', 'bob', 'bob'")
            let names = (0..<5).map { file($0) }
            func found(_ id: String, _ caller: Caller, in scope: DatabaseScope = .everyone) async throws -> [AssetName]?
            {
                let access = RecordAccess(caller, in: scope, for: .reading)
                return try await f.assets.nestedAssets(names, in: RecordID(id), with: access)?.map(\.name).sorted {
                    $0.rawValue < $1.rawValue
                }
            }
            #expect(try await found("card/1", .anonymous) == [file(0), file(3)])
            #expect(try await found("card/2", .bob) == Array(names.dropLast()))
            #expect(try await found("card/3", .master) == [file(3)])
            #expect(try await found("card/1", .bob, in: .user("bob")) == [file(1), file(3)])
            #expect(try await found("card/1", .ann, in: .user("bob")) == nil)
            #expect(try await found("card/9", .master) == nil)
            #expect(try await found("gone/1", .master) == nil)
            // Only names that are asked for.
            let access = RecordAccess(.ann, in: .everyone, for: .reading)
            #expect(try await f.assets.nestedAssets([file(4)], in: RecordID("card/1"), with: access) == [])
            await #expect(throws: SkyrowError.self) {
                try await found("card/1", Self.keyed(.bob, .client, "type:safe:read"))
            }
        }
    }

    @Test func aHiddenJSONFieldNamesNoFile() async throws {
        try await withAssets { f in
            try await f.insert([file(1)], owner: "ann")
            try await f.insert([file(2)], owner: "carl")
            try await f.psql(
                """
                INSERT INTO card (_id, _owner, meta, poster) VALUES ('1', 'ann', '[\(nested(file(1)))]', '\(file(2))')
                """
            )
            func found(_ caller: Caller) async throws -> Set<AssetName>? {
                let access = RecordAccess(caller, in: .everyone, for: .reading)
                let found = try await f.assets.nestedAssets([file(1), file(2)], in: RecordID("card/1"), with: access)
                return found.map { Set($0.map(\.name)) }
            }
            // A field of a file needs no uploader: the save has checked it.
            #expect(try await found(.bob) == [file(1), file(2)])
            for (subjects, readers) in [([.owner], ["ann"]), ([], []), ([.role("staff")], ["carl"])]
                as [([Subject], [String])]
            {
                var change = ClassAccessChange(type: type("card"))
                change.fields[field("meta")] = [.read: .some(FieldSubjects(subjects))]
                _ = try await f.store.classAccess.change(change)
                for (name, caller) in [
                    ("ann", Caller.ann), ("bob", .bob), ("carl", Self.carl), ("stranger", .anonymous),
                ] {
                    let expected: Set<AssetName> = readers.contains(name) ? [file(1), file(2)] : [file(2)]
                    #expect(try await found(caller) == expected, "\(name) \(subjects)")
                }
            }
            try await f.psql("UPDATE card SET _access = '{}'")
            #expect(try await found(.bob) == nil)
        }
    }
}
