/// The reason why a text is not JSON, and the position.
package struct JSONParseError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        case unexpectedEnd
        case unexpectedByte
        case trailingText
        case controlCharacterInString
        case invalidEscape
        case unpairedSurrogate
        case invalidUTF8
        case invalidNumber
        /// More nested containers than the limit.
        case nestedTooDeeply(limit: Int)
        /// A gigabyte or more, which a tape cannot address.
        case tooLong
    }

    package var reason: Reason
    /// The offset in bytes from the start of the text.
    package var offset: Int

    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(phrase) (at byte \(offset))" }

    private var phrase: String {
        switch reason {
        case .unexpectedEnd: "The JSON text ends before its value is complete"
        case .unexpectedByte: "The JSON text has an unexpected character"
        case .trailingText: "The JSON text continues after its value"
        case .controlCharacterInString: "A JSON string has an unescaped control character"
        case .invalidEscape: "A JSON string has an invalid escape"
        case .unpairedSurrogate: "A JSON string has an unpaired surrogate"
        case .invalidUTF8: "The JSON text is not valid UTF-8"
        case .invalidNumber: "The JSON text has an invalid number"
        case .nestedTooDeeply(let limit): "The JSON text is nested more than \(limit) levels deep"
        case .tooLong: "The JSON text is too long"
        }
    }
}
