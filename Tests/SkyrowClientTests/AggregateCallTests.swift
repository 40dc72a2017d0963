import SkyrowJSON
import SkyrowModel
import Testing

@testable import SkyrowClient

@Suite struct AggregateCallTests {
    @Test func groupsAreAskedForAndRead() async throws {
        let scripted = ScriptedClient([
            .result(
                #"{"groups":[{"day":"tue","n":5,"sum":46116860184273879035,"avg":0.5},{"n":2,"sum":7}],"info":{"has_more":true}}"#
            )
        ])
        let query = try AggregateQuery("lap").filter(Field("seconds") > 3).grouped(by: "day")
            .grouped(by: "_created_at", in: TimeBucket(.week, timeZone: "Europe/Warsaw"), as: "week")
            .computing("n", .count).computing("sum", .sum, of: "big").computing("avg", .average, of: "seconds")
            .having(Field("n") > 1).sorted(by: "n", .descending, .last).limited(to: 2)
        let answer = try await scripted.client.publicDatabase.aggregate(query)
        #expect(answer.hasMore)
        #expect(answer.groups.map { $0["day"] } == [.string("tue"), nil])
        #expect(answer.groups.map { $0["n"] } == [.integer(5), .integer(2)])
        #expect(answer.groups.map { $0["avg"] } == [.number(0.5), nil])
        #expect(answer.groups.map { $0["sum"] } == [nil, .integer(7)])
        #expect(answer.groups.map { $0.digits(of: "sum") } == ["46116860184273879035", "7"])
        #expect(answer.groups[0].digits(of: "avg") == nil)
        let body = scripted.transport.bodies[0]
        let sent = #"""
            "params":{"database_id":"_public","record_type":"lap","predicate":["gt",{"$type":"keypath","$val":"seconds"},3],\#
            "group_by":{"day":{"$type":"keypath","$val":"day"},\#
            "week":{"bucket":"week","of":{"$type":"keypath","$val":"_created_at"},"time_zone":"Europe/Warsaw"}},\#
            "aggregates":{"n":["count"],"sum":["sum",{"$type":"keypath","$val":"big"}],\#
            "avg":["avg",{"$type":"keypath","$val":"seconds"}]},"having":["gt",{"$type":"keypath","$val":"n"},1],\#
            "sort":[[{"$type":"keypath","$val":"n"},"desc","nulls_last"]],"limit":2}
            """#
        #expect(body.contains(sent))
    }
}
