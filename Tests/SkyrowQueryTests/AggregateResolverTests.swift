import SkyrowModel
import Testing

@testable import SkyrowQuery

/// Which questions about groups have a meaning.
@Suite struct AggregateResolverTests {
    private static func resolve(
        _ change: (inout AggregateQuery) -> Void,
        _ root: String = "note",
        _ caller: Caller = .ann
    ) throws -> ResolvedAggregate {
        var query = AggregateQuery(type: type(root))
        change(&query)
        let table = try #require(TestSchema.notes[type(root)])
        var resolver = Resolver(schema: TestSchema.notes, root: table, access: RecordAccess(caller))
        return try resolver.resolve(query)
    }

    private static func key(_ name: String, _ keyPath: String? = nil, in unit: TimeBucket.Unit? = nil) -> GroupKey {
        GroupKey(name, FieldPath(unchecked: keyPath ?? name), in: unit.map { TimeBucket($0) })
    }

    private static func aggregate(_ name: String, _ function: Aggregate.Function, _ keyPath: String? = nil) -> Aggregate
    {
        Aggregate(name, function, keyPath.map { FieldPath(unchecked: $0) })
    }

    private static let n = aggregate("n", .count)

    private typealias Row = (code: ErrorCode, path: String, change: (inout AggregateQuery) -> Void)

