import Foundation
import FoundationNetworking
import SkyrowHTTP
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The metrics, logs and spans of a running service, and what the manual and the dashboard say about them.
@Suite struct ObservedServiceTests {
    private static let documentation = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Documentation").standardized

    @Test func theManualAndTheDashboardSpeakOfMetricsThatThereAre() async throws {
        try await withService { service in
            try await work(service)
            #expect(try await service.status("metrics") == 401)
            let master = try service.key("SKYROW_MASTER_KEY")
            let (page, answer) = try await service.get("metrics", headers: ["Authorization": "Bearer \(master)"])
            #expect(answer.value(forHTTPHeaderField: "Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            let metrics = try ScrapedMetrics(page)
            expectCatalog(metrics)
            try expectDashboard(metrics)
            #expect(
                metrics.values[#"skyrow_requests_total{application="app",action="record:fetch",outcome="OK"}"#] == 3
            )
            #expect(
                metrics.values[#"skyrow_requests_total{application="app",action="unknown",outcome="MethodNotFound"}"#]
                    == 1
            )
            #expect(
                metrics.values[#"skyrow_request_duration_seconds_count{application="app",action="record:fetch"}"#] == 4
            )
            #expect(metrics.values[#"skyrow_refusals_total{application="app",outcome="AccessKeyNotAccepted"}"#] == 1)
            #expect(metrics.values[#"skyrow_access_denied_total{application="app",layer="credentials"}"#] == 1)
            #expect(metrics.values[#"skyrow_access_denied_total{application="app",layer="permission"}"#] == 1)
            for (outcome, count) in [("OK", 1), ("InvalidCredentials", 2)] as [(String, Double)] {
                let name = #"skyrow_logins_total{application="app",method="password",outcome="\#(outcome)"}"#
                #expect(metrics.values[name] == count, "\(outcome)")
            }
            #expect(metrics.values[#"skyrow_codes_total{application="app",kind="verify",outcome="refused"}"#] == 1)
            #expect(try #require(metrics.values["skyrow_password_hash_seconds_count"]) == 4)
            #expect(try #require(metrics.values[#"skyrow_rules_age_seconds{application="app"}"#]) < 600)
            #expect(metrics.values[#"skyrow_sessions_live{application="app"}"#] != nil)
            #expect(metrics.values[#"skyrow_files{application="app",state="stored"}"#] == 0)
            #expect(metrics.values[#"skyrow_file_storage_bytes{application="app"}"#] == 0)
            #expect(metrics.values[#"skyrow_audience_roles_count{application="app"}"#] != nil)
            #expect(metrics.values["skyrow_postgres_up"] == 1)
            #expect(try #require(metrics.values[#"skyrow_schema_types{application="app"}"#]) == 2)
            // Names of types, fields and users are nobody's business here.
            #expect(!page.contains("note") && !page.contains("ann"))
        }
    }

