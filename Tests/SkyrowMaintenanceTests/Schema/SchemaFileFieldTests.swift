import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What a file says of fields: references, languages and stored words.
@Suite struct SchemaFileFieldTests {
    @Test func aFileGivesRecordsAParentAndTakesItAway() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('list'), _create_type('item')")
            var document = try await fixture.store.schemaDocument()
            document.types[type("item")]?.fields[.parent] = DocumentedField(
                .reference(type("list")),
                onDelete: .cascade
            )
            try await fixture.apply(document)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql("SELECT count(*) FROM pg_trigger WHERE tgname = '_check_parent'") == "1")
            document.types[type("item")]?.fields[.parent] = nil
            let report = try await fixture.store.compareSchema(with: document)
            #expect(report.losesData)
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
                let report = try await fixture.apply(document)
                #expect(!report.losesData)
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
            try await fixture.apply(document)
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
            let name = try await fixture.store.createIndex(index).name
            let builder = IndexBuilder(client: fixture.store.client, logger: .quiet) { ["app"] }
            #expect(try await builder.pass())
            var document = try await fixture.store.schemaDocument()
            for language in [TextLanguage.english, .german, .words, .simple] {
                document.types[type("film")]?.fields[field("title")]?.textLanguage = language
                let report = try await fixture.apply(document)
                #expect(!report.losesData && report.difference.changes.map(\.change.kind) == ["set_text"])
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
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            var renamed = DocumentedField(.string, renamedFrom: field("name"), textLanguage: .french)
            document.types[type("film")]?.fields[field("name")] = nil
            document.types[type("film")]?.fields[field("label")] = renamed
            try await fixture.apply(document)
            renamed.renamedFrom = nil
            document.types[type("film")]?.fields[field("label")] = renamed
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("film")]?.fields[field("label")] = DocumentedField(.integer)
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("film")]?.fields[field("label")] = renamed
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
        }
    }

    /// Words are stored, stored in another language, and no longer, in a table with records and an index.
    @Test func whetherTheWordsOfATextAreStoredIsSaidByTheFile() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('film'); ALTER TABLE film ADD title text COLLATE \"C\"")
            try await fixture.store.cache.reload()
            try await fixture.keep(draft("film/1", ["title": "He runs"]))
            let index = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            let name = try await fixture.store.createIndex(index).name
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
                let report = try await fixture.apply(document)
                #expect(!report.losesData && report.difference.changes.map(\.change.kind) == ["set_text"])
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
            try await fixture.apply(document)
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
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            let columns =
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 'film'::regclass AND attname LIKE '\\_words%'"
            #expect(try await fixture.psql(columns) == "1")
            // A new field, one of another name, a text that becomes something else, and one that goes.
            var label = DocumentedField(.string, textLanguage: .english, storesWords: true)
            document.types[type("film")]?.fields[field("label")] = label
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            label.renamedFrom = field("label")
            document.types[type("film")]?.fields[field("label")] = nil
            document.types[type("film")]?.fields[field("name")] = label
            try await fixture.apply(document)
            label.renamedFrom = nil
            document.types[type("film")]?.fields[field("name")] = label
            // The name of its column is taken.
            document.types[type("film")]?.fields[field("label")] = label
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql(columns) == "3")
            document.types[type("film")]?.fields[field("name")] = DocumentedField(.integer)
            document.types[type("film")]?.fields[field("label")] = nil
            try await fixture.apply(document)
            #expect(try await fixture.store.schemaDocument() == document)
            #expect(try await fixture.psql(columns) == "1")
        }
    }
}
