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

    package var description: String {
        "\(phrase) (at byte \(offset))"
    }

    private var phrase: String {
        switch reason {
        case .unexpectedEnd: "The JSON text ends before its value is complete"
        case .unexpectedByte: "The JSON text has a character where none like it may stand"
        case .trailingText: "The JSON text goes on after its value"
        case .controlCharacterInString: "A JSON string holds a control character that is not escaped"
        case .invalidEscape: "A JSON string holds an escape that does not exist"
        case .unpairedSurrogate: "A JSON string holds half of a surrogate pair"
        case .invalidUTF8: "The JSON text is not valid UTF-8"
        case .invalidNumber: "The JSON text holds a malformed number"
        case .nestedTooDeeply(let limit): "The JSON text is nested more than \(limit) levels deep"
        case .tooLong: "The JSON text is longer than can be read"
        }
    }
}
