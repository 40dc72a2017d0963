import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct CatalogPartTests {
    private static func types(_ names: String...) -> CatalogPart {
        .types(Set(names.map { type($0) }))
    }

    @Test(arguments: [
        (CatalogPart.everything, "app"), (types("note"), "app note"), (types("writer", "note"), "app note,writer"),
    ])
    func aNoticeNamesTheTypes(_ part: CatalogPart, _ notice: String) {
        #expect("app" + part.notice == notice)
        #expect(CatalogPart(notice: notice, of: "app") == part)
    }

    @Test(
        arguments: [
            ("other", nil), ("other note", nil), ("apple", nil), ("app2 note", nil), ("app _user", .everything),
            ("app note,\u{E9}", .everything), ("app ", .everything), ("app note,,writer", types("note", "writer")),
        ] as [(String, CatalogPart?)]
    )
    func aNoticeInOtherWordsIsAboutEverything(_ notice: String, _ part: CatalogPart?) {
        #expect(CatalogPart(notice: notice, of: "app") == part)
    }

    @Test func aNoticeStaysWithinWhatPostgreSQLTakes() {
        let many = CatalogPart.types(Set((0..<200).map { type("type\($0)" + String(repeating: "x", count: 50)) }))
        #expect(many.notice == "")
    }

    @Test func everythingCoversEverything() {
        #expect(Self.types("a").union(Self.types("b")) == Self.types("a", "b"))
        #expect(Self.types("a").union(.everything) == .everything)
        #expect(CatalogPart.everything.union(Self.types("a")) == .everything)
    }

    @Test func aPartReplacesItselfAndNothingElse() {
        func rows(_ relation: String, _ fields: String...) -> [CatalogRow] {
            fields.map {
                CatalogRow(
                    relation: relation,
                    isRecordTable: true,
                    column: .init(name: $0, oid: .text, typeName: "text")
                )
            }
        }
        let nothing = SchemaCatalog(schema: "app", version: 0, tables: [])
        let whole = SchemaCatalog(
            rows: rows("note", "title") + rows("writer", "name") + rows("old", "x")
                + [
                    CatalogRow(relation: "report", isRecordTable: false),
                    CatalogRow(relation: "view", isRecordTable: false),
                ],
            replacing: nothing
        )
        let next = SchemaCatalog(
            rows: rows("note", "title", "stars") + rows("view", "a"),
            of: Self.types("note", "old", "view"),
            replacing: whole
        )
        #expect(next.tables.keys.sorted() == [type("note"), type("view"), type("writer")])
        #expect(next[type("note")]?.columns.count == 2)
        #expect(next[type("writer")] === whole[type("writer")])
        #expect(next.otherNames == ["report"])
    }
}
