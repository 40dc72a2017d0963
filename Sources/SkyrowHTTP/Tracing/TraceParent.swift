import SkyrowJSON

/// The id of a trace, shared by all services that work on one request: 16 bytes, not all zero.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    /// nil when both halves are zero.
    package init?(high: UInt64, low: UInt64) {
        guard high != 0 || low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// 32 hexadecimal digits.
    package var description: String { Hexadecimal.text(of: [high, low]) }
}

/// The id of one span of a trace: 8 bytes, not all zero.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    /// nil for zero.
    package init?(_ value: UInt64) {
        guard value != 0 else { return nil }
        self.value = value
    }

    /// 16 hexadecimal digits.
    package var description: String { Hexadecimal.text(of: [value]) }
}

/// The `traceparent` field (W3C Trace Context, 3.2): the trace of a request, and the caller's span in it.
///
/// ```swift
/// TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")?.isSampled  // true
/// ```
package struct TraceParent: Hashable, Sendable, CustomStringConvertible {
    package var traceID: TraceID
    package var spanID: SpanID
    /// Whether the span is recorded.
    package var isSampled: Bool

    package init(traceID: TraceID, spanID: SpanID, isSampled: Bool) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
    }

    /// Parses the field as strictly as the standard requires; nil for any other text, which is then ignored.
    ///
    /// Of versions newer than 00, the fields of 00 are read and the rest is ignored.
    package init?(_ text: String) {
        var reader = Hexadecimal.Reader(text.utf8)
        guard let version = reader.number(digits: 2), version != 0xFF, reader.skipDash(),
            let high = reader.number(digits: 16), let low = reader.number(digits: 16), reader.skipDash(),
            let span = reader.number(digits: 16), reader.skipDash(),
            let flags = reader.number(digits: 2),
            let traceID = TraceID(high: high, low: low), let spanID = SpanID(span)
        else { return nil }
        guard reader.isAtEnd || (version > 0 && reader.skipDash()) else { return nil }
        self.init(traceID: traceID, spanID: spanID, isSampled: flags & 1 == 1)
    }

    package var description: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }
}
