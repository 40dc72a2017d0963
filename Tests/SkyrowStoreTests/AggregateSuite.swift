import SkyrowModel
import SkyrowTestSupport

@testable import SkyrowStore

/// What suites of aggregates ask, and read of the answer.
protocol AggregateSuite {}

extension AggregateSuite {
    typealias Group = [String: RecordValue]

    static func groups(
        _ f: RecordsFixture,
        _ query: AggregateQuery,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [Group] {
        try await f.store.aggregate(query, with: RecordAccess(caller, in: scope, for: .reading)).groups.map { group in
            var collector = MemberCollector()
            group.emit(into: &collector)
            return collector.members
        }
    }

    static func key(_ name: String, _ keyPath: String? = nil, in bucket: TimeBucket? = nil) -> GroupKey {
        GroupKey(name, path(keyPath ?? name), in: bucket)
    }

    static func aggregate(_ name: String, _ function: Aggregate.Function, _ keyPath: String? = nil) -> Aggregate {
        Aggregate(name, function, keyPath.map { path($0) })
    }

    static func error(_ f: RecordsFixture, _ query: AggregateQuery, _ caller: Caller = .ann) async -> SkyrowError? {
        do {
            _ = try await groups(f, query, caller)
            return nil
        } catch {
            return error as? SkyrowError
        }
    }
}

/// The members of one record.
private struct MemberCollector: RecordSink {
    var members: [String: RecordValue] = [:]

    mutating func beginRecord() {}
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) { members[key.name] = RecordValue(value) }
    mutating func endRecord() {}
}
