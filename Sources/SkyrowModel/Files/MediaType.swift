/// A media type without parameters, in lowercase (RFC 9110, 8.3.1).
///
/// ```swift
/// MediaType("Text/HTML; charset=utf-8")?.rawValue   // text/html
/// MediaType("image/*")                              // nil
/// ```
///
/// It contains only the characters of tokens, so it needs no escapes in a header field.
package struct MediaType: Hashable, Sendable, CustomStringConvertible {
    /// Upper bound on the bytes of a type, with its slash.
    package static let maximumBytes = 127
    /// Says nothing of the content.
    package static let octetStream = MediaType(known: "application/octet-stream")
    package static let plainText = MediaType(known: "text/plain")

    package let rawValue: String

    /// Parses a field `Content-Type` and drops its parameters; nil for any other text, for a wildcard, and for a longer type.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        let type = text[..<(text.utf8.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex)].trimmingSpaces
        guard type.utf8.count <= Self.maximumBytes else { return nil }
        let halves = type.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isTokenByte) }) else {
            return nil
        }
        rawValue = type.lowercased()
    }

    init(known rawValue: String) {
        self.rawValue = rawValue
    }

    /// What precedes the slash, such as `image`.
    package var type: Substring { rawValue.prefix { $0 != "/" } }

    /// What follows the slash, such as `png`.
    package var subtype: Substring { rawValue.drop { $0 != "/" }.dropFirst() }

    package var description: String { rawValue }

    /// The registered name of the type, for the names that clients use beside it.
    package var canonical: MediaType {
        MediaTypes.registeredNames[rawValue].map { MediaType(known: $0) } ?? self
    }

    /// Whether a browser may run the content, apply it to a page, or find such content in it.
    ///
    /// An SVG image is active, too, when it is opened as a page.
    package var isActive: Bool {
        let subtype = subtype
        return subtype.contains("html") || subtype.contains("script") || isXML
            || ["multipart", "message"].contains(type)
            || ["css", "xsl", "wasm", "cache-manifest", "x-shockwave-flash"].contains(subtype)
    }

    private var isXML: Bool { subtype == "xml" || subtype.hasSuffix("+xml") || subtype.hasPrefix("xml-") }

    /// Whether a token may contain the byte (RFC 9110, 5.6.2), except for `*`, which ranges of types contain.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'+-.^_`|~".utf8.contains(byte)
        }
    }
}
