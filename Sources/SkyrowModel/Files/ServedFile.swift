/// The header fields with which a file is sent, so that no browser runs it.
///
/// A file is shown in the browser only if its type is on a list of safe ones and its first bytes agree with the type. Any other is
/// an attachment.
///
/// ```swift
/// let file = ServedFile(filename: "Kätzchen.png", contentType: "image/png", sniffed: "image/png", forcesDownload: false)
/// file.contentType   // image/png
/// file.disposition   // inline; filename="K_tzchen.png"; filename*=UTF-8''K%C3%A4tzchen.png
/// ```
package struct ServedFile: Hashable, Sendable {
    /// The field `Content-Type`.
    package let contentType: String
    /// The field `Content-Disposition`.
    package let disposition: String

    /// The field `Content-Security-Policy` of every file: what is opened as a page runs nothing.
    package static let policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; media-src 'self'; sandbox"

    /// - Parameters:
    ///   - filename: the name that its uploader gave it, with any characters.
    ///   - contentType: the type under which it is stored.
    ///   - sniffed: the type that its first bytes show, of `SniffedType.of(_:)`.
    ///   - forcesDownload: whether it is an attachment in any case.
    package init(filename: String, contentType: String, sniffed: String?, forcesDownload: Bool) {
        let stored = MediaType(contentType)?.canonical ?? .octetStream
        let isGenuine = SniffedType.agrees(sniffed, with: stored)
        // A page can use a script or a style sheet that is an attachment, but not one of another type. It shows an SVG image
        // without running it.
        let type = isGenuine && (!stored.isActive || stored == Self.svg) ? stored : .octetStream
        let isInline = Self.safeTypes.contains(type.rawValue) && !forcesDownload
        self.contentType = type == .plainText ? "\(type); charset=utf-8" : type.rawValue
        disposition = "\(isInline ? "inline" : "attachment"); \(Self.parameters(filename))"
    }

    private static let svg = MediaType(known: "image/svg+xml")

    private static let safeTypes: Set<String> = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "video/mp4", "audio/mp4", "video/webm",
        "audio/webm", "audio/mpeg", "audio/ogg", "video/ogg", "application/ogg", "audio/wav", "audio/aac",
        "application/pdf", "text/plain",
    ]

    // MARK: - The name

    /// Upper bound on the bytes of a name in UTF-8, as that of most file systems.
    private static let maximumBytes = 255

    /// The name in ASCII for old clients, and in UTF-8 (RFC 6266, 4.3) unless both are the same.
    private static func parameters(_ filename: String) -> String {
        let name = plainName(filename)
        let ascii = String(String.UnicodeScalarView(name.unicodeScalars.map { isQuotable($0) ? $0 : "_" }))
        let plain = "filename=\"\(ascii)\""
        return ascii == name ? plain : "\(plain); filename*=UTF-8''\(encoded(name))"
    }

    /// The last part of a path, with `_` for what a name must not contain: control characters, and those that reverse the order
    /// of others, which make `exe` look like another extension.
    private static func plainName(_ filename: String) -> String {
        let parts = filename.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        var name = String.UnicodeScalarView()
        var length = 0
        for scalar in (parts.last.map { Substring($0) } ?? "file").unicodeScalars {
            let plain = isHarmful(scalar) ? "_" : scalar
            length += UTF8.width(plain)
            guard length <= maximumBytes else { break }
            name.append(plain)
        }
        let text = String(name)
        return text.utf8.allSatisfy { $0 == UInt8(ascii: ".") } ? "file" : text
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }

    /// Whether the character can stand in a quoted string as it is for every client: old ones decode `%`.
    private static func isQuotable(_ scalar: Unicode.Scalar) -> Bool {
        (0x20...0x7E).contains(scalar.value) && scalar != "\"" && scalar != "%"
    }

    /// Encodes the bytes that RFC 8187, 3.2.1 does not permit.
    private static func encoded(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: text.append(byte)
            case _ where "!#$&+-.^_`|~".utf8.contains(byte): text.append(byte)
            default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
