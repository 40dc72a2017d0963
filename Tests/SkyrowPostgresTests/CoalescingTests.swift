import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

@Suite(.timeLimit(.minutes(60))) struct CoalescingTests {
    static let quotients = CoalescedStatement(
        many: """
            SELECT 60 / "q"."v", "q"."v", "q"."place" FROM unnest(\([Int64]())) WITH ORDINALITY AS "q" ("v", "place")
            WHERE "q"."v" < 100
            """
    )
    static let doubles = CoalescedStatement(
        many: """
            SELECT 2 * "q"."v", "q"."v", "q"."place" FROM unnest(\([Int64]())) WITH ORDINALITY AS "q" ("v", "place")
            """
    )

    static func quotient(_ divisor: Int64) -> @Sendable (PostgresClient) async throws -> Int64? {
        { client in
            let row = try await client.readOne(
                "SELECT 60 / v, v FROM (SELECT \(divisor)) AS q (v) WHERE v < 100",
                coalescing: quotients
            )
            return try row.map { try $0.result.decode(row: $0.index, column: 0) }
        }
    }

    static func double(_ number: Int64) -> @Sendable (PostgresClient) async throws -> Int64? {
        { client in
            let row = try await client.readOne("SELECT 2 * v, v FROM (SELECT \(number)) AS q (v)", coalescing: doubles)
            return try row.map { try $0.result.decode(row: $0.index, column: 0) }
        }
    }

    /// 0 once a quotient that was asked for and given up has ended without one.
    static func cancelled(_ divisor: Int64) -> @Sendable (PostgresClient) async throws -> Int64? {
        { client in
            let task = Task { try await quotient(divisor)(client) }
            task.cancel()
            return await task.result.succeeded ? 1 : 0
        }
    }

    static func plain(_ number: Int64) -> @Sendable (PostgresClient) async throws -> Int64? {
        { try await $0.read("SELECT \(number)").decode(row: 0, column: 0) }
    }

    @Test func thoseOfOneGatheringComeTogetherAndTheOthersStayInOrder() {
        let (a, b) = (CoalescedStatement(many: ""), CoalescedStatement(many: ""))
        let items: [(String, CoalescedStatement?)] = [("1", a), ("2", nil), ("3", b), ("4", a), ("5", nil), ("6", b)]
        let arranged = CoalescingPlan.arranged(items, by: \.1)
        #expect(arranged.map(\.0) == ["1", "4", "2", "3", "6", "5"])
        #expect(CoalescingPlan.runs(of: arranged.map(\.1)).map(\.members) == [0..<2, 2..<3, 3..<5, 5..<6])
        #expect(CoalescingPlan.arranged(items.filter { $0.1 === a }, by: \.1).map(\.0) == ["1", "4"])
        #expect(CoalescingPlan.runs(of: arranged.map(\.1)).map { $0.statement === a } == [true, false, false, false])
        #expect(CoalescingPlan.runs(of: []).isEmpty)
    }

    @Test func gatheredValuesAreTheArraysOfThem() throws {
        func bindings(_ text: String?, _ number: Int64) -> PostgresBindings {
            var bindings = PostgresBindings()
            bindings.append(text)
            bindings.append(number)
            return bindings
        }
        let coalesced = try #require(
            PostgresBindings.coalesced([
                bindings("a", 1), bindings(nil, .min), bindings("", 3), bindings("é\u{1F95B}", 4),
            ])
        )
        var arrays = PostgresBindings()
        arrays.append(["a", nil, "", "é\u{1F95B}"] as [String?])
        arrays.append([1, .min, 3, 4] as [Int64])
        #expect(coalesced.encoder.bytes == arrays.encoder.bytes)
        #expect(coalesced.values.map(\.type) == arrays.values.map(\.type))
        #expect(coalesced.values.map(\.length) == arrays.values.map(\.length))

        var failed = PostgresBindings()
        failed.append("\u{0}")
        failed.append(1 as Int64)
        var other = PostgresBindings()
        other.append(1 as Int64)
        other.append(1 as Int64)
        #expect(PostgresBindings.coalesced([bindings("a", 1), failed]) == nil)
        #expect(PostgresBindings.coalesced([bindings("a", 1), other]) == nil)
    }

    @Test func valuesAreReplacedInTheirOrder() {
        let condition = (1...11).map { "x = \(Int64($0))" as SQL }.joined(separator: " AND ") + " OR y"
        let replaced = condition.replacingValues { place in place == 10 ? "last" : "other" }
        #expect(
            replaced.text == Array(repeating: "x = other", count: 10).joined(separator: " AND ") + " AND x = last OR y"
        )
        #expect(replaced.bindings.isEmpty)
    }

    @Test func eachOfThoseThatWaitGetsItsOwnRow() async throws {
        try await withTemporaryDatabase { url in
            var statements: [@Sendable (PostgresClient) async throws -> Int64?] = []
            for number in 1...20 as ClosedRange<Int64> {
                statements += [Self.quotient(number), Self.plain(number), Self.double(number)]
            }
            statements += [Self.quotient(100), Self.quotient(60)]
            let (outcomes, statistics) = try await withWaitingClient(
                url,
                waiting: statements.count,
                configure: {
                    $0.readConnections = 1
                    $0.maximumReadBatch = 100
                },
                statements: statements
            )
            var expected: [Int64?] = []
            for number in 1...20 as ClosedRange<Int64> { expected += [60 / number, number, 2 * number] }
            expected += [nil, 1]
            #expect(try outcomes.map { try $0.get() } == expected)
            #expect(statistics.reads.batches == 1)
        }
    }

    @Test func oneThatFailsFailsAlone() async throws {
        try await withTemporaryDatabase { url in
            let (outcomes, _) = try await withWaitingClient(
                url,
                waiting: 4,
                configure: { $0.readConnections = 1 },
                statements: [Self.quotient(1), Self.quotient(0), Self.quotient(2), Self.plain(7)]
            )
            #expect(outcomes.map { try? $0.get() } == [60, nil, 30, 7])
            #expect(throws: PostgresError.self) { try outcomes[1].get() }
            #expect(outcomes.map(\.succeeded) == [true, false, true, true])
        }
    }

    @Test func oneThatIsCancelledIsLeftOut() async throws {
        try await withTemporaryDatabase { url in
            let (outcomes, _) = try await withWaitingClient(
                url,
                waiting: 3,
                configure: { $0.readConnections = 1 },
                statements: [
                    Self.quotient(1), Self.cancelled(2), Self.quotient(3), Self.quotient(4),
                ]
            )
            #expect(try outcomes.map { try $0.get() } == [60, 0, 20, 15])
        }
    }

    /// A read that was held up may be asked on two connections, in different company.
    @Test func theRowBelongsToTheAnswerThatCounts() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let result = try await client.read("SELECT n FROM generate_series(1, 4) AS n")
                let request = PostgresRequest(sql: "SELECT 1", groupCommit: .never, queueDeadline: .distantFuture)
                request.finish(.success(result), row: 3)
                request.finish(.success(result), row: 1)
                #expect(request.row == 3)
            }
        }
    }
}
