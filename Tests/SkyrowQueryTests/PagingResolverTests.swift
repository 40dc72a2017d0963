import SkyrowModel
import Testing

@testable import SkyrowQuery

/// Which pages can be asked for.
@Suite struct PagingResolverTests {
    private static func resolve(_ change: (inout RecordQuery) -> Void) throws -> ResolvedQuery {
        var query = RecordQuery(type: type("note"))
        change(&query)
        var resolver = Resolver(schema: TestSchema.notes, root: TestSchema.notes.note, access: RecordAccess(.ann))
        return try resolver.resolve(query)
    }

    private typealias Change = (inout RecordQuery) -> Void

    private static let names = [
        "title", "stars", "score", "done", "due", "data", "serial", "category", "next", "_created_at",
    ]

    @Test func aPageThatCannotBeAskedForIsNamed() {
        let rows: [(path: String, refused: Change, taken: Change)] = [
            ("offset", { $0.offset = 100_001 }, { $0.offset = 100_000 }),
            (
                "offset",
                {
                    $0.offset = 1
                    $0.position = .after("x")
                },
                {
                    $0.offset = 1
                    $0.position = .last
                }
            ),
            (
                "required",
                {
                    $0.isRequired = true
                    $0.limit = 0
                },
                {
                    $0.isRequired = true
                    $0.limit = 1
                }
            ),
            (
                "sort[8]",
                {
                    $0.sort = Self.names.prefix(9).map { SortKey(path($0)) }
                    $0.position = .before("x")
                },
                {
                    $0.sort = Self.names.prefix(8).map { SortKey(path($0)) }
                    $0.position = .before("x")
                }
            ),
            (
                "sort[8]",
                {
                    $0.sort = Self.names.map { SortKey(path($0)) }
                    $0.position = .after("x")
                },
                { $0.sort = Self.names.map { SortKey(path($0)) } }
            ),
        ]
        for row in rows {
            let error = #expect(throws: SkyrowError.self) { try Self.resolve(row.refused) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.path == row.path)
            #expect(throws: Never.self) { try Self.resolve(row.taken) }
        }
        let far = #expect(throws: SkyrowError.self) { try Self.resolve { $0.offset = 100_001 } }
        #expect(far?.info["arguments"] == .list([.string("offset"), .string("after")]))
    }

    @Test func theIDHasTheDirectionOfTheLastKey() throws {
        typealias Row = (sort: [SortKey], directions: [SortKey.Direction], missingComesFirst: [Bool])
        let rows: [Row] = [
            ([], [.ascending], [false]),
            ([SortKey(path("stars"))], [.ascending, .ascending], [false, false]),
            ([SortKey(path("stars"), .descending)], [.descending, .descending], [true, true]),
            ([SortKey(path("stars"), .descending, .last)], [.descending, .descending], [false, true]),
            ([SortKey(path("stars"), .ascending, .first)], [.ascending, .ascending], [true, false]),
            (
                [SortKey(path("stars"), .descending), SortKey(path("title"))],
                [.descending, .ascending, .ascending], [true, false, false]
            ),
            // The same column again decides nothing.
            (
                [SortKey(path("stars"), .descending), SortKey(path("stars"))], [.descending, .descending], [true, true]
            ),
            ([SortKey(path("_id"), .descending), SortKey(path("stars"))], [.descending], [true]),
        ]
        for row in rows {
            let sort = try Self.resolve { $0.sort = row.sort }.sort
            #expect(sort.map(\.direction) == row.directions)
            #expect(sort.map(\.missingComesFirst) == row.missingComesFirst)
        }
    }

    @Test func theLastRecordsAreTheNewestUnlessTheyAreSorted() throws {
        let rows: [(position: RecordQuery.Position, sort: [SortKey], keys: [ReservedColumn], isBackwards: Bool)] = [
            (.first, [], [.id], false), (.last, [], [.createdAt, .id], true), (.after("x"), [], [.id], false),
            (.before("x"), [], [.id], true), (.last, [SortKey(path("_updated_at"))], [.updatedAt, .id], true),
        ]
        for row in rows {
            let query = try Self.resolve {
                $0.position = row.position
                $0.sort = row.sort
            }
            #expect(query.sort.map(\.column.place) == row.keys.map { .metadata($0) })
            #expect(query.sort.map(\.direction) == row.keys.map { _ in .ascending })
            #expect(query.isBackwards == row.isBackwards)
        }
    }

    @Test func joinsOfInclusionsAreNotThoseThatAreCompared() throws {
        let query = try Self.resolve {
            $0.predicate = .compare(.eq, "category.name", .string("x"))
            $0.sort = [SortKey(path("next.title"))]
            $0.include = [
                Inclusion(name: "o", keyPath: path("_owner")), Inclusion(name: "c", keyPath: path("category")),
            ]
        }
        #expect(query.joins.count == 3)
        #expect(query.comparedJoins == 2)
    }
}
