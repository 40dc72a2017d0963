/// The URL of another service's document: `https://`, or `http://` to the loopback interface if allowed.
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The host without brackets and port.
    package let host: String
    /// The host and port as the text has them.
    let server: String
    /// Whether it is `http://` to the loopback interface, for development and tests.
    package let isLoopback: Bool

    /// nil if the text is not such a URL, or has a user or a fragment.
    ///
    /// - Parameter allowsLoopback: Whether `http://127.0.0.1`, `http://[::1]` and `http://localhost` are allowed.
    package init?(_ text: String, allowsLoopback: Bool = false) {
        let isPlain = text.hasPrefix("http://")
        guard text.utf8.count <= 2000, isPlain || text.hasPrefix("https://") else { return nil }
        let rest = text.dropFirst(isPlain ? "http://".count : "https://".count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let isVisible = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"\"#<>\\^`{|}".utf8.contains($0) }
        guard isVisible, !authority.isEmpty, !authority.contains("@") else { return nil }
        guard let host = WebAddress.host(of: authority) else { return nil }
        let isLoopback = ["127.0.0.1", "::1", "localhost"].contains(host)
        guard !isPlain || allowsLoopback && isLoopback else { return nil }
        description = text
        self.host = host
        server = String(authority)
        self.isLoopback = isPlain
    }

    /// The URL without its query, which may be secret.
    package var withoutQuery: String { String(description.prefix { $0 != "?" }) }

    /// Returns the URL with fields added to its query.
    ///
    /// - Returns: A text that may exceed the length limit of fetched URLs.
    package func adding(_ fields: [(name: String, value: String)]) -> String {
        WebForm.appending(fields, to: description)
    }

    /// Returns the host of `host:port`, in lower case and without brackets; nil if the host or the port is malformed.
    static func host(of authority: Substring) -> String? {
        var host = authority
        var port: Substring?
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { return nil }
            if !rest.isEmpty { port = rest.dropFirst() }
            guard host.utf8.allSatisfy({ isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return nil }
        } else {
            if let colon = authority.firstIndex(of: ":") {
                host = authority[..<colon]
                port = authority[authority.index(after: colon)...]
            }
            guard host.utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") })
            else { return nil }
        }
        if let port {
            guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(port), (1...65_535).contains(number)
            else { return nil }
        }
        return host.isEmpty || host.utf8.count > 255 ? nil : host.lowercased()
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
}
