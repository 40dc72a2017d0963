import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// Files and databases for real, with psql as the witness.
@Suite struct SchemaFileStoreTests {
    private func apply(
        _ document: SchemaDocument,
        to fixture: StoreFixture,
        repairing: Bool = true
    ) async throws -> SchemaReport {
        let report = try await fixture.store.compareSchema(with: document)
        try await fixture.store.applySchema(document, expecting: report.difference, repairing: repairing)
        return report
    }

    @Test func theLogHasOfOldRecordsWhatTheFileSays() async throws {
        try await withStore(.production) { fixture in
            var document = try await fixture.store.schemaDocument()
            document.types[type("large")] = DocumentedType(live: .key)
            document.types[type("small")] = DocumentedType()
            let identities = "SELECT relname, relreplident FROM pg_class WHERE relname IN ('large', 'small') ORDER BY 1"
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.psql(identities) == "large|d\nsmall|f")
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("large")]?.live = .full
            document.types[type("small")]?.live = .key
            let report = try await apply(document, to: fixture)
            #expect(
                Set(report.difference.changes.map(\.change))
                    == [.setLive(.full, of: type("large")), .setLive(.key, of: type("small"))]
            )
            #expect(report.difference.changes.allSatisfy { $0.loss == nil })
            #expect(try await fixture.psql(identities) == "large|f\nsmall|d")
            // What psql changes is found, and a table whose changes cannot be followed at all is put right.
            try await fixture.psql(
                "ALTER TABLE small REPLICA IDENTITY FULL; ALTER TABLE large REPLICA IDENTITY NOTHING"
            )
            let difference = try await fixture.store.compareSchema(with: document).difference
            #expect(difference.changes.map(\.change) == [.setLive(.key, of: type("small"))])
            #expect(difference.drift.map(\.key) == ["large:replica-identity"])
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.psql(identities) == "large|f\nsmall|d")
        }
    }

    @Test func aFileSaysWhichTypesAreFollowed() async throws {
        try await withStore(.production) { fixture in
            var document = try await fixture.store.schemaDocument()
            document.types[type("note")] = DocumentedType(isFollowed: true)
            document.types[type("memo")] = DocumentedType()
            _ = try await apply(document, to: fixture)
            let wishes = "SELECT type, state FROM _index ORDER BY type"
            #expect(try await fixture.psql(wishes) == "note|building")
            // A wish counts before the index is there, and the index is in no other list.
            #expect(try await fixture.store.schemaDocument() == document)
            let builder = IndexBuilder(client: fixture.store.client, logger: .quiet) { ["app"] }
            #expect(try await builder.pass())
            #expect(try await fixture.psql(wishes) == "note|ready")
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            // Another name keeps it, and the file takes it away.
            document.types[type("text")] = document.types.removeValue(forKey: type("note"))
            document.types[type("text")]?.renamedFrom = type("note")
            document.types[type("memo")]?.isFollowed = true
            var report = try await apply(document, to: fixture)
            document.types[type("text")]?.renamedFrom = nil
            #expect(report.difference.changes.map(\.change).contains(.setSync(true, of: type("memo"))))
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            document.types[type("text")]?.isFollowed = false
            report = try await apply(document, to: fixture)
            #expect(report.difference.changes.map(\.change) == [.setSync(false, of: type("text"))])
            #expect(try await builder.pass())
            #expect(try await fixture.psql(wishes) == "memo|ready")
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
        }
    }

    /// Everything a file can say, made from nothing, is then as the file says.
    @Test func aFileMakesTheDatabaseThatItDescribes() async throws {
        try await withStore(.production) { fixture in
            var document = try await fixture.store.schemaDocument()
            #expect(document.types.keys.sorted() == [.user])
            let scalars: [(String, FieldType)] = [
                ("text", .string), ("whole", .integer), ("real", .number), ("flag", .boolean), ("at", .datetime),
                ("list", .json), ("number", .sequence), ("data", .bytes), ("other", .reference(type("b"))),
                ("owner", .reference(.user)), ("texts", .array(.string)), ("wholes", .array(.integer)),
                ("reals", .array(.number)), ("flags", .array(.boolean)), ("others", .array(.reference(type("b")))),
                ("selves", .array(.reference(type("a")))), ("users", .array(.reference(.user))),
            ]
            var a = DocumentedType(comment: "It's \"a\".")
            for (name, fieldType) in scalars { a.fields[field(name)] = DocumentedField(fieldType) }
            for (index, row) in DefaultExpressionTests.sayable.enumerated() {
                a.fields[field("d\(index)")] = DocumentedField(
                    row.type,
                    defaultValue: row.value,
                    comment: "Default \(index)."
                )
            }
            a.indexes = [
                DocumentedIndex([.init("text"), .init("whole", isDescending: true)], isUnique: true),
                DocumentedIndex([.init("list")], method: .gin), DocumentedIndex([.init("text")], method: .hash),
                DocumentedIndex([.init("_created_at", isDescending: true)]), DocumentedIndex([.init("other")]),
                DocumentedIndex([.init("at")], method: .brin),
            ]
            document.types[type("a")] = a
            document.types[type("b")] = DocumentedType(fields: [field("a"): DocumentedField(.reference(type("a")))])
            document.types[.user]?.fields[field("age")] = DocumentedField(.integer, defaultValue: .integer(18))

            _ = try await apply(document, to: fixture)
            let again = try await fixture.store.compareSchema(with: document)
            #expect(again.difference.isEmpty)
            #expect(try await fixture.store.schemaDocument() == document)

            // The default is what a record has that is saved without the field.
            try await fixture.keep(draft("a/1", ["text": .string("x")]))
            #expect(try await fixture.psql("SELECT d0 = '', d6, d12 FROM a") == "t|-1|[]")
        }
    }

    @Test func aFileGivesRecordsAParentAndTakesItAway() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('list'), _create_type('item')")
            var document = try await fixture.store.schemaDocument()
            document.types[type("item")]?.fields[.parent] = DocumentedField(
                .reference(type("list")),
                onDelete: .cascade
            )
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql("SELECT count(*) FROM pg_trigger WHERE tgname = '_check_parent'") == "1")
            document.types[type("item")]?.fields[.parent] = nil
            let report = try await fixture.store.compareSchema(with: document)
            #expect(report.difference.losesData)
        }
    }

    @Test func theRuleOfAReferenceIsThatOfTheFile() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                SELECT _create_type('list'), _create_type('item');
                ALTER TABLE item ADD list text REFERENCES list, ADD kept text REFERENCES list ON DELETE CASCADE;
                ALTER TABLE item ADD FOREIGN KEY (list) REFERENCES list ON DELETE RESTRICT;
                """
            )
            try await fixture.keep(draft("list/1"))
            try await fixture.keep(draft("item/1", ["list": .reference(id("list/1"))]))
            var document = try await fixture.store.schemaDocument()
            #expect(document.types[type("item")]?.fields[field("kept")]?.onDelete == .cascade)
            for rule in [DeleteRule.cascade, .setNull, .restrict, .cascade] {
                document.types[type("item")]?.fields[field("list")]?.onDelete = rule
                let report = try await apply(document, to: fixture)
                #expect(!report.difference.losesData)
                #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
                #expect(try await fixture.store.schemaDocument() == document)
                #expect(fixture.store.cache.current[type("item")]?[field("list")]?.onDelete == rule)
                // Whatever keys there were, there is one.
                #expect(
                    try await fixture.psql(
                        """
                        SELECT count(*) FROM pg_constraint WHERE conrelid = 'item'::regclass AND contype = 'f'
                            AND pg_get_constraintdef(oid) LIKE '%(list)%'
                        """
                    ) == "1"
                )
            }
            // A new field, and a string that becomes a reference.
            try await fixture.psql("ALTER TABLE item ADD text text; UPDATE item SET text = '1'")
            document.types[type("item")]?.fields[field("text")] = DocumentedField(
                .reference(type("list")),
                onDelete: .setNull
            )
            document.types[type("item")]?.fields[field("fresh")] = DocumentedField(
                .reference(type("item")),
                onDelete: .cascade
            )
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[.user]?.fields[field("list")] = DocumentedField(.reference(type("list")), onDelete: .cascade)
            let refused = try await fixture.store.compareSchema(with: document)
            #expect(refused.difference.refusals.contains { $0.contains("cannot cascade") })
        }
    }

    @Test func theLanguageOfATextIsThatOfTheFile() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD title text COLLATE \"C\"")
            try await fixture.store.cache.reload()
            try await fixture.keep(draft("film/1", ["title": "He runs"]))
            let index = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            let name = try await fixture.store.createIndex(IndexCreateRequest(index)).name
            let builder = IndexBuilder(client: fixture.store.client, logger: .quiet) { ["app"] }
            #expect(try await builder.pass())
            var document = try await fixture.store.schemaDocument()
            for language in [TextLanguage.english, .german, .words, .simple] {
                document.types[type("film")]?.fields[field("title")]?.textLanguage = language
                let report = try await apply(document, to: fixture)
                #expect(!report.difference.losesData && report.difference.changes.map(\.change.kind) == ["set_text"])
                #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
                #expect(try await fixture.store.schemaDocument() == document)
                #expect(fixture.store.cache.current[type("film")]?[field("title")]?.textLanguage == language)
                let state = "SELECT state, (SELECT count(*) FROM pg_class WHERE relname = name) FROM _index"
                #expect(try await fixture.psql(state) == "building|0")
                #expect(try await builder.pass())
                try await fixture.store.cache.reload()
                let key = fixture.store.cache.current[type("film")]?.index(named: name)?.keys.first
                #expect(key?.form == .words && key?.language == language)
                #expect(try await fixture.psql(state) == "ready|1")
            }
            // A new field, one of another name, and a text that becomes something else.
            document.types[type("film")]?.fields[field("name")] = DocumentedField(.string, textLanguage: .english)
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            var renamed = DocumentedField(.string, renamedFrom: field("name"), textLanguage: .french)
            document.types[type("film")]?.fields[field("name")] = nil
            document.types[type("film")]?.fields[field("label")] = renamed
            _ = try await apply(document, to: fixture)
            renamed.renamedFrom = nil
            document.types[type("film")]?.fields[field("label")] = renamed
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("film")]?.fields[field("label")] = DocumentedField(.integer)
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("film")]?.fields[field("label")] = renamed
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
        }
    }

    /// The rules of types go with their file: to a new database, with a new name, and back.
    @Test func aFileHasTheRulesOfItsTypes() async throws {
        try await withStore { fixture in
            var access = ClassAccess()
            access.rules = [
                .create: ClassRule([.role("it's")]), .read: ClassRule([.users, .field(field("editors"))], .require),
                .delete: ClassRule([], .override),
            ]
            access.defaultAccess = AccessList([AccessEntry(.role("it's"), .update)])
            access.fields = [field("editors"): [.read: [.owner, .role("it's")], .update: []]]
            access.listWriters = .update
            access.transferrers = .owner
            access.allowsPrivate = false
            access.allowsAggregates = false
            var film = DocumentedType(fields: [field("editors"): DocumentedField(.array(.string))], access: access)
            var document = try await fixture.store.schemaDocument()
            document.types[type("film")] = film
            let report = try await apply(document, to: fixture)
            #expect(report.difference.changes.contains { $0.change.kind == "set_access" && $0.change.type == "film" })
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.store.classAccess.access(of: type("film")) == access)
            #expect(fixture.store.cache.current[type("film")]?.rules.isPublicOnly == true)
            // That lists name relations is no rule: a file says nothing of it, and leaves it.
            try await fixture.psql(#"INSERT INTO film (_id, _access) VALUES ('1', '{"relation:friend": "read"}')"#)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            // A type of another name has the rules; the file may say others at once.
            film.renamedFrom = type("film")
            film.access?.rules[.create] = nil
            document.types[type("film")] = nil
            document.types[type("movie")] = film
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.classAccess.access(of: type("movie")) == film.access)
            #expect(try await fixture.store.classAccess.access(of: type("film")) == ClassAccess())
            // One that says nothing leaves them, and one that says none takes them away.
            document.types[type("movie")]?.renamedFrom = nil
            document.types[type("movie")]?.access = nil
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            document.types[type("movie")]?.access = ClassAccess()
            let removal = try await apply(document, to: fixture)
            #expect(removal.difference.changes.map(\.change.summary) == ["rules of access: none"])
            #expect(try await fixture.store.classAccess.access(of: type("movie")) == ClassAccess())
            #expect(try await fixture.psql("SELECT type FROM _class_option WHERE relations = '{friend}'") == "movie")
            // Of a field in which no users stand, and of a list that no record may have.
            film.access = access
            film.fields = [:]
            film.access?.defaultAccess = AccessList([AccessEntry(.field(field("title")), .read)])
            document.types[type("movie")] = film
            let refused = try await fixture.store.compareSchema(with: document)
            #expect(refused.difference.refusals.count == 2)
        }
    }

    /// Words are stored, stored in another language, and no longer, in a table with records and an index.
    @Test func whetherTheWordsOfATextAreStoredIsSaidByTheFile() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD title text COLLATE \"C\"")
            try await fixture.store.cache.reload()
            try await fixture.keep(draft("film/1", ["title": "He runs"]))
            let index = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            let name = try await fixture.store.createIndex(IndexCreateRequest(index)).name
            let builder = IndexBuilder(client: fixture.store.client, logger: .quiet) { ["app"] }
            #expect(try await builder.pass())
            var document = try await fixture.store.schemaDocument()
            func setTitle(_ language: TextLanguage, stored: Bool) {
                document.types[type("film")]?.fields[field("title")]?.textLanguage = language
                document.types[type("film")]?.fields[field("title")]?.storesWords = stored
            }
            for (language, stored, words) in [
                (.english, true, "'run':2"), (.german, true, "'he':1 'run':2"), (.german, false, ""),
                (.english, false, ""), (.simple, true, "'he':1 'runs':2"), (.words, false, ""),
            ] as [(TextLanguage, Bool, String)] {
                setTitle(language, stored: stored)
                let report = try await apply(document, to: fixture)
                #expect(!report.difference.losesData && report.difference.changes.map(\.change.kind) == ["set_text"])
                #expect(
                    report.difference.changes.first?.change.summary
                        == "text \(language.rawValue)\(stored ? ", stored" : "")"
                )
                let comparison = try await fixture.store.compareSchema(with: document)
                #expect(comparison.difference.isEmpty)
                #expect(try await fixture.store.schemaDocument() == document)
                let column = fixture.store.cache.current[type("film")]?[field("title")]
                #expect(column?.textLanguage == language && (column?.storedWords != nil) == stored)
                if stored { #expect(try await fixture.psql("SELECT _words_title FROM film") == words) }
                #expect(try await builder.pass())
                try await fixture.store.cache.reload()
                let key = fixture.store.cache.current[type("film")]?.index(named: name)?.keys.first
                #expect(key?.form == .words && key?.language == language && key?.isStored == stored)
                // Neither the column nor its index is drift, or in the file.
                #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
                #expect(try await fixture.store.schemaDocument() == document)
            }
            setTitle(.english, stored: true)
            _ = try await apply(document, to: fixture)
            // Psql says another language; the file has the words of its own stored again.
            try await fixture.psql(
                """
                DO $$ BEGIN EXECUTE (
                    SELECT format('ALTER TABLE film DROP CONSTRAINT %I', conname) FROM pg_constraint
                    WHERE conrelid = 'film'::regclass AND conbin::text ~ ':consttype 3734'
                ); END $$;
                ALTER TABLE film ADD CHECK (title IS NULL OR 'german'::regconfig IS NOT NULL)
                """
            )
            try await fixture.store.cache.reload()
            #expect(fixture.store.cache.current[type("film")]?[field("title")]?.storedWords == nil)
            setTitle(.german, stored: true)
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            let columns =
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 'film'::regclass AND attname LIKE '\\_words%'"
            #expect(try await fixture.psql(columns) == "1")
            // A new field, one of another name, a text that becomes something else, and one that goes.
            var label = DocumentedField(.string, textLanguage: .english, storesWords: true)
            document.types[type("film")]?.fields[field("label")] = label
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            label.renamedFrom = field("label")
            document.types[type("film")]?.fields[field("label")] = nil
            document.types[type("film")]?.fields[field("name")] = label
            _ = try await apply(document, to: fixture)
            label.renamedFrom = nil
            document.types[type("film")]?.fields[field("name")] = label
            // The name of its column is taken.
            document.types[type("film")]?.fields[field("label")] = label
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql(columns) == "3")
            document.types[type("film")]?.fields[field("name")] = DocumentedField(.integer)
            document.types[type("film")]?.fields[field("label")] = nil
            _ = try await apply(document, to: fixture)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql(columns) == "1")
        }
    }

    @Test func renamesKeepTheDataAndTombstonesFollow() async throws {
        try await withStore { fixture in
            _ = try await fixture.store.createTypes(
                SchemaCreateRequest(types: [
                    RecordType(name: type("note"), fields: [field("links"): .array(.reference(type("note")))]),
                    RecordType(name: type("page"), fields: [field("notes"): .array(.reference(type("note")))]),
                ])
            )
            try await fixture.keep(draft("note/1", ["title": .string("a"), "self": .reference(id("note/1"))]))
            try await fixture.keep(draft("note/2", ["title": .string("b")]))
            try await fixture.psql("DELETE FROM note WHERE _id = '2'")
            var document = try await fixture.store.schemaDocument()
            var memo = DocumentedType()
            document.types[type("note")] = nil
            memo.renamedFrom = type("note")
            memo.fields = [
                field("heading"): DocumentedField(.string, renamedFrom: field("title")),
                field("itself"): DocumentedField(.reference(type("memo")), renamedFrom: field("self")),
                field("links"): DocumentedField(.array(.reference(type("memo")))),
                // A new field may take a name that has become free.
                field("fresh"): DocumentedField(.json),
            ]
            document.types[type("memo")] = memo
            document.types[type("page")]?.fields = [
                field("notes"): DocumentedField(.array(.reference(type("memo"))))
            ]
            let report = try await apply(document, to: fixture)
            #expect(!report.difference.losesData)
            #expect(try await fixture.store.schemaDocument().types[type("page")] == document.types[type("page")])
            #expect(try await fixture.psql("SELECT _id, heading, itself FROM memo") == "1|a|1")
            #expect(try await fixture.psql("SELECT type, id FROM _tombstone") == "memo|2")
            // The file may keep saying where the names come from.
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            try await fixture.keep(draft("memo/3", ["itself": .reference(id("memo/1"))]))
        }
    }

    @Test func whatIsLostIsCountedFirst() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [
                draft("gone/1", ["x": .integer(1)]), draft("note/1", ["old": .string("")]),
            ])
            try await fixture.psql(
                """
                INSERT INTO gone DEFAULT VALUES; INSERT INTO gone DEFAULT VALUES;
                ALTER TABLE note ADD n double precision, ADD t text, ADD r text, ADD b text;
                INSERT INTO note (_id, old, n, t, r, b) VALUES
                    ('1', 'x', 1, '12', '2', 'true'), ('2', NULL, 1.5, '+7', NULL, 'TRUE'),
                    ('3', 'y', 'NaN', '1.0', '9', NULL), ('4', NULL, 1e300, '12345678901234567890', 'x', 'false'),
                    ('5', NULL, -3, NULL, '1', '');
                """
            )
            let revision = try await fixture.psql("SELECT max(_revision) FROM note")
            var document = try await fixture.store.schemaDocument()
            document.types[type("gone")] = nil
            document.types[type("note")]?.fields = [
                field("n"): DocumentedField(.integer), field("t"): DocumentedField(.integer),
                field("r"): DocumentedField(.reference(type("note"))), field("b"): DocumentedField(.boolean),
            ]
            let report = try await fixture.store.compareSchema(with: document)
            let lost = Dictionary(uniqueKeysWithValues: report.losses.map { ($0.key.name, $0.value) })
            #expect(
                lost == [
                    "gone": .init(lost: 2, records: 2), "note.old": .init(lost: 2, records: 5),
                    "note.n": .init(lost: 3, records: 5), "note.t": .init(lost: 2, records: 5),
                    "note.r": .init(lost: 2, records: 5), "note.b": .init(lost: 2, records: 5),
                ]
            )
            try await fixture.store.applySchema(document, expecting: report.difference, repairing: true)
            let rows = try await fixture.psql("SELECT n, t, r, b FROM note ORDER BY _id")
            #expect(rows == "1|12|2|t\n|7||\n|||\n|||f\n-3||1|")
            // Rows that lost a value are new to those who catch up.
            let changed = try await fixture.psql(
                "SELECT string_agg(_id, '' ORDER BY _id) FROM note WHERE _revision > \(revision)"
            )
            #expect(changed == "2345")
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            #expect(try await fixture.psql("SELECT to_regclass('gone') IS NULL") == "t")
        }
    }

    @Test func safeConversionsKeepEveryValue() async throws {
        try await withStore { fixture in
            try await fixture.keep(
                draft(
                    "note/1",
                    [
                        "i": .integer(7), "j": .json(JSONText(validated: Array("[1]".utf8))),
                        "r": .reference(id("note/1")),
                    ]
                )
            )
            try await fixture.psql(
                """
                ALTER TABLE note ADD v varchar(9) DEFAULT 'dflt', ADD s bigserial, ADD q bigint GENERATED BY DEFAULT AS IDENTITY,
                    ADD w integer DEFAULT 3, ADD flag boolean DEFAULT true;
                """
            )
            var document = try await fixture.store.schemaDocument()
            #expect(document.types[type("note")]?.fields[field("s")]?.type == .sequence)
            document.types[type("note")]?.fields = [
                field("i"): DocumentedField(.number), field("j"): DocumentedField(.string),
                field("r"): DocumentedField(.string),
                field("v"): DocumentedField(.string, defaultValue: .string("new")),
                field("s"): DocumentedField(.integer), field("q"): DocumentedField(.integer),
                field("w"): DocumentedField(.string), field("flag"): DocumentedField(.string),
            ]
            let report = try await apply(document, to: fixture)
            #expect(!report.difference.losesData)
            #expect(try await fixture.psql("SELECT i, j, r, v, s, q, w, flag FROM note") == "7|[1]|1|dflt|1|1|3|true")
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            #expect(
                try await fixture.psql(
                    "INSERT INTO note (_id) VALUES ('2') RETURNING v, s IS NULL, q IS NULL, w IS NULL"
                )
                    == "new|t|t|t"
            )
        }
    }

    // MARK: All or nothing

    @Test func aPlanThatFailsChangesNothing() async throws {
        try await withStore { fixture in
            for name in ["1", "2"] {
                try await fixture.keep(draft("note/\(name)", ["title": .string("same")]))
            }
            var document = try await fixture.store.schemaDocument()
            let before = document
            document.types[type("fresh")] = DocumentedType()
            document.types[type("note")]?.indexes = [DocumentedIndex([.init("title")], isUnique: true)]
            let error = await #expect(throws: SkyrowError.self) { _ = try await apply(document, to: fixture) }
            #expect(error?.code == .incompatibleSchema)
            #expect(error?.message.contains("must be unique") == true)
            #expect(try await fixture.store.schemaDocument() == before)
        }
    }

    @Test func aSchemaThatChangedSinceItWasLookedAtIsLeftAlone() async throws {
        try await withStore { fixture in
            var document = try await fixture.store.schemaDocument()
            document.types[type("fresh")] = DocumentedType()
            let report = try await fixture.store.compareSchema(with: document)
            try await fixture.psql("SELECT _create_type('meanwhile')")
            let error = await #expect(throws: SkyrowError.self) {
                try await fixture.store.applySchema(document, expecting: report.difference, repairing: true)
            }
            #expect(error?.message == "The schema was changed meanwhile; look at it again.")
            #expect(try await fixture.psql("SELECT to_regclass('fresh') IS NULL") == "t")
        }
    }

    @Test func aViewOnAFieldKeepsIt() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/1", ["title": .string("a")]))
            try await fixture.psql("CREATE VIEW headings AS SELECT title FROM note")
            var document = try await fixture.store.schemaDocument()
            document.types[type("note")]?.fields = [:]
            let error = await #expect(throws: SkyrowError.self) { _ = try await apply(document, to: fixture) }
            #expect(error?.message.contains("depends on this field") == true)
        }
    }

    /// The rules of every type stand beside the types; a file without them leaves them as they are.
    @Test func aFileHasTheRulesOfEveryType() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("film/1", ["title": .string("x")]))
            var document = try await fixture.store.schemaDocument()
            #expect(document.accessOfAll == nil)
            var access = ClassAccess()
            access.fields = [field("title"): [.read: [.owner, .role("it's")]]]
            access.everyField = [.update: []]
            document.accessOfAll = access
            document.types[type("film")]?.access = ClassAccess()
            document.types[type("film")]?.access?.everyField = [.create: [.users]]
            let report = try await apply(document, to: fixture)
            #expect(
                Set(report.difference.changes.map(\.change.summary)) == [
                    "rules of access: create * users",
                    "rules of fields of every type: read title owner role:it's, update * none",
                ]
            )
            let rules = try #require(fixture.store.cache.current[type("film")]).rules.fields
            let ann = FieldAccess.user("ann")
            #expect(rules.standing(.read, of: field("title"), for: ann) == .owned)
            #expect(rules.standing(.update, of: field("other"), for: ann) == .none)
            let written = try await fixture.store.schemaDocument()
            #expect(written.accessOfAll == access)
            var silent = written
            silent.accessOfAll = nil
            #expect(try await fixture.store.compareSchema(with: silent).difference.changes.isEmpty)
            var without = written
            without.accessOfAll = ClassAccess()
            let removal = try await apply(without, to: fixture)
            #expect(removal.difference.changes.map(\.change.summary) == ["rules of fields of every type: none"])
            #expect(try await fixture.store.schemaDocument().accessOfAll == nil)
        }
    }

    @Test func otherProcessesLearnOfIt() async throws {
        try await withStore(.production) { fixture in
            try await withPostgresClient(fixture.database.url) { client in
                let other = RecordStore(client: client, schema: "app", mode: .production, logger: .quiet)
                var document = try await other.schemaDocument()
                document.types[type("fresh")] = DocumentedType(fields: [field("a"): DocumentedField(.string)])
                var events = fixture.store.client.listen("skyrow_schema").makeAsyncIterator()
                #expect(await events.next() == .connected)
                let report = try await other.compareSchema(with: document)
                try await other.applySchema(document, expecting: report.difference, repairing: true)
                guard case .notification(_, "app", _) = await events.next() else {
                    Issue.record("no notice came")
                    return
                }
                try await fixture.store.cache.reload()
                try await fixture.keep(draft("fresh/1", ["a": .string("x")]))
            }
        }
    }
}

extension StoreFixture {
    /// Saves a record after making what it lacks.
    func keep(_ draft: RecordDraft) async throws {
        if try !store.schemaPlan(saving: [draft]).isEmpty { try await store.createMissingSchema(for: [draft]) }
        let caller = Caller(kind: .master(actingAs: nil))
        for outcome in try await store.save([.draft(draft)], in: .everyone, caller: caller, atomic: true) {
            if case .failure(let error, _) = outcome { throw error }
        }
    }
}

extension SchemaLoss {
    /// `note.title`, or the type.
    fileprivate var name: String {
        switch self {
        case .records(let type): "\(type)"
        case .values(let field, let type), .misfits(let field, _, let type): "\(type).\(field)"
        }
    }
}