    @Test func whatHasNoMeaningIsNamed() {
        let rows: [Row] = [
            (.invalidArgument, "aggregates", { _ in }),
            (.invalidArgument, "group_by", { $0.groupKeys = (0..<6).map { Self.key("k\($0)", "title") } }),
            (.invalidArgument, "aggregates", { $0.aggregates = (0..<17).map { Self.aggregate("a\($0)", .count) } }),
            (.recordQueryInvalid, "group_by.k", { $0.groupKeys = [Self.key("k", "missing")] }),
            (.recordQueryInvalid, "group_by.k.of", { $0.groupKeys = [Self.key("k", "missing", in: .day)] }),
            (.invalidArgument, "group_by.k.of", { $0.groupKeys = [Self.key("k", "title", in: .day)] }),
            (.invalidArgument, "group_by.k", { $0.groupKeys = [Self.key("k", "tags")] }),
            (.invalidArgument, "group_by.k", { $0.groupKeys = [Self.key("k", "data")] }),
            (.invalidArgument, "group_by.k", { $0.groupKeys = [Self.key("k", "_access")] }),
            (.invalidArgument, "group_by._k", { $0.groupKeys = [Self.key("_k", "title")] }),
            (.invalidArgument, "group_by.a b", { $0.groupKeys = [Self.key("a b", "title")] }),
            (
                .invalidArgument, "group_by.k",
                {
                    $0.groupKeys = [Self.key("k", "title"), Self.key("k", "stars")]
                }
            ),
            (
                .invalidArgument, "aggregates.title",
                {
                    $0.groupKeys = [Self.key("title")]
                    $0.aggregates = [Self.aggregate("title", .count)]
                }
            ),
            (.invalidArgument, "aggregates.a[1]", { $0.aggregates = [Self.aggregate("a", .sum)] }),
            (.recordQueryInvalid, "aggregates.a[1]", { $0.aggregates = [Self.aggregate("a", .sum, "missing")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .sum, "title")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .average, "done")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .minimum, "tags")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .maximum, "category")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .maximum, "photo")] }),
            (.invalidArgument, "aggregates.a[0]", { $0.aggregates = [Self.aggregate("a", .countDistinct, "price")] }),
            (
                .recordQueryInvalid, "having[1]",
                {
                    $0.aggregates = [Self.n]
                    $0.having = .compare(.gt, "stars", .integer(1))
                }
            ),
            (
                .recordQueryInvalid, "having[1]",
                {
                    $0.aggregates = [Self.n]
                    $0.having = .compare(.eq, "_id", .string("1"))
                }
            ),
            (
                .recordQueryInvalid, "having[2][1]",
                {
                    $0.groupKeys = [Self.key("category")]
                    $0.having = .and([
                        .compare(.eq, "category", .string("x")), .compare(.eq, "category.name", .string("x")),
                    ])
                }
            ),
            (
                .invalidArgument, "having[2]",
                {
                    $0.aggregates = [Self.n]
                    $0.having = .compare(.gt, "n", .string("x"))
                }
            ),
            (
                .recordQueryInvalid, "sort[1][0]",
                {
                    $0.aggregates = [Self.n]
                    $0.sort = [SortKey(path("n")), SortKey(path("title"))]
                }
            ),
            (
                .recordQueryInvalid, "sort[0][0]",
                {
                    $0.aggregates = [Self.n]
                    $0.sort = [SortKey(path("_created_at"))]
                }
            ),
            (
                .invalidArgument, "predicate[2]",
                {
                    $0.aggregates = [Self.n]
                    $0.predicate = .compare(.eq, "title", .integer(1))
                }
            ),
        ]
        for row in rows {
            let error = #expect(throws: SkyrowError.self) { try Self.resolve(row.change) }
            #expect(error?.code == row.code, "\(row.path)")
            #expect(error?.path == row.path)
        }
    }

    @Test func fieldsThatTheCallerDoesNotSeeCannotBeComputed() throws {
        let questions: [(path: String, change: (String) -> (inout AggregateQuery) -> Void)] = [
            ("group_by.k", { name in { $0.groupKeys = [Self.key("k", name)] } }),
            ("aggregates.a[1]", { name in { $0.aggregates = [Self.aggregate("a", .count, name)] } }),
        ]
        for question in questions {
            for (name, caller, isDenied) in [
                ("phone", Caller.master, true), ("email", Caller.anonymous, true), ("email", .ann, false),
                ("email", .master, false), ("username", .anonymous, false),
            ] {
                let change = question.change(name)
                guard isDenied else {
                    #expect(throws: Never.self) { try Self.resolve(change, "user", caller) }
                    continue
                }
                let error = #expect(throws: SkyrowError.self) { try Self.resolve(change, "user", caller) }
                #expect(error?.code == .recordQueryDenied && error?.path == question.path)
            }
        }
        let own = try Self.resolve({ $0.groupKeys = [Self.key("k", "email")] }, "user", .ann)
        guard case .key(let column, nil) = own.members[0].source else {
            Issue.record("\(own.members)")
            return
        }
        #expect(column.limit == ResolvedColumn.Limit(user: "ann", reach: .owned))
    }

    @Test func membersHoldWhatTheirFunctionMakes() throws {
        let rows: [(function: Aggregate.Function, field: String, kind: ValueKind, isUnbounded: Bool)] = [
            (.count, "title", .integer, false), (.countDistinct, "data", .integer, false),
            (.sum, "stars", .integer, true),
            (.sum, "serial", .integer, true), (.sum, "score", .number, false), (.average, "stars", .number, false),
            (.minimum, "title", .string, false), (.maximum, "due", .datetime, false),
            (.minimum, "done", .boolean, false),
            (.maximum, "data", .bytes, false), (.minimum, "_owner", .user, false), (.count, "tags", .integer, false),
            (.countDistinct, "photo", .integer, false),
        ]
        for row in rows {
            let resolved = try Self.resolve { $0.aggregates = [Self.aggregate("a", row.function, row.field)] }
            #expect(resolved.members.map(\.kind) == [row.kind])
            #expect(resolved.members.map(\.isUnbounded) == [row.isUnbounded])
        }
    }

    @Test func groupsAreInTheOrderOfTheirKeysAtLast() throws {
        let resolved = try Self.resolve {
            $0.groupKeys = [Self.key("title"), Self.key("stars"), Self.key("month", "due", in: .month)]
            $0.aggregates = [Self.n]
            $0.sort = [SortKey(path("n"), .descending), SortKey(path("stars"), .descending, .last)]
        }
        let names = resolved.sort.map { key -> String in
            guard case .field(let name, _) = key.column.place else { return "?" }
            return name.rawValue
        }
        #expect(names == ["n", "stars", "title", "month"])
        #expect(resolved.sort.map(\.direction) == [.descending, .descending, .ascending, .ascending])
        #expect(resolved.sort.map(\.missingComesFirst) == [true, false, false, false])
        #expect(resolved.members.map(\.isKey) == [true, true, true, false])
        #expect(resolved.records.joins.isEmpty)
    }
}
