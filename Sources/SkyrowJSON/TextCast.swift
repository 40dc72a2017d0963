package import SkyrowModel

/// How a text becomes a value of the type of a field, for clients that have texts only.
///
/// The whole text is a value of the type, without blanks around it; nothing is rounded. Saves and predicates read texts
/// alike by this.
package enum TextCast: Hashable, Sendable {
    /// An integer of 64 bits: `-?[0-9]{1,19}`.
    case integer
    /// A number of JSON that is finite; without fraction and exponent it stays an integer, so that no digit is lost.
    case number
    /// `true` or `false`.
    case boolean
    /// An instant of RFC 3339 with an offset, or an infinity; one that is finer than microseconds is none.
    case datetime
    /// Base64 as this service writes it: padded, and without bits that are thrown away.
    case bytes
    /// The id of a record of this type, without the type before it.
    case reference(RecordTypeName)
    /// A type of which no text is a value.
    case never

    /// nil for a type whose fields take texts as they are, or not at all.
    package init?(_ type: FieldType) {
        switch type {
        case .integer, .sequence: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .bytes: self = .bytes
        case .reference(let target): self = .reference(target)
        case .location, .geometry, .array, .relation: self = .never
        case .string, .json, .unknown: return nil
        }
    }

    /// The value that a text is; nil for a text that is none.
    package func value(of text: String) -> RecordValue? {
        switch self {
        case .integer: Self.integer(text).map { .integer($0) }
        case .number: Self.number(text)
        case .boolean: Self.boolean(text).map { .boolean($0) }
        case .datetime: Self.instant(text).map { .datetime($0) }
        case .bytes: decodeBase64(text.utf8).map { .bytes($0) }
        case .reference(let target): (try? RecordID(type: target, id: text)).map { .reference($0) }
        case .never: nil
        }
    }

    private static func integer(_ text: String) -> Int64? {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard (1...19).contains(digits.count), digits.allSatisfy(isDigit) else { return nil }
        return Int64(text)
    }

    private static func number(_ text: String) -> RecordValue? {
        // A document may have white space around its value.
        guard let first = text.utf8.first, let last = text.utf8.last, isDigit(last),
            isDigit(first) || first == UInt8(ascii: "-"), let document = try? JSONDocument(Array(text.utf8))
        else { return nil }
        return document.withRoot { json -> RecordValue? in
            switch json.number {
            case .integer(let value): .integer(value)
            case .double(let value): .number(value)
            case .outOfRange, nil: nil
            }
        }
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true": true
        case "false": false
        default: nil
        }
    }

    private static func instant(_ text: String) -> Timestamp? {
        var text = text
        return text.withUTF8 { Timestamp.isFinerThanMicroseconds($0) } ? nil : try? Timestamp(rfc3339: text)
    }
}

extension Timestamp {
    /// Whether the text of an instant has a digit other than 0 behind those of microseconds, which would be rounded.
    package static func isFinerThanMicroseconds(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let point = text.firstIndex(of: UInt8(ascii: ".")) else { return false }
        return text[(point + 1)...].prefix(while: isDigit).dropFirst(6).contains { $0 != UInt8(ascii: "0") }
    }
}
