import InMemoryTracing
import SkyrowTestSupport
import Testing
import Tracing

@testable import SkyrowHTTP

/// The span of a request, made by whatever tracer the process has.
@Suite struct RequestSpanTests {
    @Test func arequestIsASpanThatSaysWhatBecameOfIt() async throws {
        let tracer = InMemoryTracer()
        let ann = try await withService(tracing: RequestTracing(tracer)) { service in
            let ann = try await service.signUp("ann")
            _ = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, token: ann.token)
            _ = try await service.v1("/record/fetch", #"{"ids":7}"#)
            _ = try await service.rpc(#"[{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}]"#)
            try await withConnection(port: service.port) { connection in
                for path in ["/healthz", "/readyz", "/metrics", "/console/x"] {
                    try await connection.get(path)
                    _ = try await connection.response()
                }
            }
            return ann
        }
        let spans = tracer.finishedSpans
        // Probes and scrapers would outnumber the rest.
        try #require(spans.map(\.operationName) == ["auth:signup", "record:fetch", "record:fetch", "rpc.batch"])
        #expect(spans.allSatisfy { $0.kind == .server && $0.parentSpanID == nil })
        #expect(spans[1].attributes.get("enduser.id") == .string(ann.id))
        #expect(spans[1].attributes.get("skyrow.outcome") == .string("OK"))
        #expect(spans[1].attributes.get("http.request.method") == .string("POST"))
        #expect(spans[1].attributes.get("http.response.status_code") == .int64(200))
        #expect(spans[1].attributes.get("error.type") == nil)
        #expect(spans[2].attributes.get("error.type") == .string("BadRequest"))
        #expect(spans[3].attributes.get("skyrow.calls") == .int64(1))
        // What a client got wrong is no fault of ours.
        #expect(spans.allSatisfy { $0.status == nil })
        #expect(spans.allSatisfy { $0.endInstant.nanosecondsSinceEpoch >= $0.startInstant.nanosecondsSinceEpoch })
    }

    @Test func ourOwnFaultsAreMarked() async throws {
        let tracer = InMemoryTracer()
        try await withService(tracing: RequestTracing(tracer)) { service in
            try await service.database.psql(
                """
                CREATE FUNCTION app.fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN RAISE EXCEPTION 'a text of the database' USING ERRCODE = 'XX001'; END$$;
                CREATE TRIGGER fail BEFORE INSERT ON app_internal._user FOR EACH ROW EXECUTE FUNCTION app.fail();
                """
            )
            _ = try await service.v1("/auth/signup", "{}")
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.status?.code == .error)
        #expect(!"\(span)".contains("a text of the database"))
    }

    @Test func withoutATracerNothingIsTraced() {
        #expect(RequestTracing.bootstrapped == nil)
        let tracing = withTracer(InMemoryTracer()) { RequestTracing.bootstrapped }
        #expect(tracing != nil)
    }
}
