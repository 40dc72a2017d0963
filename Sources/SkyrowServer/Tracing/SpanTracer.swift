import SkyrowHTTP
import Synchronization
import Tracing

/// Records spans and passes them to a sink. Exchanges W3C Trace Context with other services.
///
/// The service that starts a trace decides at random whether it is recorded. A caller can exclude its trace from
/// recording but not request it, as clients could otherwise fill the disk.
struct SpanTracer: Tracer {
    /// The number of recorded traces per hundred thousand.
    private let share: UInt64
    private let sink: @Sendable (FinishedSpan) -> Void

    /// - Parameter ratio: The fraction of recorded traces, from 0 to 1.
    init(ratio: Double = 1, sink: @escaping @Sendable (FinishedSpan) -> Void) {
        share = UInt64((min(max(ratio, 0), 1) * 100_000).rounded())
        self.sink = sink
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> RecordedSpan {
        var context = context()
        let parent = context.spanOrigin
        let own = TraceParent(
            traceID: parent?.span.traceID ?? .random(),
            spanID: .random(),
            isSampled: isSampled(parent)
        )
        context.spanOrigin = SpanOrigin(span: own, isRemote: false)
        return RecordedSpan(
            operationName,
            kind: kind,
            identity: own,
            parentID: parent?.span.spanID,
            context: context,
            start: instant().nanosecondsSinceEpoch,
            sink: sink
        )
    }

    private func isSampled(_ parent: SpanOrigin?) -> Bool {
        if let parent, !parent.isRemote || !parent.span.isSampled { return parent.span.isSampled }
        return share >= 100_000 || UInt64.random(in: 0..<100_000) < share
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let span = extractor.extract(key: "traceparent", from: carrier).flatMap(TraceParent.init) else { return }
        context.spanOrigin = SpanOrigin(span: span, isRemote: true)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let origin = context.spanOrigin else { return }
        injector.inject(origin.span.description, forKey: "traceparent", into: &carrier)
    }
}

/// The current span of a context.
struct SpanOrigin: Hashable, Sendable {
    var span: TraceParent
    /// Whether the span belongs to another service.
    var isRemote: Bool
}

private enum SpanOriginKey: ServiceContextKey {
    typealias Value = SpanOrigin
    static let nameOverride: String? = "span"
}

extension ServiceContext {
    fileprivate(set) var spanOrigin: SpanOrigin? {
        get { self[SpanOriginKey.self] }
        set { self[SpanOriginKey.self] = newValue }
    }
}

extension TraceID {
    fileprivate static func random() -> TraceID {
        while true {
            if let id = TraceID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)) { return id }
        }
    }
}

extension SpanID {
    fileprivate static func random() -> SpanID {
        while true {
            if let id = SpanID(.random(in: 0 ... .max)) { return id }
        }
    }
}
