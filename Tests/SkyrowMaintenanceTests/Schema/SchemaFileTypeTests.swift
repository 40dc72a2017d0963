import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// What a file says of types: their rules, their log and who follows them.
@Suite struct SchemaFileTypeTests {
    @Test func theLogHasOfOldRecordsWhatTheFileSays() async throws {
        try await withStore(.production) { fixture in
            var document = try await fixture.store.schemaDocument()
            document.types[type("large")] = DocumentedType(live: .key)
            document.types[type("small")] = DocumentedType()
            let identities = "SELECT relname, relreplident FROM pg_class WHERE relname IN ('large', 'small') ORDER BY 1"
            try await fixture.apply(document)
            #expect(try await fixture.psql(identities) == "large|d\nsmall|f")
            #expect(try await fixture.store.schemaDocument() == document)
            document.types[type("large")]?.live = .full
            document.types[type("small")]?.live = .key
            let report = try await fixture.apply(document)
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
            try await fixture.apply(document)
            #expect(try await fixture.psql(identities) == "large|f\nsmall|d")
        }
    }

    @Test func aFileSaysWhichTypesAreFollowed() async throws {
        try await withStore(.production) { fixture in
            var document = try await fixture.store.schemaDocument()
            document.types[type("note")] = DocumentedType(isFollowed: true)
            document.types[type("memo")] = DocumentedType()
            try await fixture.apply(document)
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
            var report = try await fixture.apply(document)
            document.types[type("text")]?.renamedFrom = nil
            #expect(report.difference.changes.map(\.change).contains(.setSync(true, of: type("memo"))))
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            document.types[type("text")]?.isFollowed = false
            report = try await fixture.apply(document)
            #expect(report.difference.changes.map(\.change) == [.setSync(false, of: type("text"))])
            #expect(try await builder.pass())
            #expect(try await fixture.psql(wishes) == "memo|ready")
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
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
            let report = try await fixture.apply(document)
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
            try await fixture.apply(document)
            #expect(try await fixture.store.classAccess.access(of: type("movie")) == film.access)
            #expect(try await fixture.store.classAccess.access(of: type("film")) == ClassAccess())
            // One that says nothing leaves them, and one that says none takes them away.
            document.types[type("movie")]?.renamedFrom = nil
            document.types[type("movie")]?.access = nil
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
            document.types[type("movie")]?.access = ClassAccess()
            let removal = try await fixture.apply(document)
            #expect(removal.difference.changes.map(\.change.summary) == ["access rules: none"])
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
            let report = try await fixture.apply(document)
            #expect(
                Set(report.difference.changes.map(\.change.summary)) == [
                    "access rules: create * users",
                    "field rules for every type: read title owner role:it's, update * none",
                ]
            )
            let rules = try #require(fixture.store.cache.current[type("film")]).rules.fields
            let ann = FieldAccess.user("ann")
            #expect(rules.standing(.read, of: field("title"), for: ann) == .owned)
            #expect(rules.standing(.update, of: field("other"), for: ann) == .never)
            let written = try await fixture.store.schemaDocument()
            #expect(written.accessOfAll == access)
            var silent = written
            silent.accessOfAll = nil
            #expect(try await fixture.store.compareSchema(with: silent).difference.changes.isEmpty)
            var without = written
            without.accessOfAll = ClassAccess()
            let removal = try await fixture.apply(without)
            #expect(removal.difference.changes.map(\.change.summary) == ["field rules for every type: none"])
            #expect(try await fixture.store.schemaDocument().accessOfAll == nil)
        }
    }
}
