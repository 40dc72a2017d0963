import SkyrowJSON

/// The address of a function server: `http://`, `https://`, or `http+unix://` for a socket of this machine.
///
/// ```swift
/// FunctionAddress("http://127.0.0.1:8000")
/// FunctionAddress("http+unix://%2Frun%2Fmail.sock/hooks")
/// ```
package struct FunctionAddress: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The URL that libcurl is given.
    let url: String
    /// The path of the socket; nil for a server that is reached by TCP.
    let socket: String?
    /// The server whose transfers share a bound.
    let server: String

    /// nil if the text is not such an address, or has a user, a query or a fragment.
    package init?(_ text: String) {
        let isFit = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"\"#<>?@\\^`{|}".utf8.contains($0) }
        guard text.utf8.count <= 1000, isFit, let mark = text.firstRange(of: "://") else { return nil }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]
        switch text[..<mark.lowerBound] {
        case "http", "https":
            guard WebAddress.host(of: authority) != nil else { return nil }
            url = text
            socket = nil
            server = String(authority)
        case "http+unix":
            guard let socket = Self.decoded(authority), socket.hasPrefix("/"), socket.utf8.count <= 107 else {
                return nil
            }
            url = "http://localhost\(path)"
            self.socket = socket
            server = socket
        default:
            return nil
        }
        description = text
    }

    /// Decodes the bytes of a path that are percent-encoded; nil if one is malformed or zero.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = Hexadecimal.bytes(rest.prefix(2))?.first, value != 0 else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
