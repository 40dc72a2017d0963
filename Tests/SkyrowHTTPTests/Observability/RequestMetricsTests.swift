import MetricsTestKit
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

@Suite struct RequestMetricsTests {
    /// A request and under which labels it counts.
    struct Row: Sendable {
        var path = "/rpc"
        var body: String
        var key: String? = TestService.apiKey
        let subject: String
        let outcome: String

        static func rpc(_ method: String, _ params: String, _ subject: String, _ outcome: String) -> Row {
            Row(
                body: #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#,
                subject: subject,
                outcome: outcome
            )
        }
    }

    static let rows: [Row] = [
        .rpc("record:fetch", #"{"ids":["note/1"]}"#, "record:fetch", "OK"),
        .rpc("record:fetch", #"{"ids":7}"#, "record:fetch", "BadRequest"),
        .rpc("rpc.discover", "{}", "rpc.discover", "OK"),
        .rpc("no:such", "{}", "unknown", "MethodNotFound"),
        Row(body: "{", subject: "unknown", outcome: "ParseError"),
        Row(body: "[]", subject: "unknown", outcome: "InvalidRequest"),
        Row(
            body: #"[{"jsonrpc":"2.0","id":1,"method":"me"},{"jsonrpc":"2.0","id":2,"method":"rpc.discover"}]"#,
            subject: "rpc.batch",
            outcome: "NotAuthenticated"
        ),
        Row(
            body: #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#,
            key: "wrong",
            subject: "record:fetch",
            outcome: "AccessKeyNotAccepted"
        ),
        Row(path: "/record/fetch", body: #"{"ids":["note/1"]}"#, subject: "record:fetch", outcome: "OK"),
        Row(path: "/", body: #"{"action":"no:such"}"#, subject: "unknown", outcome: "UndefinedOperation"),
        Row(path: "/", body: "{}", subject: "home", outcome: "OK"),
        Row(path: "/files/x", body: "", subject: "http", outcome: "UndefinedOperation"),
        Row(path: "/healthz", body: "", subject: "http", outcome: "UndefinedOperation"),
    ]

    @Test func aRequestCountsUnderItsSubjectAndOutcome() async throws {
        let metrics = TestMetrics()
        try await withService(metrics: metrics) { service in
            for row in Self.rows { _ = try await service.v1(row.path, row.body, key: row.key) }
        }
        let expected = Dictionary(Self.rows.map { ("app \($0.subject) \($0.outcome)", 1) }, uniquingKeysWith: +)
        let counters = metrics.counters(label: "skyrow_requests_total")
        let counts = counters.map { ($0.dimensions.map(\.1).joined(separator: " "), Int($0.totalValue)) }
        #expect(Dictionary(uniqueKeysWithValues: counts) == expected)
        #expect(counters.allSatisfy { $0.dimensions.map(\.0) == ["application", "action", "outcome"] })

        let times = metrics.timers(label: "skyrow_request_duration_seconds")
        let subjects = Dictionary(Self.rows.map { ($0.subject, 1) }, uniquingKeysWith: +)
        #expect(Dictionary(uniqueKeysWithValues: times.map { ($0.dimensions[1].1, $0.values.count) }) == subjects)
        #expect(times.allSatisfy { $0.values.allSatisfy { $0 > 0 } })
    }

    @Test func whatNeverBecameARequestCountsWithoutATime() async throws {
        let metrics = TestMetrics()
        try await withService(limits: HTTPLimits(body: 1000), metrics: metrics) { service in
            _ = try await service.v1("/rpc", String(repeating: " ", count: 1001))
        }
        let labels = [("application", "app"), ("action", "http"), ("outcome", "PayloadTooLarge")]
        #expect(try metrics.expectCounter("skyrow_requests_total", labels).totalValue == 1)
        #expect(metrics.timers.allSatisfy { $0.values.isEmpty })
    }

    @Test func namesThatClientsMakeUpShareOneLabel() async throws {
        let metrics = TestMetrics()
        try await withService(metrics: metrics) { service in
            for number in 0..<20 {
                _ = try await service.call("made:up\(number)", "{}")
                _ = try await service.v1("/", #"{"action":"made:up\#(number)"}"#)
                _ = try await service.v1("/made/up\(number)", "{}")
            }
        }
        let labels = Set(metrics.counters(label: "skyrow_requests_total").map { "\($0.dimensions)" })
        // One for each envelope.
        #expect(labels.count == 2, "\(labels)")
    }

    @Test func subjectsKnowTheirPlaces() {
        #expect(RequestSubject.all.map(\.ordinal) == Array(RequestSubject.all.indices))
        #expect(Set(RequestSubject.all.map(\.name)).count == RequestSubject.all.count)
    }
}
