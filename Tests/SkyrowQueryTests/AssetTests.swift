import SkyrowModel
import Testing

@testable import SkyrowQuery

/// Files are compared by their names, like references.
@Suite struct AssetTests {
    private static let cat = Asset(AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "cat.png"))
    private static let dog = Asset(AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "dog.png"))
    private static let photo = path("photo")

    private static func resolve(_ query: RecordQuery) throws -> ResolvedQuery {
        var resolver = Resolver(schema: TestSchema.notes, root: TestSchema.notes.note, access: RecordAccess(.ann))
        return try resolver.resolve(query)
    }

    private static func truth(_ predicate: Predicate, _ stored: Asset?) throws -> Truth {
        let fields = stored.map { [field("photo"): StoredValue.scalar(.text($0.name.rawValue))] } ?? [:]
        let note = StoredRecord(type: type("note"), storedID: "1", fields: fields)
        return MemoryInterpreter(try resolve(RecordQuery(type: note.type, predicate: predicate))) { _, _ in nil }
            .truth(of: note)
    }

    private static let rows: [(predicate: Predicate, cat: Truth, missing: Truth)] = [
        (.compare(.eq, "photo", .asset(cat)), .yes, .unknown), (.compare(.eq, "photo", .asset(dog)), .no, .unknown),
        (.compare(.neq, "photo", .asset(dog)), .yes, .unknown), (.compare(.eq, "photo", .null), .no, .yes),
        (.compare(.exists, "photo", .boolean(true)), .yes, .no),
        (.isIn("photo", [.asset(dog), .null, .asset(cat)]), .yes, .unknown), (.isIn("photo", []), .no, .no),
        (.isIn("photo", [.null]), .no, .unknown),
        (.list(.nin, "photo", [.asset(dog)]), .yes, .unknown), (.paths(.eq, "photo", "photo"), .yes, .unknown),
    ]

    @Test func aFileIsComparedByItsName() throws {
        for row in Self.rows {
            #expect(try Self.truth(row.predicate, Self.cat) == row.cat, "\(row.predicate)")
            #expect(try Self.truth(row.predicate, nil) == row.missing, "\(row.predicate)")
        }
    }

    /// Each operator is either about files, or says in a sentence which ones are.
    @Test func everyOtherOperatorIsRefused() {
        let file = RecordValue.asset(Self.cat)
        let comparisons: [ComparisonOperator] = [
            .gt, .gte, .lt, .lte, .like, .ilike, .startsWith, .endsWith, .contains,
        ]
        let refused: [Predicate] =
            comparisons.flatMap { [.compare($0, "photo", file), .compare($0, "photo", .string("a"))] }
            + [ComparisonOperator.containsAll, .containsAny, .containedBy].map { .list($0, "photo", [file]) }
            + [
                .paths(.lt, "photo", "photo"), .paths(.eq, "photo", "title"), .paths(.eq, "category", "photo"),
                .between(.keyPath(Self.photo), file, file), .match(.keyPath(Self.photo), "a"),
                .regex(.keyPath(Self.photo), "a", ignoresCase: false), .elements(Self.photo, .any, .and([])),
                .found("photo", in: "note"), .found("photo", in: "note", key: "photo"),
                .compare(.eq, "photo", .string(Self.cat.name.rawValue)),
                .compare(.eq, "photo", .reference(id("note/1"))),
                .isIn("photo", [.string(Self.cat.name.rawValue)]), .compare(.eq, "title", file),
                .compare(.eq, "category", file), .compare(.eq, "tags", file),
                .comparison(.eq, .function(.fold, Self.photo), .value(.string("a"))),
                .comparison(.eq, .function(.size, Self.photo), .value(.integer(1))),
            ]
        for predicate in refused {
            let error = #expect(throws: SkyrowError.self, "\(predicate)") {
                try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
            }
            #expect(error?.code == .invalidArgument && error?.path != nil, "\(predicate)")
        }
    }

    @Test func recordsAreSortedByTheirFiles() throws {
        let query = RecordQuery(type: type("note"), sort: [SortKey(Self.photo)])
        #expect(try Self.resolve(query).sort.map(\.column.kind) == [.asset, .id(type("note"))])
        #expect(ValueKind.asset.answerType == .asset && ValueKind.asset.isText)
    }
}
