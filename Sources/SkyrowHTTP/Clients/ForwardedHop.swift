import SkyrowModel

/// What one proxy says about its peer.
///
/// Parsing works on bytes: in a `Character` view, a client could end its part of a header with a character that combines with the
/// following comma and so hide the comma.
struct ForwardedHop: Hashable {
    /// nil when the proxy does not name one, or names no address (`unknown`, `_hidden`).
    var address: ClientAddress?
    /// nil when the proxy does not say.
    var isSecure: Bool?

    /// Upper bound on the hops; clients control the length of the header.
    static let limit = 32

    // MARK: - X-Forwarded-For

    /// Returns the last hops of `X-Forwarded-For` and `X-Forwarded-Proto`, given each header's lines in order.
    ///
    /// Proxies append to the first; some append to the second and others replace it,
    /// so it may be shorter. Both are matched from the right.
    static func list(addresses: [String], protocols: [String]) -> [ForwardedHop] {
        let addresses = entries(addresses)
        let protocols = entries(protocols).map(isSecure)
        // A proxy may report only the protocol.
        let count = max(addresses.count, protocols.isEmpty ? 0 : 1)
        return (0..<count).map { index in
            let distance = count - 1 - index
            return ForwardedHop(
                address: distance < addresses.count ? address(addresses[addresses.count - 1 - distance]) : nil,
                isSecure: protocols.isEmpty ? nil : protocols[max(protocols.count - 1 - distance, 0)]
            )
        }
    }

    private static func entries(_ lines: [String]) -> [ArraySlice<UInt8>] {
        lines.flatMap { Array($0.utf8).split(separator: comma, omittingEmptySubsequences: false) }
            .suffix(limit)
            .map(trimmed)
    }

    // MARK: - Forwarded

    /// Returns the last hops of `Forwarded`, such as `for=192.0.2.7;proto=https, for="[2001:db8::1]:4711"`.
    static func list(forwarded lines: [String]) -> [ForwardedHop] {
        lines.flatMap { line in
            // A client may leave a quote open to hide what a proxy appends.
            guard let elements = separated(Array(line.utf8)[...], by: comma) else { return [ForwardedHop()] }
            return elements.suffix(limit).map(hop)
        }.suffix(limit)
    }

    private static func hop(_ element: ArraySlice<UInt8>) -> ForwardedHop {
        var values: [String: ArraySlice<UInt8>] = [:]
        for pair in separated(element, by: UInt8(ascii: ";")) ?? [] {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let name = String(decoding: trimmed(parts[0]), as: UTF8.self).lowercased()
            // With a duplicate, neither value can be trusted.
            guard values.updateValue(unquoted(trimmed(parts[1])), forKey: name) == nil else { return ForwardedHop() }
        }
        return ForwardedHop(address: values["for"].flatMap(address), isSecure: values["proto"].map(isSecure))
    }

    /// Splits at separators outside of quotes; returns nil when a quote stays open.
    private static func separated(_ text: ArraySlice<UInt8>, by separator: UInt8) -> [ArraySlice<UInt8>]? {
        var parts: [ArraySlice<UInt8>] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in zip(text.indices, text) {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == quote {
                isQuoted.toggle()
            } else if byte == separator, !isQuoted {
                parts.append(text[start..<index])
                start = index + 1
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    private static func unquoted(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard value.count >= 2, value.first == quote, value.last == quote else { return value }
        return value.dropFirst().dropLast()
    }

    // MARK: - Values

    /// Parses an address with or without a port: `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
    private static func address(_ text: ArraySlice<UInt8>) -> ClientAddress? {
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")), isEmptyOrPort(text[(end + 1)...]) else {
                return nil
            }
            let address = text[..<end].dropFirst()
            return address.contains(colon) ? ClientAddress(String(decoding: address, as: UTF8.self)) : nil
        }
        guard let first = text.firstIndex(of: colon), first == text.lastIndex(of: colon) else {
            return ClientAddress(String(decoding: text, as: UTF8.self))
        }
        return isEmptyOrPort(text[first...]) ? ClientAddress(String(decoding: text[..<first], as: UTF8.self)) : nil
    }

    /// Whether the text is empty, or a colon and digits or an obfuscated port (RFC 7239, 6).
    private static func isEmptyOrPort(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first else { return true }
        let port = text.dropFirst()
        guard first == colon, (1...16).contains(port.count) else { return false }
        return port.first == UInt8(ascii: "_")
            || port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isSecure(_ text: ArraySlice<UInt8>) -> Bool {
        let name = String(decoding: text, as: UTF8.self)
        return name.isSameHeader(as: "https") || name.isSameHeader(as: "wss")
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let start = text.drop(while: isSpace)
        return start.lastIndex { !isSpace($0) }.map { start[...$0] } ?? []
    }

    private static let comma = UInt8(ascii: ",")
    private static let colon = UInt8(ascii: ":")
    private static let quote = UInt8(ascii: "\"")
}
