import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct SchemaPlanTests {
    /// `note` with a field of every kind, `category`, and a view named `report`.
    private static let catalog = SchemaCatalog(
        rows: [
            row("category", "name", .text, "text"),
            row("note", "title", .text, "text"),
            row("note", "stars", .int8, "bigint"),
            row("note", "weight", .float8, "double precision"),
            row("note", "done", .bool, "boolean"),
            row("note", "due", .timestamptz, "timestamp with time zone"),
            row("note", "tags", .jsonb, "jsonb"),
            row("note", "data", .bytea, "bytea"),
            CatalogRow(
                relation: "note",
                isRecordTable: true,
                column: .init(name: "number", oid: .int8, typeName: "bigint", isSequence: true)
            ),
            CatalogRow(
                relation: "note",
                isRecordTable: true,
                column: .init(name: "category", oid: .text, typeName: "text", referredType: "category", foreignKey: "k")
            ),
            CatalogRow(
                relation: "note",
                isRecordTable: true,
                column: .init(name: "photo", oid: .text, typeName: "text", referredType: "_asset", foreignKey: "f")
            ),
            row("note", "price", PostgresOID(rawValue: 790), "money"),
            CatalogRow(
                relation: "note",
                isRecordTable: true,
                column: .init(name: "upper_title", oid: .text, typeName: "text", isWritable: false)
            ),
            row("user", "username", .text, "text"),
            CatalogRow(relation: "report", isRecordTable: false),
        ],
        replacing: SchemaCatalog(schema: "app", version: 0, tables: [])
    )

    private static func row(_ relation: String, _ name: String, _ oid: PostgresOID, _ typeName: String) -> CatalogRow {
        CatalogRow(relation: relation, isRecordTable: true, column: .init(name: name, oid: oid, typeName: typeName))
    }

    private func plan(_ request: SchemaRequest, _ mode: SchemaMode = .development) throws -> [SchemaChange] {
        try SchemaPlan(request, in: Self.catalog, mode: mode).changes
    }

    private func code(_ request: SchemaRequest, _ mode: SchemaMode = .development) -> ErrorCode? {
        do throws(SkyrowError) {
            _ = try SchemaPlan(request, in: Self.catalog, mode: mode)
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: What a column takes

    struct Fit: Sendable, CustomTestStringConvertible {
        var field: String
        var value: RecordValue
        var admission: FieldAdmission

        init(_ field: String, _ value: RecordValue, _ admission: FieldAdmission) {
            self.field = field
            self.value = value
            self.admission = admission
        }

        var testDescription: String { "\(field) \(value)" }
    }

    @Test(arguments: [
        Fit("title", .string("x"), .fits), Fit("title", .integer(1), .conflicts),
        Fit("title", .json(JSONText(validated: [])), .conflicts), Fit("title", .sequence, .conflicts),
        Fit("stars", .integer(1), .fits), Fit("stars", .number(2), .fits), Fit("stars", .number(2.5), .fitsWidened),
        Fit("stars", .number(1e300), .fitsWidened), Fit("stars", .sequence, .fits),
        Fit("stars", .string("1"), .fits), Fit("stars", .string("1.5"), .fits),
        Fit("stars", .boolean(true), .conflicts),
        Fit("weight", .number(1.5), .fits), Fit("weight", .integer(1), .fits), Fit("weight", .sequence, .fits),
        Fit("weight", .string("1"), .fits),
        Fit("number", .sequence, .fits), Fit("number", .integer(3), .fits), Fit("number", .number(3), .fits),
        Fit("number", .number(3.5), .conflicts),
        Fit("done", .boolean(true), .fits), Fit("done", .integer(1), .conflicts),
        Fit("due", .datetime(Timestamp(microseconds: 0)), .fits), Fit("due", .string("2020-01-01"), .fits),
        Fit("tags", .json(JSONText(validated: [])), .fits), Fit("tags", .string("x"), .conflicts),
        Fit("data", .bytes([1]), .fits), Fit("data", .string("x"), .fits),
        Fit("category", .reference(id("category/1")), .fits), Fit("category", .reference(id("note/1")), .conflicts),
        Fit("category", .string("1"), .fits),
        Fit("photo", .asset(asset("cat.png")), .fits), Fit("photo", .reference(id("note/1")), .conflicts),
        // A save refuses the text.
        Fit("photo", .string("x"), .fits), Fit("title", .asset(asset("cat.png")), .conflicts),
    ])
    func aColumnTakesItsOwnType(_ fit: Fit) throws {
        let column = try #require(Self.catalog[type("note")]?[field(fit.field)])
        #expect(column.type.admission(of: fit.value) == fit.admission)
        #expect(column.type.admission(of: .null) == .fits)
        let request = SchemaRequest.save([RecordDraft(id: id("note/1"), fields: [(field(fit.field), fit.value)])])
        switch fit.admission {
        case .fits:
            #expect(try plan(request, .production) == [])
        case .fitsWidened:
            #expect(try plan(request) == [.widenField(field(fit.field), of: type("note"))])
            #expect(code(request, .production) == .incompatibleSchema)
        case .conflicts:
            #expect(code(request) == .incompatibleSchema)
        }
    }

    /// PostgreSQL finds its own tables before those of an application.
    @Test(arguments: ["pg_class", "pg_user", "pg_mine"])
    func aNameOfPostgreSQLsIsRefusedAsSuch(_ name: String) {
        let requests = [
            SchemaRequest.save([RecordDraft(id: id("\(name)/1"), fields: [(field("a"), .integer(1))])]),
            .create([RecordType(name: type(name), fields: [:])]),
        ]
        for request in requests {
            let error = #expect(throws: SkyrowError.self) { try plan(request) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("begin with 'pg_'") == true)
        }
    }

    @Test(arguments: ["price", "upper_title"])
    func aColumnThatIsReadOnlyTakesNothing(_ name: String) {
        #expect(code(.save([draft("note/1", [name: .string("x")])])) == .incompatibleSchema)
    }

    // MARK: Saving

    @Test func aSaveOfKnownFieldsChangesNothing() throws {
        let drafts = [draft("note/1", ["title": .string("x")]), draft("category/1", ["name": .null])]
        #expect(try plan(.save(drafts), .production) == [])
    }

    @Test func theFirstSaveMakesTypesBeforeFields() throws {
        let drafts = [
            draft("post/1", ["title": .string("x"), "author": .reference(id("writer/1")), "count": .integer(1)]),
            draft("writer/1", ["best": .reference(id("post/1")), "gone": .null]),
        ]
        let expected: [SchemaChange] = [
            .createType(type("post")), .createType(type("writer")),
            .addField(field("author"), .reference(type("writer")), to: type("post")),
            .addField(field("count"), .integer, to: type("post")),
            .addField(field("title"), .string, to: type("post")),
            .addField(field("best"), .reference(type("post")), to: type("writer")),
        ]
        #expect(try plan(.save(drafts)) == expected)
        #expect(code(.save(drafts), .production) == .incompatibleSchema)
    }

    @Test func aTypeWithoutFieldsIsMade() throws {
        #expect(try plan(.save([draft("empty/1")])) == [.createType(type("empty"))])
    }

    @Test func nullForAnUnknownFieldMakesNothing() throws {
        #expect(try plan(.save([draft("note/1", ["unknown": .null])]), .production) == [])
    }

    @Test(arguments: [
        (RecordValue.integer(1), RecordValue.number(1.5), FieldType.number),
        (.number(1.5), .integer(1), .number),
        (.sequence, .integer(7), .sequence),
        (.string("a"), .null, .string),
        (.null, .boolean(true), .boolean),
    ])
    func twoValuesOfANewFieldAgree(_ first: RecordValue, _ second: RecordValue, _ expected: FieldType) throws {
        let drafts = [draft("note/1", ["fresh": first]), draft("note/2", ["fresh": second])]
        #expect(try plan(.save(drafts)) == [.addField(field("fresh"), expected, to: type("note"))])
    }

    @Test(arguments: [
        (RecordValue.integer(1), RecordValue.string("a")),
        (.sequence, .number(1.5)),
        (.reference(id("note/1")), .reference(id("category/1"))),
        (.boolean(true), .integer(1)),
    ])
    func twoValuesOfANewFieldConflict(_ first: RecordValue, _ second: RecordValue) {
        let drafts = [draft("note/1", ["fresh": first]), draft("note/2", ["fresh": second])]
        #expect(code(.save(drafts)) == .incompatibleSchema)
    }

    @Test func aReferenceNeedsItsType() throws {
        let missing = draft("note/1", ["where": .reference(id("place/1"))])
        #expect(code(.save([missing])) == .incompatibleSchema)
        #expect(try plan(.save([missing, draft("place/1")])).count == 2)
    }

    @Test(arguments: ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"])
    func namesThatPostgreSQLKeepsAreRefused(_ name: String) {
        #expect(code(.save([draft("note/1", [name: .integer(1)])])) == .invalidArgument)
        #expect(code(.create([RecordType(name: type("note"), fields: [field(name): .string])])) == .invalidArgument)
        #expect(code(.rename(field("title"), to: field(name), of: type("note"))) == .invalidArgument)
    }

    @Test func aNameTakenByAnotherRelationIsRefused() {
        #expect(code(.save([draft("report/1")])) == .incompatibleSchema)
        #expect(code(.create([RecordType(name: type("report"))])) == .incompatibleSchema)
    }

    // MARK: schema:create, schema:rename, schema:delete

    @Test func createAddsWhatIsMissing() throws {
        let wanted = RecordType(name: type("note"), fields: [field("title"): .string, field("fresh"): .datetime])
        #expect(try plan(.create([wanted]), .production) == [.addField(field("fresh"), .datetime, to: type("note"))])
    }

    @Test func createRefusesAnotherType() {
        let wanted = RecordType(name: type("note"), fields: [field("stars"): .number])
        #expect(code(.create([wanted])) == .incompatibleSchema)
    }

    @Test func createLetsNewTypesReferToEachOther() throws {
        let types = [
            RecordType(name: type("egg"), fields: [field("hen"): .reference(type("hen"))]),
            RecordType(name: type("hen"), fields: [field("egg"): .reference(type("egg"))]),
        ]
        #expect(try plan(.create(types)).prefix(2) == [.createType(type("egg")), .createType(type("hen"))])
        #expect(code(.create([types[0]])) == .incompatibleSchema)
    }

    @Test func aFieldIsRenamed() throws {
        let change = SchemaChange.renameField(field("title"), to: field("name"), of: type("note"))
        #expect(try plan(.rename(field("title"), to: field("name"), of: type("note")), .production) == [change])
    }

    @Test(arguments: [
        (SchemaRequest.rename(field("nothing"), to: field("x"), of: type("note")), ErrorCode.resourceNotFound),
        (.rename(field("title"), to: field("stars"), of: type("note")), .resourceNotFound),
        (.rename(field("title"), to: field("x"), of: type("nothing")), .resourceNotFound),
        (.rename(field("username"), to: field("x"), of: .user), .invalidArgument),
        (.delete(field("nothing"), of: type("note")), .resourceNotFound),
        (.delete(field("title"), of: type("nothing")), .resourceNotFound),
        (.delete(field("username"), of: .user), .invalidArgument),
    ])
    func renamingAndDeletingAreRefused(_ request: SchemaRequest, _ expected: ErrorCode) {
        #expect(code(request) == expected)
    }

    @Test func aFieldIsDeleted() throws {
        #expect(try plan(.delete(field("title"), of: type("note"))) == [.deleteField(field("title"), of: type("note"))])
    }
}
