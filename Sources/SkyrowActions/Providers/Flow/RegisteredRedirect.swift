import SkyrowModel

/// An address from the settings that users may return to after a sign-in with a provider.
///
/// ```swift
/// RegisteredRedirect("http://127.0.0.1/in")?.admits("http://127.0.0.1:52431/in")  // true
/// ```
package struct RegisteredRedirect: Hashable, Sendable {
    private enum Form: Hashable, Sendable {
        /// `https://app.example.org/in`, or the scheme of an application, `org.example.app:/in`.
        case exact
        /// `http://127.0.0.1/in` with any port (RFC 8252, 7.3): its parts before and after the port.
        case loopback(head: String, tail: String)
    }

    package let text: String
    private let form: Form

    /// nil for an invalid address: with a fragment, a user, a scheme without a dot, or `http` to another machine.
    package init?(_ text: String) {
        let isFit = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"\"#<>\\^`{|}".utf8.contains($0) }
        guard isFit, (1...500).contains(text.utf8.count), let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon]
        self.text = text
        switch scheme {
        case "https":
            guard RegisteredRedirect.hasHost(text) else { return nil }
            form = .exact
        case "http":
            guard let (head, tail) = RegisteredRedirect.loopback(text) else { return nil }
            form = .loopback(head: head, tail: tail)
        default:
            // A reversed domain of the application's owner (RFC 8252, 7.1): no scheme with a meaning in browsers has a dot.
            guard scheme.contains("."), scheme.first != ".", scheme.last != ".", scheme.utf8.count <= 255,
                scheme.utf8.allSatisfy(RegisteredRedirect.isOfScheme), text.utf8.count > scheme.utf8.count + 1
            else { return nil }
            form = .exact
        }
    }

    /// Returns whether users may return to this address.
    package func admits(_ redirect: String) -> Bool {
        switch form {
        case .exact: redirect.isSameText(as: text)
        case .loopback(let head, let tail):
            RegisteredRedirect.loopback(redirect).map { $0.head == head && $0.tail.isSameText(as: tail) } ?? false
        }
    }

    private static func hasHost(_ text: String) -> Bool {
        let authority = text.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        return text.hasPrefix("https://") && !authority.isEmpty && authority.first != ":" && !authority.contains("@")
    }

    /// Returns the address without its port, in two parts; nil for another machine, and for a host name, which may resolve to
    /// one.
    private static func loopback(_ text: String) -> (head: String, tail: String)? {
        for head in ["http://127.0.0.1", "http://[::1]"] where text.hasPrefix(head) {
            var tail = text.dropFirst(head.count)
            if tail.first == ":" {
                tail = tail.dropFirst()
                let port = tail.prefix { $0 != "/" && $0 != "?" }
                guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int(port), (1...65_535).contains(number)
                else { return nil }
                tail = tail.dropFirst(port.count)
            }
            guard tail.isEmpty || tail.first == "/" || tail.first == "?", !tail.contains("#") else { return nil }
            return (head, String(tail))
        }
        return nil
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
