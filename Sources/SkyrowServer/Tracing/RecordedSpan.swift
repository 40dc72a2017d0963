import SkyrowHTTP
import Synchronization
import Tracing

/// A span that is being recorded. Events after its end are ignored.
final class RecordedSpan: Span {
    private struct State: Sendable {
        var name: String
        var attributes: SpanAttributes = [:]
        var status: SpanStatus?
        var events: [SpanEvent] = []
        var hasEnded = false
    }

    let context: ServiceContext
    let identity: TraceParent
    private let parentID: SpanID?
    private let kind: SpanKind
    private let start: UInt64
    private let sink: @Sendable (FinishedSpan) -> Void
    private let state: Mutex<State>

    /// Upper bound on the events of a span.
    private static let limit = 32

    init(
        _ name: String,
        kind: SpanKind,
        identity: TraceParent,
        parentID: SpanID?,
        context: ServiceContext,
        start: UInt64,
        sink: @escaping @Sendable (FinishedSpan) -> Void
    ) {
        self.identity = identity
        self.parentID = parentID
        self.kind = kind
        self.context = context
        self.start = start
        self.sink = sink
        state = Mutex(State(name: name))
    }

    var isRecording: Bool { identity.isSampled && state.withLock { !$0.hasEnded } }

    var operationName: String {
        get { state.withLock(\.name) }
        set { change { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock(\.attributes) }
        set { change { $0.attributes = newValue } }
    }

    func setStatus(_ status: SpanStatus) {
        change { $0.status = status }
    }

    func addEvent(_ event: SpanEvent) {
        change { state in
            if state.events.count < RecordedSpan.limit { state.events.append(event) }
        }
    }

    /// Links are ignored, as spans belong to one trace.
    func addLink(_ link: SpanLink) {}

    /// Records only the error's type, as its message may contain values.
    func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        let finished: State? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return state
        }
        guard let finished, identity.isSampled else { return }
        sink(
            FinishedSpan(
                name: finished.name,
                kind: kind,
                identity: identity,
                parentID: parentID,
                start: start,
                // The clock may have been set back.
                end: max(start, end),
                attributes: finished.attributes,
                status: finished.status,
                events: finished.events
            )
        )
    }

    private func change(_ body: (inout sending State) -> Void) {
        guard identity.isSampled else { return }
        state.withLock { state in
            if !state.hasEnded { body(&state) }
        }
    }
}

struct FinishedSpan: Sendable {
    var name: String
    var kind: SpanKind
    var identity: TraceParent
    var parentID: SpanID?
    /// Nanoseconds since 1970.
    var start: UInt64
    var end: UInt64
    var attributes: SpanAttributes = [:]
    var status: SpanStatus?
    var events: [SpanEvent] = []
}
