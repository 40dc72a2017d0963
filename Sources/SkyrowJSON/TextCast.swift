package import SkyrowModel

/// The conversion of a text to a value of a field's type, for clients that have texts only.
///
/// The whole text must be a value of the type, without blanks around it; nothing is rounded. Saves and predicates use the same
/// conversion.
package enum TextCast: Hashable, Sendable {
    /// An integer of 64 bits: `-?[0-9]{1,19}`.
    case integer
    /// A finite JSON number; without fraction and exponent it stays an integer, so that no digit is lost.
    case number
    /// `true` or `false`.
    case boolean
    /// An instant of RFC 3339 with an offset, or an infinity; not one that is finer than microseconds.
    case datetime
    /// Base64 as this service writes it: padded, and without bits that are thrown away.
    case bytes
    /// The id of a record of this type, without the type.
    case reference(RecordTypeName)
    /// A type that has no values as text.
    case never

    /// Returns nil for a type whose fields take texts as they are, or do not take any.
    package init?(_ type: FieldType) {
        switch type {
        case .integer, .sequence: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .bytes: self = .bytes
        case .reference(let target): self = .reference(target)
        case .string, .json, .unknown: return nil
        default: self = .never
        }
    }

    /// Returns the value of a text; nil if the text is not a value of the type.
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

    /// Why a field does not take a text that is not a value of its type: a clause that follows the field's name.
    package var misfit: String {
        switch self {
        case .integer: "holds 64-bit integers, and this text is not one"
        case .number: "holds numbers, and this text is not one"
        case .boolean: "holds true or false, and this text is neither"
        case .datetime: "holds instants (RFC 3339, to the microsecond), and this text is not one"
        case .bytes: "holds bytes, and this text is not base64 (RFC 4648, padded)"
        case .reference(let target): "refers to records of the type \(target), and this text is not an id"
        case .never: "does not accept texts"
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
    /// Whether the text of an instant has a nonzero digit after the microseconds, which would be rounded.
    package static func isFinerThanMicroseconds(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let point = text.firstIndex(of: UInt8(ascii: ".")) else { return false }
        return text[(point + 1)...].prefix(while: isDigit).dropFirst(6).contains { $0 != UInt8(ascii: "0") }
    }
}