    @Test func theManualsTableIsTheCatalog() throws {
        let manual = try String(contentsOf: Self.documentation.appending(path: "Operations.md"), encoding: .utf8)
        let rows = manual.split(separator: "\n").filter { $0.hasPrefix("| `skyrow_") || $0.hasPrefix("| `process_") }
        let expected = MetricCatalog.entries.map { entry in
            let labels = entry.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(entry.name)` | \(entry.kind.rawValue) | \(labels) | \(entry.help) |"
        }
        #expect(rows.map(String.init) == expected)
    }

    @Test func aTraceAndASlowStatementLeadToTheirRequest() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: [
                "--development", "--slow-statement", "0", "--metrics", "0.0.0.0:0", "--trace-file",
                folder.path + "/traces",
            ],
            logLevel: "info"
        )
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let (note, master) = (try await service.saveNote("hidden-7f3a"), try service.key("SKYROW_MASTER_KEY"))
        let ids = #"{"ids":["note/\#(note)"]}"#
        let headers = ["traceparent": "00-\(trace)-00f067aa0ba902b7-01", "X-Request-Id": "r-7"]
        let (_, answer) = try await service.rpc("record:fetch", ids, headers: headers)
        let response = try #require(TraceParent(answer.value(forHTTPHeaderField: "traceresponse") ?? ""))
        #expect(response.traceID.description == trace)
        let unsampled = ["traceparent": "00-\(String(trace.reversed()))-00f067aa0ba902b7-00"]
        try await service.rpc("record:fetch", ids, headers: unsampled)
        let broken = ["traceparent": "00-\(trace.uppercased())-00f067aa0ba902b7-01", "X-Request-Id": "r-8"]
        let (_, ownTrace) = try await service.rpc("record:fetch", ids, headers: broken)
        let begun = try #require(TraceParent(ownTrace.value(forHTTPHeaderField: "traceresponse") ?? ""))
        #expect(begun.traceID.description != trace)

        // The address that metrics have to themselves is told in the log.
        var port: Int?
        var slow: [String: LogValue]?
        var requests: [[String: LogValue]] = []
        try await waiting(for: "the lines of three requests") {
            service.process.send(signal: SIGKILL)
        } _: {
            for await line in service.complaints {
                // Neither values nor keys are for those who read logs.
                #expect(!line.contains(note) && !line.contains(master))
                let entry = try JSONDecoder().decode([String: LogValue].self, from: Data(line.utf8))
                if entry["message"] == "Serving metrics" { port = entry["port"]?.text.flatMap { Int($0) } }
                if entry["message"] == "A statement was slow", entry["request_id"] == "r-7" { slow = entry }
                if entry["message"] == "Request" { requests.append(entry) }
                if port != nil, requests.last?["request_id"] == "r-8" { break }
            }
        }
        let traced = requests.suffix(3)
        #expect(traced.map { $0["request_id"] == "r-7" } == [true, false, false])
        #expect(traced.map { $0["trace_id"]?.text } == [trace, String(trace.reversed()), begun.traceID.description])
        let statement = try #require(slow)
        #expect(statement["action"] == "record:fetch")
        #expect(statement["trace_id"] == .text(trace))
        #expect(statement["queue"] == "read")
        #expect(statement["statement"]?.text?.contains("FROM \"app\".\"note\"") == true)
        #expect(statement["run_milliseconds"]?.number != nil)
        #expect(statement["wait_milliseconds"]?.number != nil)

        let bound = try #require(port)
        let own = try #require(URL(string: "http://127.0.0.1:\(bound)/metrics"))
        // Other machines reach it, so it is not open.
        let (_, refusal) = try await URLSession.shared.data(from: own)
        #expect((refusal as? HTTPURLResponse)?.statusCode == 401)
        var question = URLRequest(url: own)
        question.setValue("Bearer \(master)", forHTTPHeaderField: "Authorization")
        let (page, _) = try await URLSession.shared.data(for: question)
        let metrics = try ScrapedMetrics(String(decoding: page, as: UTF8.self))
        #expect(try #require(metrics.values["skyrow_postgres_slow_statements_total"]) > 0)
        #expect(try await service.status("metrics") == 404)

        // What still waits is written at the end.
        #expect(await service.terminate() == .exited(0))
        let spans = try Self.spans(folder.path + "/traces")
        let file = try String(contentsOfFile: folder.path + "/traces", encoding: .utf8)
        #expect(!file.contains(note) && !file.contains(master))
        let request = try #require(spans.first { $0.spanId == response.spanID.description })
        #expect(request.name == "record:fetch")
        #expect(request.parentSpanId == "00f067aa0ba902b7")
        #expect(request.kind == 2)
        let children = spans.filter { $0.traceId == trace && $0.parentSpanId == request.spanId }
        #expect(children.map(\.name) == ["SELECT"])
        #expect(children.allSatisfy { $0.kind == 3 && $0.startTimeUnixNano >= request.startTimeUnixNano })
        #expect(!spans.contains { $0.traceId == String(trace.reversed()) })
        #expect(spans.contains { $0.name == "record:save" && $0.parentSpanId == nil })
    }

    @Test func aMetricsKeyThatEveryApplicationHasIsRefused() async throws {
        let folder = try TemporaryDirectory()
        let result = try await Tool.run(
            "serve",
            "--data-directory",
            folder.path,
            "--database-url",
            "postgresql:///x?host=/nowhere",
            environment: [
                "SKYROW_API_KEY": "a-key-that-all-have", "SKYROW_MASTER_KEY": "a-key-that-few-have",
                "SKYROW_METRICS_KEY": "a-key-that-all-have",
            ]
        )
        #expect(result.status == .exited(78))
        #expect(result.errors.contains("metrics-key and api-key must differ"))
    }

    // MARK: - What is compared

    /// Some of everything that is counted by a label.
    private func work(_ service: RunningService) async throws {
        _ = try await service.saveNote("first")
        for _ in 0..<3 { _ = try await service.call("record:fetch", #"{"ids":["note/first"]}"#) }
        _ = try await service.call("record:query", #"{"record_type":"note"}"#)
        _ = try await service.call("auth:signup", #"{"auth_data":{"username":"ann"},"password":"a long secret"}"#)
        for (user, password) in [("ann", "a long secret"), ("ann", "a wrong one"), ("eve", "a long secret")] {
            try await service.rpc("auth:login", #"{"auth_data":{"username":"\#(user)"},"password":"\#(password)"}"#)
        }
        try await service.rpc("auth:verify:confirm", #"{"code":"none"}"#)
        let key = ["X-Skygear-API-Key": try service.key("SKYROW_API_KEY")]
        try await service.rpc("record:query", #"{"record_type":"note","explain":true}"#, headers: key)
        try await service.rpc("no:such", "{}")
        try await service.rpc("record:fetch", "{}", headers: ["X-Skygear-API-Key": "wrong"])
    }

    /// Metrics of what this service does not have: it has no providers, no requests for files, no bucket, and no function servers.
    private static let absent: Set = [
        "skyrow_jwks_age_seconds", "skyrow_file_requests_total", "skyrow_s3_requests_total",
        "skyrow_function_calls_total", "skyrow_function_seconds", "skyrow_function_server_up",
        "skyrow_function_server_restarts_total", "skyrow_function_slots_used",
    ]

    /// Whether a metric, or the histogram that it is a part of, is absent.
    private static func isAbsent(_ metric: String) -> Bool {
        absent.contains(metric.hasSuffix("_bucket") ? String(metric.dropLast("_bucket".count)) : metric)
    }

    private func expectCatalog(_ metrics: ScrapedMetrics) {
        let entries = MetricCatalog.entries.filter { !Self.absent.contains($0.name) }
        #expect(Set(metrics.families.keys) == Set(entries.map(\.name)))
        for entry in entries {
            let family = metrics.families[entry.name]
            #expect(family?.kind == entry.kind.rawValue, "\(entry.name)")
            #expect(family?.help == entry.help, "\(entry.name)")
            #expect(family?.labels == Set(entry.labels), "\(entry.name)")
        }
    }

    private func expectDashboard(_ metrics: ScrapedMetrics) throws {
        let file = Self.documentation.appending(path: "grafana/skyrow.json")
        let queries = Self.queries(in: try JSONSerialization.jsonObject(with: Data(contentsOf: file)))
        #expect(queries.count > 40)
        // Prometheus adds the first two to whatever it reads.
        let added: Set = ["job", "instance"]
        var shown: Set<String> = []
        for query in queries {
            let parts = PromQL(query)
            #expect(!parts.metrics.isEmpty, "\(query)")
            var labels = added
            for selector in parts.metrics {
                let family = metrics.family(of: selector.metric)
                if Self.isAbsent(selector.metric) {
                    var labels = MetricCatalog.entries.first { selector.metric.hasPrefix($0.name) }?.labels ?? []
                    if selector.metric.hasSuffix("_bucket") { labels.append("le") }
                    #expect(selector.labels.isSubset(of: added.union(labels)), "\(query)")
                    #expect(parts.groupings.isSubset(of: labels), "\(query)")
                    shown.insert(selector.metric)
                    continue
                }
                #expect(family != nil, "There is no \(selector.metric): \(query)")
                let known = added.union(family?.labels ?? [])
                #expect(selector.labels.isSubset(of: known), "\(selector.metric) has no such label: \(query)")
                labels.formUnion(known)
                if selector.metric.hasSuffix("_bucket") { labels.insert("le") }
                shown.insert(selector.metric)
            }
            guard !parts.metrics.contains(where: { Self.isAbsent($0.metric) }) else { continue }
            #expect(parts.groupings.isSubset(of: labels), "No metric has such a label: \(query)")
        }
        // Nothing is measured in vain.
        let hidden = MetricCatalog.entries.map(\.name).filter { name in !shown.contains { $0.hasPrefix(name) } }
        #expect(hidden == ["process_virtual_memory_bytes"])
    }

    /// Every query of a dashboard, those of its variables among them.
    private static func queries(in json: Any) -> [String] {
        if let list = json as? [Any] { return list.flatMap(queries) }
        guard let object = json as? [String: Any] else { return [] }
        var found = object.values.flatMap(queries)
        if let query = object["expr"] as? String { found.append(query) }
        if let variable = object["definition"] as? String,
            let match = variable.wholeMatch(of: /label_values\((.*), \w+\)/)
        {
            found.append(String(match.1))
        }
        return found
    }

    private struct Span: Decodable {
        var traceId: String
        var spanId: String
        var parentSpanId: String?
        var name: String
        var kind: Int
        var startTimeUnixNano: String
    }

    /// The spans of a file that a collector would read.
    private static func spans(_ path: String) throws -> [Span] {
        struct Document: Decodable {
            struct Resource: Decodable {
                struct Scope: Decodable { var spans: [Span] }
                var scopeSpans: [Scope]
            }
            var resourceSpans: [Resource]
        }
        return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            .map { try JSONDecoder().decode(Document.self, from: Data($0.utf8)) }
            .flatMap(\.resourceSpans).flatMap(\.scopeSpans).flatMap(\.spans)
    }
}

@Suite struct PromQLTests {
    @Test(
        arguments: [
            ("up", ["up"], []), ("rate(a_total[5m])", ["a_total"], []),
            (
                #"sum by (le, action) (rate(x_bucket{job=~"$job", action!="by (z)"}[$__rate_interval]))"#,
                ["x_bucket action job"], ["action", "le"]
            ),
            ("a / (a + b) * 1000 > bool 2 or vector(0)", ["a", "a", "b"], []),
            (#"histogram_quantile(0.99, sum without(queue)(c{l="\"}"}))"#, ["c l"], ["queue"]),
            ("a unless b offset 5m", ["a", "b"], []),
        ] as [(String, [String], [String])]
    )
    func namesAreFound(query: String, metrics: [String], groupings: [String]) {
        let parts = PromQL(query)
        #expect(parts.metrics.map { ([$0.metric] + $0.labels.sorted()).joined(separator: " ") } == metrics)
        #expect(parts.groupings.sorted() == groupings)
    }
}
