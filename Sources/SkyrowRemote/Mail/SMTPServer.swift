/// A mail server and its connection parameters.
package struct SMTPServer: Hashable, Sendable {
    /// When the connection is encrypted.
    package enum Security: Hashable, Sendable {
        /// By STARTTLS before anything else is sent. A server without STARTTLS gets no mail.
        case required
        /// From the first byte.
        case implicit
        /// Never; only for a server on the same machine or in the same pod.
        case none
    }

    package var host: String
    package var port: Int
    package var user: String?
    package var password: String?
    package var security = Security.required
    /// Certificates in PEM that replace the system's.
    package var certificates: String?
    /// The time limit of a mail. A failed transfer takes at most as long again.
    package var timeout: Duration = .seconds(30)
}

extension SMTPServer {
    /// Parses `smtp://user@host:587` or `smtps://host`; nil for any other text, such as one with a password.
    package init?(url: String) {
        let rest: Substring
        if url.hasPrefix("smtp://") {
            security = .required
            rest = url.dropFirst("smtp://".count)
        } else if url.hasPrefix("smtps://") {
            security = .implicit
            rest = url.dropFirst("smtps://".count)
        } else {
            return nil
        }
        var place = rest
        if let at = rest.lastIndex(of: "@") {
            let name = rest[..<at]
            guard !name.isEmpty, !name.contains(":"), name.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                return nil
            }
            user = String(name)
            place = rest[rest.index(after: at)...]
        }
        port = security == .implicit ? 465 : 587
        var host = place
        if let colon = place.lastIndex(of: ":"), !place.hasSuffix("]") {
            guard let number = Int(place[place.index(after: colon)...]), (1...65_535).contains(number) else {
                return nil
            }
            port = number
            host = place[..<colon]
        }
        // A name, an IPv4 address, or an IPv6 address in brackets.
        guard !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy(SMTPServer.isPartOfHost) else { return nil }
        self.host = String(host)
    }

    private static func isPartOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
