import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Where patterns end that would keep PostgreSQL busy within one row.
@Suite struct PatternBoundTests {
    private typealias Limits = RecordPredicate.PatternLimits

    private static func patterns(_ count: Int, _ pattern: String) -> Predicate {
        .or((0..<count).map { .compare($0.isMultiple(of: 2) ? .like : .ilike, "title", .string(pattern)) })
    }

    @Test(
        arguments: [
            (patterns(Limits.count, "%x%"), true), (patterns(Limits.count + 1, "%x%"), false),
            (.not(.and([patterns(20, "x"), patterns(11, "x")])), false),
            (patterns(1, String(repeating: "x", count: Limits.bytes)), true),
            (patterns(1, String(repeating: "x", count: Limits.bytes + 1)), false),
            (patterns(1, String(repeating: "é", count: Limits.bytes / 2 + 1)), false),
            (patterns(2, String(repeating: "x", count: Limits.allBytes / 2)), true),
            (patterns(3, String(repeating: "x", count: Limits.allBytes / 2)), false),
            (patterns(1, String(repeating: "%a", count: Limits.wildcards)), true),
            (patterns(1, String(repeating: "%a", count: Limits.wildcards + 1)), false),
        ] as [(Predicate, Bool)]
    )
    func patternsAreBounded(predicate: Predicate, isAllowed: Bool) throws {
        do {
            _ = try PrintedPredicate(predicate, .everyone, .ann)
            #expect(isAllowed)
        } catch let error as SkyrowError {
            #expect(!isAllowed && error.code == .invalidArgument)
            guard case .list(let arguments) = error.info["arguments"] else { throw error }
            #expect(arguments.first == .string("predicate"))
        }
    }
}
