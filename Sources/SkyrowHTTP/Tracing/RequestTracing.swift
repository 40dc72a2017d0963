import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
package import Tracing

/// Creates a span for every request, in its caller's trace if the request names one.
package struct RequestTracing: Sendable {
    private let tracer: any Tracer

    package init(_ tracer: any Tracer) {
        self.tracer = tracer
    }

    /// The tracer of the process, looked up once; nil when none is configured, so that untraced requests cost nothing.
    package static var bootstrapped: RequestTracing? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : RequestTracing(tracer)
    }

    /// The span of one request.
    struct RequestSpan: Sendable {
        let span: any Span
        /// The span as propagated to other services; nil when the tracer does not support W3C Trace Context.
        let own: TraceParent?

        var context: ServiceContext { span.context }
    }

    func begin(_ request: HTTPRequest) -> RequestSpan {
        begin(request, with: tracer)
    }

    private func begin(_ request: HTTPRequest, with tracer: some Tracer) -> RequestSpan {
        var context = ServiceContext.topLevel
        tracer.extract(request.head.headers, into: &context, using: HeaderExtractor())
        return begin(at: request.arrival, in: context, with: tracer)
    }

    /// Begins the span of a WebSocket message, which has no head.
    func begin(at arrival: NIODeadline) -> RequestSpan {
        begin(at: arrival, in: .topLevel, with: tracer)
    }

    private func begin(at arrival: NIODeadline, in context: ServiceContext, with tracer: some Tracer) -> RequestSpan {
        // The span starts when the request arrived, before it was processed.
        let waited = max(0, (NIODeadline.now() - arrival).nanoseconds)
        let now = DefaultTracerClock.now.nanosecondsSinceEpoch
        let start = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: now - min(now, UInt64(waited)))
        let span = tracer.startSpan("request", context: context, ofKind: .server, at: start)
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: DictionaryInjector())
        return RequestSpan(span: span, own: carrier["traceparent"].flatMap { TraceParent($0) })
    }
}

extension RequestTracing.RequestSpan {
    /// Ends the span with the outcome of the request.
    func end(_ outcome: RequestOutcome, method: HTTPMethod, id: RequestID) {
        guard span.isRecording else {
            span.end()
            return
        }
        span.operationName = outcome.subject.name
        span.updateAttributes { attributes in
            attributes["http.request.method"] = RequestLog.name(method)
            attributes["http.response.status_code"] = Int(outcome.response.status.code)
            attributes["skyrow.outcome"] = outcome.error?.name ?? "OK"
            attributes["skyrow.request_id"] = id.description
            if let user = outcome.userID { attributes["enduser.id"] = user.rawValue }
            if let calls = outcome.calls { attributes["skyrow.calls"] = calls }
            if let error = outcome.error { attributes["error.type"] = error.name }
        }
        if outcome.error?.isServerFault == true { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }
}

private struct HeaderExtractor: Extractor {
    /// A duplicate field is ignored, since it is undefined which one counts.
    func extract(key: String, from headers: HTTPHeaders) -> String? {
        let values = headers[key]
        return values.count == 1 ? values[0] : nil
    }
}

private struct DictionaryInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key] = value
    }
}
