import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What leads from record to record in files: parents as other references, and relations as arrays of them.
@Suite(.timeLimit(.minutes(60))) struct ReferenceTransferTests {
    private static let formats: [FileFormat] = [.csv, .json, .ndjson]

    @Test(arguments: formats) func parentsAreExportedAndImported(format: FileFormat) async throws {
        let folder = RecordType(
            name: type("folder"),
            fields: [.parent: .reference(type("folder")), field("title"): .string]
        )
        let rows = """
            INSERT INTO folder (_id, _database, _parent, title) VALUES ('1', '_public', '2', 'x'),
                ('2', '_public', NULL, 'y'), ('~ann/1', 'ann', '~ann/2', NULL), ('~ann/2', 'ann', NULL, NULL)
            """
        let question = "SELECT _id, _parent, title FROM folder ORDER BY _id"
        let known = try await transfer([folder], as: format, rows: rows, question: question)[type("folder")]
        #expect(known?.fields[.parent] == .reference(type("folder")) && known?.deleteRules[.parent] == .cascade)
    }

    @Test(arguments: formats) func rulesAndLanguagesAreExportedAndImported(format: FileFormat) async throws {
        let film = RecordType(
            name: type("film"),
            fields: [
                field("title"): .string, field("note"): .string, field("author"): .reference(type("person")),
                field("editor"): .reference(type("person")), field("sequel"): .reference(type("film")),
            ],
            deleteRules: [field("author"): .cascade, field("editor"): .setNull],
            textLanguages: [field("title"): .english, field("note"): .german],
            storedTexts: [field("note")]
        )
        let rows = """
            INSERT INTO person (_id, _database) VALUES ('1', '_public');
            INSERT INTO film (_id, _database, title, author, editor) VALUES ('1', '_public', 'He runs', '1', '1'),
                ('2', '_public', NULL, NULL, '1')
            """
        let question = """
            SELECT _id, title, author, editor, _words('english', title) FROM film ORDER BY _id
            """
        let known = try await transfer(
            [film, RecordType(name: type("person"))],
            as: format,
            rows: rows,
            question: question
        )
        #expect(known[type("film")] == film)
    }

    /// What the type has already stays as it is.
    @Test func fieldsThatAreThereKeepTheirRulesAndLanguages() async throws {
        func film(_ rules: [FieldName: DeleteRule], _ languages: [FieldName: TextLanguage]) -> RecordType {
            RecordType(
                name: type("film"),
                fields: [field("title"): .string, field("sequel"): .reference(type("film"))],
                deleteRules: rules,
                textLanguages: languages
            )
        }
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        try await withStore { f in
            let exported = film([field("sequel"): .cascade], [field("title"): .english])
            _ = try await f.store.createTypes([exported])
            try await f.exportAll(as: .csv, to: directory)
        }
        try await withStore { f in
            let known = film([field("sequel"): .setNull], [field("title"): .german])
            _ = try await f.store.createTypes([known])
            try await f.importAll(of: directory)
            #expect(f.store.cache.current[type("film")]?.recordType == known)
        }
    }

    /// The rules of types are exported and imported with them, but for types that are there already.
    @Test(arguments: [false, true]) func rulesOfAccessAreExportedAndImported(isKnown: Bool) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        let film = RecordType(name: type("film"), fields: [field("title"): .string])
        var change = ClassAccessChange(type: type("film"))
        change.rules[.read] = ClassRule([.role("critic"), .field(field("title"))], .override)
        change.fields = [field("title"): [.read: .some([.role("critic")]), .update: .some([])]]
        change.defaultAccess = .some(AccessList([]))
        change.allowsAggregates = false
        let exported = ClassAccess().applying(change)
        try await withStore { f in
            _ = try await f.store.createTypes([film])
            _ = try await f.store.classAccess.change(change)
            try await f.psql("INSERT INTO film (_id) VALUES ('1')")
            try await f.exportAll(as: .json, to: directory)
        }
        try await withStore { f in
            if isKnown { _ = try await f.store.createTypes([film]) }
            try await f.importAll(of: directory)
            let access = try await f.store.classAccess.access(of: type("film"))
            #expect(access == (isKnown ? ClassAccess() : exported))
            let rules = f.store.cache.current[type("film")]?.rules
            #expect((rules?.classes != nil) == !isKnown && (rules?.fields.isEmpty == false) == !isKnown)
            let count = try await f.psql("SELECT count(*) FROM film")
            #expect(count == "1")
        }
    }

    /// Rules of every type and field go along as those of the type that they come to.
    @Test func rulesOfEveryTypeAreExportedAsThoseOfTheType() async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        let film = RecordType(name: type("film"), fields: [field("title"): .string, field("year"): .integer])
        try await withStore { f in
            _ = try await f.store.createTypes([film])
            try await f.psql(
                """
                INSERT INTO _field_rule VALUES ('*', '*', 'read', '{users}'), ('*', 'title', 'read', '{owner}'),
                    ('*', '*', 'update', '{}'), ('film', 'title', 'update', '{owner}'), ('song', 'title', 'read', '{}');
                INSERT INTO film (_id) VALUES ('1')
                """
            )
            try await f.exportAll(as: .json, to: directory)
        }
        try await withStore { f in
            try await f.importAll(of: directory)
            let access = try await f.store.classAccess.access(of: type("film"))
            #expect(access.fields == [field("title"): [.read: [.owner], .update: [.owner]]])
            #expect(access.everyField == [.read: [.users], .update: []])
            let count = try await f.psql("SELECT count(*) FROM _field_rule WHERE type = '*'")
            #expect(count == "0")
        }
    }

    /// That lists name relations is no rule: it comes with the records, and no export says it.
    @Test func listsThatNameRelationsAreExportedAndImported() async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        let film = RecordType(name: type("film"), fields: [field("title"): .string])
        let list = #"{"public": "read", "relation:friend": "update"}"#
        try await withStore { f in
            _ = try await f.store.createTypes([film])
            try await f.psql("INSERT INTO film (_id, _access) VALUES ('1', '\(list)')")
            #expect(try await f.store.classAccess.access(of: type("film")) == ClassAccess())
            try await f.exportAll(as: .csv, to: directory)
        }
        try await withStore { f in
            try await f.importAll(of: directory)
            #expect(try await f.psql("SELECT _access FROM film") == list)
            #expect(try await f.psql("SELECT relations FROM _class_option WHERE type = 'film'") == "{friend}")
            #expect(try await f.store.classAccess.access(of: type("film")) == ClassAccess())
        }
    }

    @Test(arguments: formats) func membersAreExportedAndImported(format: FileFormat) async throws {
        let types = [
            RecordType(name: type("post"), fields: [field("title"): .string, field("tags"): .relation(type("tag"))]),
            RecordType(name: type("tag"), fields: [field("related"): .relation(type("tag"))]),
        ]
        let rows = """
            INSERT INTO tag (_id, _database) VALUES ('1', '_public'), ('a "b"', '_public'), ('~ann/1', 'ann');
            INSERT INTO post (_id, _database, title) VALUES ('1', '_public', 'x'), ('2', '_public', NULL), ('~ann/1', 'ann', 'y');
            INSERT INTO "post.tags" VALUES ('1', '1'), ('1', 'a "b"'), ('~ann/1', '~ann/1'), ('~ann/1', '1');
            INSERT INTO "tag.related" VALUES ('1', '1'), ('1', 'a "b"')
            """
        let question = """
            SELECT 'post', _from, _to FROM "post.tags" UNION ALL SELECT 'tag', _from, _to FROM "tag.related"
            UNION ALL SELECT _id, title, tags::text FROM post ORDER BY 1, 2, 3
            """
        let known = try await transfer(types, as: format, rows: rows, question: question)
        #expect(known[type("post")]?.fields[field("tags")] == .relation(type("tag")))
    }
}
