/// The name of an application for its operators: `[a-z][a-z0-9_]{0,62}`.
///
/// ```swift
/// let name = try ApplicationName("shop")
/// ```
package struct ApplicationName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: String

    /// Throws `108 InvalidArgument` when the text is not a name.
    package init(_ text: String) throws(SkyrowError) {
        guard ApplicationName.isName(text) else {
            throw .invalidArgument(
                "An application name must be a lower-case letter followed by at most 62 lower-case letters, digits or "
                    + "underscores, and must not begin with pg_."
            )
        }
        rawValue = text
    }

    private init(known: String) {
        rawValue = known
    }

    /// The default application, which has the service's keys and settings.
    package static let `default` = ApplicationName(known: "app")

    package static func < (a: ApplicationName, b: ApplicationName) -> Bool {
        a.rawValue < b.rawValue
    }

    package var description: String { rawValue }

    private static func isName(_ text: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let first = text.utf8.first, letters.contains(first), text.utf8.count <= 63 else { return false }
        return !text.hasPrefix("pg_")
            && text.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_") }
    }
}

/// A host name in requests, in lower case and without a port: `shop.example.com`, `192.0.2.1`, `[::1]`.
package struct HostName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: String

    /// Throws `108 InvalidArgument` when the text is not a host name, or has a port.
    package init(_ text: String) throws(SkyrowError) {
        guard let name = HostName(field: text), name.rawValue.utf8.count == text.utf8.count else {
            throw .invalidArgument("A host name must consist of letters, digits, dots and hyphens, without a port.")
        }
        self = name
    }

    /// Parses a `Host` field (RFC 9110 section 7.2), whose port and last dot are ignored; nil without a host.
    package init?(field text: String) {
        var host = text[...]
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return nil }
            host = host[...end]
        } else if let colon = host.firstIndex(of: ":") {
            host = host[..<colon]
        }
        if host.last == "." { host = host.dropLast() }
        let isName = host.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard !host.isEmpty, host.utf8.count <= 253, isName else { return nil }
        rawValue = host.lowercased()
    }

    package static func < (a: HostName, b: HostName) -> Bool {
        a.rawValue < b.rawValue
    }

    package var description: String { rawValue }
}
