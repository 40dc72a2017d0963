/// An HTTP proxy through which the service reaches other services, `http://proxy.internal:3128`.
package struct WebProxy: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// nil if the text has another scheme, a path, a user or no port.
    package init?(_ text: String) {
        guard text.hasPrefix("http://"), text.utf8.count <= 300 else { return nil }
        let authority = text.dropFirst("http://".count)
        guard let colon = authority.lastIndex(of: ":"), authority[colon...].utf8.count > 1, authority.last != "]",
            WebAddress.host(of: authority) != nil
        else { return nil }
        description = text
    }
}
