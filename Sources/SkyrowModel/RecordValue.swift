/// The value of one field, as a client sends it and as a rule sees it.
public enum RecordValue: Hashable, Sendable {
    case null
    case string(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case datetime(Timestamp)
    /// An array or object, kept as its own JSON text so that nested typed values and every digit survive.
    case json(JSONText)
    case reference(RecordID)
    /// `{"$type":"seq"}`: asks for a sequence column; the database gives the value.
    case sequence
    case bytes([UInt8])
}

/// A valid JSON text in UTF-8 (RFC 8259); what was checked where it was read is not checked again.
public struct JSONText: Hashable, Sendable {
    public let utf8: [UInt8]

    /// Wraps text that a parser has already accepted.
    package init(validated utf8: [UInt8]) {
        self.utf8 = utf8
    }
}
