/// Finished spans that wait to be written; beyond a limit they are dropped and counted, so that no request waits for a disk.
struct SpanBuffer: Sendable {
    private var spans: [FinishedSpan] = []
    private let capacity: Int
    private(set) var accepted = 0
    private(set) var dropped = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// What is to be done after a span was taken.
    enum Next: Equatable {
        case nothing
        /// It is the first; the others may still be collected for a while.
        case writeSoon
        /// Half of the room is used up.
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

    /// Takes out all that wait.
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
