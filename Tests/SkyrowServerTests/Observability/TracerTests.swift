import Foundation
import SkyrowHTTP
import Synchronization
import Testing
import Tracing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Spans, without a file.
@Suite struct TracerTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let remote = "00f067aa0ba902b7"

    /// What a caller says, and whether its trace is recorded with everything and with nothing to be recorded.
    @Test(
        arguments: [
            (nil, true, false),
            ("00-\(trace)-\(remote)-01", true, false),
            ("00-\(trace)-\(remote)-00", false, false),
            ("nonsense", true, false),
        ] as [(String?, Bool, Bool)]
    )
    func aCallerMayAskForLessAndNotForMore(field: String?, atOne: Bool, atZero: Bool) {
        for (ratio, isRecorded) in [(1.0, atOne), (0.0, atZero)] {
            let spans = Spans()
            let tracer = SpanTracer(ratio: ratio) { spans.append($0) }
            var context = ServiceContext.topLevel
            tracer.extract(["traceparent": field].compactMapValues(\.self), into: &context, using: Fields())
            let parent = tracer.startSpan("parent", context: context)
            let child = tracer.startSpan("child", context: parent.context)
            #expect(parent.isRecording == isRecorded)
            #expect(child.isRecording == isRecorded)
            child.end()
            parent.end()
            #expect(spans.all.map(\.name) == (isRecorded ? ["child", "parent"] : []))
        }
    }

    @Test func aPartOfTheTracesIsAllOrNothingOfEach() {
        let spans = Spans()
        let tracer = SpanTracer(ratio: 0.5) { spans.append($0) }
        for _ in 0..<1000 {
            let parent = tracer.startSpan("parent", context: .topLevel)
            tracer.startSpan("child", context: parent.context).end()
            parent.end()
        }
        // One in 10^50 runs has less than a fifth or more than four fifths of them.
        #expect((400...1600).contains(spans.all.count))
        #expect(Dictionary(grouping: spans.all, by: \.identity.traceID).values.allSatisfy { $0.count == 2 })
    }

    @Test func spansKnowWhereTheyBelong() throws {
        let spans = Spans()
        let tracer = SpanTracer { spans.append($0) }
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": "00-\(Self.trace)-\(Self.remote)-01"], into: &context, using: Fields())
        let parent = tracer.startSpan("parent", context: context, ofKind: .server)
        let child = tracer.startSpan("child", context: parent.context, ofKind: .client)
        child.end()
        parent.end()
        let reported = try #require(spans.all.last)
        #expect(reported.identity.traceID.description == Self.trace)
        #expect(reported.parentID?.description == Self.remote)
        #expect(spans.all.first?.parentID == reported.identity.spanID)
        #expect(spans.all.first?.identity.traceID == reported.identity.traceID)

        var carrier: [String: String] = [:]
        tracer.inject(child.context, into: &carrier, using: Fields())
        #expect(carrier == ["traceparent": "00-\(Self.trace)-\(child.identity.spanID)-01"])
        carrier = [:]
        tracer.inject(.topLevel, into: &carrier, using: Fields())
        #expect(carrier.isEmpty)
    }

    @Test func aSpanIsSealedByItsEnd() throws {
        let spans = Spans()
        let tracer = SpanTracer { spans.append($0) }
        let span = tracer.startSpan("first", context: .topLevel)
        span.operationName = "second"
        span.attributes["a"] = 1
        span.recordError(ToolError.failure("a secret value"))
        for number in 0..<100 { span.addEvent(SpanEvent(name: "event \(number)")) }
        span.end()
        span.operationName = "third"
        span.attributes["b"] = 2
        span.setStatus(SpanStatus(code: .error))
        span.end()
        let reported = try #require(spans.all.first)
        #expect(spans.all.count == 1)
        #expect(reported.name == "second")
        #expect(reported.attributes.count == 1)
        #expect(reported.status == nil)
        #expect(reported.events.count == 32)
        #expect(reported.events.first?.attributes.get("exception.type") == .string("ToolError"))
        #expect(!"\(reported.events)".contains("secret"))
        #expect(reported.end >= reported.start)
    }

    @Test func waitingSpansHaveALimit() {
        var buffer = SpanBuffer(capacity: 4)
        #expect(
            (0..<6).map { _ in buffer.append(.sample()) } == [
                .writeSoon, .writeNow, .nothing, .nothing, .nothing, .nothing,
            ]
        )
        #expect(buffer.accepted == 4)
        #expect(buffer.dropped == 2)
        #expect(buffer.takeAll().count == 4)
        #expect(buffer.append(.sample()) == .writeSoon)
        buffer.lose(1)
        #expect(buffer.accepted == 4)
        #expect(buffer.dropped == 3)
    }

    @Test func theDocumentIsThatOfOpenTelemetry() throws {
        var span = FinishedSpan.sample()
        span.name = "record:fetch \"x\"\n"
        span.attributes = [
            "text": "a\"b", "whole": 7, "part": 0.5, "flag": true, "no": .double(.nan),
        ]
        span.status = SpanStatus(code: .error, message: "wrong")
        span.events = [SpanEvent(name: "event", at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 11))]
        let document = String(decoding: OTLPText.document([span, .sample(parent: nil)], version: "1.2"), as: UTF8.self)
        #expect(
            document
                == #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"skyrow"}},"#
                + #"{"key":"service.version","value":{"stringValue":"1.2"}}]},"scopeSpans":[{"scope":{"name":"skyrow"},"spans":["#
                + #"{"traceId":"00000000000000010000000000000002","spanId":"0000000000000003","#
                + #""parentSpanId":"0000000000000004","name":"record:fetch \"x\"\n","kind":2,"startTimeUnixNano":"10","#
                + #""endTimeUnixNano":"20","attributes":[{"key":"flag","value":{"boolValue":true}},"#
                + #"{"key":"no","value":{"doubleValue":"NaN"}},{"key":"part","value":{"doubleValue":0.5}},"#
                + #"{"key":"text","value":{"stringValue":"a\"b"}},{"key":"whole","value":{"intValue":"7"}}],"#
                + #""events":[{"timeUnixNano":"11","name":"event"}],"status":{"code":2,"message":"wrong"}},"#
                + #"{"traceId":"00000000000000010000000000000002","spanId":"0000000000000003","name":"span","kind":2,"#
                + #""startTimeUnixNano":"10","endTimeUnixNano":"20"}]}]}]}"#
        )
        _ = try JSONSerialization.jsonObject(with: Data(document.utf8))
    }
}

/// Spans that a tracer handed over.
final class Spans: Sendable {
    private let spans = Mutex<[FinishedSpan]>([])

    var all: [FinishedSpan] { spans.withLock { $0 } }

    func append(_ span: FinishedSpan) {
        spans.withLock { $0.append(span) }
    }
}

extension FinishedSpan {
    static func sample(parent: UInt64? = 4) -> FinishedSpan {
        guard let trace = TraceID(high: 1, low: 2), let id = SpanID(3) else { fatalError("These are not zero.") }
        return FinishedSpan(
            name: "span",
            kind: .server,
            identity: TraceParent(traceID: trace, spanID: id, isSampled: true),
            parentID: parent.flatMap { SpanID($0) },
            start: 10,
            end: 20
        )
    }
}

private struct Fields: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? {
        carrier[key]
    }

    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key] = value
    }
}
