import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// What a page behind a place becomes, in each form.
@Suite struct KeysetTextTests {
    private static func column(_ name: String) -> ResolvedColumn {
        ResolvedColumn(
            place: .field(field(name), position: SchemaCatalog.notes.note.position(of: field(name))!),
            kind: .integer
        )
    }

    private static let id = ResolvedColumn(place: .metadata(.id), kind: .id(type("note")))
    private static let text = QueryText(root: SchemaCatalog.notes.note, joined: [])

    private static func keyset(_ keys: [(String, SortKey.Direction, SortKey.Nulls?)], _ values: [Int64?]) -> Keyset {
        let sort = keys.map { ResolvedSort(column($0), $1, $2) }
        return Keyset(
            sort: sort + [ResolvedSort(id, sort.last?.direction ?? .ascending)],
            values: values.map { $0.map { .integer($0) } } + [.text("7")]
        )
    }

    @Test func aRowComparisonIsOneRange() {
        let down = Self.keyset([("stars", .descending, nil), ("serial", .descending, nil)], [5, 6])
        #expect(Self.text.row(down).text == #"("r"."stars", "r"."serial", "r"."_id") < ($1, $2, $3)"#)
        #expect(Self.text.rowOrder(down).text == #""r"."stars" DESC, "r"."serial" DESC, "r"."_id" DESC"#)
        // The first key is NULL in no such record, so the plain index gives the order; the second one may be.
        let up = Self.keyset([("stars", .ascending, .first), ("serial", .ascending, .first)], [5, 6])
        #expect(Self.text.row(up).text == #"("r"."stars", "r"."serial", "r"."_id") > ($1, $2, $3)"#)
        #expect(Self.text.rowOrder(up).text == #""r"."stars", "r"."serial" NULLS FIRST, "r"."_id""#)
        #expect(
            BoundValues(Self.text.row(down).bindings)
                == BoundValues {
                    $0.append(5 as Int64)
                    $0.append(6 as Int64)
                    $0.append("7")
                }
        )
    }

    @Test func aBranchIsARangeOfItsOwn() {
        let keyset = Self.keyset([("stars", .descending, .last), ("serial", .ascending, .first)], [5, nil])
        let branches = keyset.branches.map {
            (Self.text.condition($0, of: keyset).text, Self.text.order(of: $0, in: keyset).text)
        }
        let expected = [
            (#""r"."stars" < $1"#, #""r"."stars" DESC, "r"."serial" NULLS FIRST, "r"."_id""#),
            (#""r"."stars" IS NULL"#, #""r"."stars", "r"."serial" NULLS FIRST, "r"."_id""#),
            (#""r"."stars" = $1 AND "r"."serial" IS NOT NULL"#, #""r"."serial", "r"."_id""#),
            (#""r"."stars" = $1 AND "r"."serial" IS NULL AND "r"."_id" > $2"#, #""r"."serial", "r"."_id""#),
        ]
        #expect(branches.map(\.0) == expected.map(\.0))
        #expect(branches.map(\.1) == expected.map(\.1))
    }

    @Test func aConditionBeginsWithABoundOnTheFirstKey() {
        let rows: [(SortKey.Direction, SortKey.Nulls?, Int64?, String)] = [
            (
                .descending, nil, 5,
                #""r"."stars" <= $1 AND (("r"."stars" < $2) OR ("r"."stars" = $3 AND "r"."_id" < $4))"#
            ),
            (
                .ascending, nil, 5,
                #"("r"."stars" >= $1 OR "r"."stars" IS NULL) AND (("r"."stars" > $2) OR ("r"."stars" IS NULL) "#
                    + #"OR ("r"."stars" = $3 AND "r"."_id" > $4))"#
            ),
            (.ascending, nil, nil, #""r"."stars" IS NULL AND (("r"."stars" IS NULL AND "r"."_id" > $1))"#),
            (
                .descending, nil, nil,
                #"(("r"."stars" IS NOT NULL) OR ("r"."stars" IS NULL AND "r"."_id" < $1))"#
            ),
        ]
        for (direction, nulls, value, text) in rows {
            let keyset = Self.keyset([("stars", direction, nulls)], [value])
            #expect(Self.text.condition(keyset).text == text)
        }
    }

    @Test(
        arguments: [
            (.ascending, nil, ""), (.ascending, .last, ""), (.ascending, .first, " NULLS FIRST"),
            (.descending, nil, " DESC"),
            (.descending, .first, " DESC"), (.descending, .last, " DESC NULLS LAST"),
        ] as [(SortKey.Direction, SortKey.Nulls?, String)]
    )
    func theirOwnPlaceOfNullIsLeftToPostgreSQL(
        _ direction: SortKey.Direction,
        _ nulls: SortKey.Nulls?,
        _ ending: String
    ) {
        #expect("\(ResolvedSort(Self.column("stars"), direction, nulls).ending)" == ending)
        let id = ResolvedSort(Self.id, direction, nulls)
        #expect("\(id.ending)" == (direction == .descending ? " DESC" : ""))
    }

    @Test func anIndexGivesTheOrderOfAPlainColumn() {
        func text(_ names: [String], _ change: (inout TableIndex) -> Void = { _ in }) -> QueryText {
            let note = SchemaCatalog.notes.note
            let indexes = names.map { names in
                var index = TableIndex("index", names.split(separator: " ").map { TableIndex.Key(String($0)) })
                change(&index)
                return index
            }
            return QueryText(
                root: RecordTable(
                    name: note.name,
                    schema: note.schema,
                    identifier: note.identifier,
                    columns: note.columns,
                    indexes: indexes
                ),
                joined: []
            )
        }
        let stars = ResolvedSort(Self.column("stars"))
        #expect(text(["stars"]).isIndexed(stars, in: .everyone))
        #expect(text(["stars"]).isIndexed(stars, in: .union))
        #expect(!text(["title"]).isIndexed(stars, in: .everyone))
        #expect(text(["_database stars"]).isIndexed(stars, in: .user("ann")))
        #expect(!text(["_database stars"]).isIndexed(stars, in: .union))
        #expect(!text(["owner stars"]).isIndexed(stars, in: .everyone))
        #expect(text(["stars"]) { $0.keys[0] = .init("stars", isDescending: true) }.isIndexed(stars, in: .everyone))
        for change: (inout TableIndex) -> Void in [
            { $0.isValid = false }, { $0.condition = "(stars > 1)" }, { $0.method = "gin" },
            { $0.keys[0].hasOrderOfColumn = false }, { $0.keys[0] = .init("stars", form: .fold) },
            { $0.keys[0] = .init("stars", nullsFirst: true) },
        ] {
            #expect(!text(["stars"], change).isIndexed(stars, in: .everyone))
        }
        for change: (inout ResolvedColumn) -> Void in [
            { $0.limit = ResolvedColumn.Limit(user: "ann", reach: .owned) }, { $0.join = 0 }, { $0.readsWireID = true },
        ] {
            var key = stars
            change(&key.column)
            #expect(!text(["stars"]).isIndexed(key, in: .everyone))
        }
        var title = ResolvedSort(Self.column("title"))
        title.column.kind = .string
        #expect(text(["title"]).isIndexed(title, in: .everyone))
        title.column.collation = .database
        #expect(!text(["title"]).isIndexed(title, in: .everyone))
    }

    @Test func anIndexGivesTheOrderOfAValueInsideJSON() throws {
        let note = SchemaCatalog.notes.note
        func isIndexed(_ key: TableIndex.Key, _ change: (inout ResolvedColumn) -> Void = { _ in }) throws -> Bool {
            let table = RecordTable(
                name: note.name,
                schema: note.schema,
                identifier: note.identifier,
                columns: note.columns,
                indexes: [TableIndex("index", [key])]
            )
            var resolver = Resolver(
                schema: SchemaCatalog.notes,
                root: table,
                access: RecordAccess(.ann, in: .everyone, for: .reading)
            )
            var path = path("tags.a.0")
            path.jsonType = .string
            var sort = try resolver.sort([SortKey(path)])
            change(&sort[0].column)
            return QueryText(root: table, joined: []).isIndexed(sort[0], in: .everyone)
        }
        func key(_ steps: [String], _ type: JSONValueType, of column: String = "tags") -> TableIndex.Key {
            TableIndex.Key(TableIndex.Key.JSONValue(column, steps, type))
        }
        var first = key(["a", "0"], .string)
        #expect(try isIndexed(first))
        first.isDescending = true
        #expect(try !isIndexed(first))
        first.nullsFirst = true
        #expect(try isIndexed(first))
        let others = [
            TableIndex.Key("tags"), key(["a"], .string), key(["a", "0"], .number),
            key(["a", "0"], .string, of: "data"),
        ]
        for other in others { #expect(try !isIndexed(other), "\(other)") }
        for change: (inout ResolvedColumn) -> Void in [
            { $0.limit = ResolvedColumn.Limit(user: "ann", reach: .owned) }, { $0.join = 0 }, { $0.folds = true },
            { $0.sortLanguage = "sv" },
        ] {
            #expect(try !isIndexed(key(["a", "0"], .string), change))
        }
    }
}
