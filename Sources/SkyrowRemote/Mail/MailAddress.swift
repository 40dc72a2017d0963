/// An address that every mail server accepts: `ann@example.org`, in ASCII and without quotes.
///
/// Its characters can neither end a line of a mail nor an SMTP command.
package struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The part after the `@`.
    package let domain: String

    /// nil if the text is not such an address.
    package init?(_ text: String) {
        guard text.utf8.count <= 254, let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let local = text.utf8[..<at]
        let domain = text.utf8[text.utf8.index(after: at)...]
        guard (1...64).contains(local.count),
            local.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy({ !$0.isEmpty && $0.allSatisfy(MailAddress.isAtom) }),
            domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy(MailAddress.isLabel)
        else { return nil }
        description = text
        self.domain = String(decoding: domain, as: UTF8.self)
    }

    /// `atext` of RFC 5322.
    private static func isAtom(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLabel(_ bytes: Substring.UTF8View) -> Bool {
        guard (1...63).contains(bytes.count), let first = bytes.first, let last = bytes.last else { return false }
        return isLetterOrDigit(first) && isLetterOrDigit(last)
            && bytes.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The sender of mail: an address, and a display name.
package struct Mailbox: Hashable, Sendable {
    package let address: MailAddress
    package let name: String?

    /// Parses `no-reply@example.org` or `Example <no-reply@example.org>`; nil for anything else.
    package init?(_ text: String) {
        guard text.hasSuffix(">") else {
            guard let address = MailAddress(text) else { return nil }
            self.address = address
            name = nil
            return
        }
        guard let start = text.lastIndex(of: "<"),
            let address = MailAddress(String(text[text.index(after: start)...].dropLast()))
        else { return nil }
        var name = String(text[..<start])
        while name.last == " " { name.removeLast() }
        guard name.utf8.count <= 200, !name.isUnfitForHeaders else { return nil }
        self.address = address
        self.name = name.isEmpty ? nil : name
    }
}

extension String {
    /// Whether the text has a control character, which could end the line of a header field.
    var isUnfitForHeaders: Bool {
        unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}
