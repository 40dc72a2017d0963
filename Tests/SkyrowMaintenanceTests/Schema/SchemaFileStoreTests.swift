import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// Files and databases for real, with psql as the witness.
@Suite struct SchemaFileStoreTests {
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
                ("photo", .asset),
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

            try await fixture.apply(document)
            let again = try await fixture.store.compareSchema(with: document)
            #expect(again.difference.isEmpty)
            #expect(try await fixture.store.schemaDocument() == document)

            // The default is what a record has that is saved without the field.
            try await fixture.keep(draft("a/1", ["text": .string("x")]))
            #expect(try await fixture.psql("SELECT d0 = '', d6, d12 FROM a") == "t|-1|[]")
        }
    }

    @Test func renamesKeepTheDataAndTombstonesFollow() async throws {
        try await withStore { fixture in
            _ = try await fixture.store.createTypes(
                [
                    RecordType(name: type("note"), fields: [field("links"): .array(.reference(type("note")))]),
                    RecordType(name: type("page"), fields: [field("notes"): .array(.reference(type("note")))]),
                ]
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
            let report = try await fixture.apply(document)
            #expect(!report.losesData)
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
            try await fixture.store.applySchema(
                document,
                expecting: report.difference,
                repairing: true,
                allowingLoss: true
            )
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
            let report = try await fixture.apply(document)
            #expect(!report.losesData)
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

    @Test func aPlanThatFailsChangesNothing() async throws {
        try await withStore { fixture in
            for name in ["1", "2"] { try await fixture.keep(draft("note/\(name)", ["title": .string("same")])) }
            var document = try await fixture.store.schemaDocument()
            let before = document
            document.types[type("fresh")] = DocumentedType()
            document.types[type("note")]?.indexes = [DocumentedIndex([.init("title")], isUnique: true)]
            let error = await #expect(throws: SkyrowError.self) { try await fixture.apply(document) }
            #expect(error?.code == .incompatibleSchema)
            #expect(error?.message.contains("in a unique field") == true)
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
                try await fixture.store.applySchema(
                    document,
                    expecting: report.difference,
                    repairing: true,
                    allowingLoss: true
                )
            }
            #expect(error?.message == "The schema has changed in the meantime; review the changes again.")
            #expect(try await fixture.psql("SELECT to_regclass('fresh') IS NULL") == "t")
        }
    }

    @Test func aViewOnAFieldKeepsIt() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/1", ["title": .string("a")]))
            try await fixture.psql("CREATE VIEW headings AS SELECT title FROM note")
            var document = try await fixture.store.schemaDocument()
            document.types[type("note")]?.fields = [:]
            let error = await #expect(throws: SkyrowError.self) { try await fixture.apply(document) }
            #expect(error?.message.contains("depends on this field") == true)
        }
    }

    @Test func otherProcessesLearnOfIt() async throws {
        try await withStore(.production) { fixture in
            try await withPostgresClient(fixture.database.url) { client in
                let other = RecordStore(client: client, schema: "app", mode: .production, logger: .quiet)
                var document = try await other.schemaDocument()
                document.types[type("fresh")] = DocumentedType(fields: [field("a"): DocumentedField(.string)])
                let channel = try await fixture.store.channel(of: .schema)
                var events = fixture.store.client.listen(channel).makeAsyncIterator()
                #expect(await events.next() == .connected)
                let report = try await other.compareSchema(with: document)
                try await other.applySchema(document, expecting: report.difference, repairing: true, allowingLoss: true)
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
    /// Gives the database the schema of a document.
    @discardableResult
    func apply(_ document: SchemaDocument) async throws -> SchemaReport {
        let report = try await store.compareSchema(with: document)
        try await store.applySchema(document, expecting: report.difference, repairing: true, allowingLoss: true)
        return report
    }

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
    var name: String {
        switch self {
        case .records(let type): "\(type)"
        case .values(let field, let type), .misfits(let field, _, let type): "\(type).\(field)"
        }
    }
}
