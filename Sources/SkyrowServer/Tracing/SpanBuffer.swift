/// Finished spans before they are written. Spans over the capacity are dropped and counted, so no request waits for a disk.
struct SpanBuffer: Sendable {
    private var spans: [FinishedSpan] = []
    private let capacity: Int
    private(set) var accepted = 0
    private(set) var dropped = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The action after a span was added.
    enum Next: Equatable {
        case nothing
        /// Write after a delay that collects more spans: this is the first one.
        case writeSoon
        /// Write now: the buffer is half full.
        case writeNow
    }

    mutating func append(_ span: FinishedSpan) -> Next {
        guard spans.count < capacity else {
            dropped += 1
            return .nothing
        }
        spans.append(span)
        accepted += 1
        if spans.count == 1 { return .writeSoon }
        return spans.count == (capacity + 1) / 2 ? .writeNow : .nothing
    }

    /// Removes and returns all spans.
    mutating func takeAll() -> [FinishedSpan] {
        defer { spans = [] }
        return spans
    }

    /// Counts spans that could not be written.
    mutating func lose(_ count: Int) {
        accepted -= count
        dropped += count
    }
}
