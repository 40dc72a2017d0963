import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Reads of relations and roles take the turns of what they cost, and the largest of them is bounded.
@Suite(.timeLimit(.minutes(60))) struct MembershipTurnTests {
    /// One read of each costly class at once; others do not wait.
    private static let limits = ReadLimits(
        running: 8,
        joins: 1,
        scans: 1,
        waiting: 8,
        share: ClientShare(percent: 100),
        patience: .milliseconds(1)
    )

    /// Reads with a turn of its own.
    private typealias Read = @Sendable (ActionService, Caller, ReadTurn) async throws -> Void

    @Test func whatCostsMuchWaitsForATurnOfItsClass() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await service.signUp("ann").caller
            let reads: [(String, QueryExplanation.CostClass, Read)] = [
                (
                    "query", .join,
                    { _ = try await $0.run(Actions.relationQuery, RelationQuery(.follow, .inward), by: $1, turn: $2) }
                ),
                (
                    "requests", .join,
                    { _ = try await $0.run(Actions.relationRequests, RelationPart(), by: $1, turn: $2) }
                ),
                ("roles", .scan, { _ = try await $0.run(Actions.roleList, PageRequest(), by: $1, turn: $2) }),
            ]
            for (name, costClass, read) in reads {
                let queues = ReadQueues(Self.limits)
                let busy = ReadTurn(of: ClientKey(high: 0, low: 1), in: queues)
                try await busy.move(to: costClass)
                let turn = ReadTurn(of: ClientKey(high: 0, low: 2), in: queues)
                try await turn.enter()
                // The only turn of the class is taken.
                try await expectError(.overloaded) { try await read(service, ann, turn) }
                #expect(queues.all.counts == ReadCounts(running: 0, waiting: 0), "\(name)")
                busy.leave()
                try await read(service, ann, turn)
                #expect(queues[costClass].counts == ReadCounts(running: 1, waiting: 0), "\(name)")
                turn.leave()
                #expect(queues[costClass].counts == ReadCounts(running: 0, waiting: 0), "\(name)")
            }
            // One who sees every role reads as many as are sent.
            let queues = ReadQueues(Self.limits)
            let turn = ReadTurn(of: ClientKey(high: 0, low: 1), in: queues)
            try await turn.enter()
            _ = try await service.run(Actions.roleList, PageRequest(), by: ServiceFixture.masterCaller, turn: turn)
            #expect(queues.all.counts == ReadCounts(running: 1, waiting: 0))
            turn.leave()
        }
    }

    @Test func theWorstRequestCountsToABound() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").caller
            let user = try #require(ann.userID)
            // Without the triggers, which take a lock for each pair.
            try await fixture.psql(
                """
                SET session_replication_role = replica;
                INSERT INTO "user" (_id, _owner) SELECT 'f' || i, 'f' || i FROM generate_series(1, 102000) AS i;
                INSERT INTO _user (id) SELECT 'f' || i FROM generate_series(1, 102000) AS i;
                INSERT INTO _relation (user_id, name, other_id) SELECT 'f' || i, 'follow', '\(user)' FROM generate_series(1, 102000) AS i;
                SET session_replication_role = DEFAULT;
                ANALYZE "user"; ANALYZE _relation
                """
            )
            func page(_ direction: RelationDirection, _ part: RelationPart) async throws -> RelationPage {
                let query = RelationQuery(.follow, direction, part)
                return try await fixture.service.run(Actions.relationQuery, query, by: ann)
            }
            let end = RelationPart(limit: PageRequest.maximumLimit, offset: RecordQuery.maximumOffset)
            let last = try await page(.inward, end)
            #expect(last.count == 101_000 && last.users.count == 1000)
            // A part behind all of them is empty, and the count is what it is.
            let none = try await page(.outward, RelationPart(offset: 5))
            #expect(none.count == 0 && none.users.isEmpty)
            let nothing = try await page(.inward, RelationPart(limit: 0))
            #expect(nothing.count == 101_000 && nothing.users.isEmpty)
        }
    }
}
