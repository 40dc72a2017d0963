import Glibc
import SkyrowJSON

/// One mail to one address.
///
/// ```swift
/// let message = try MailMessage(from: sender, to: address, subject: "Hello", text: "…", html: nil, id: "7.ab3f")
/// try await transport.send(message)
/// ```
package struct MailMessage: Hashable, Sendable {
    package let from: Mailbox
    package let to: MailAddress
    package let subject: String
    package let text: String
    package let html: String?
    /// The identifier in `Message-ID` and file names: letters, digits, dots and hyphens.
    package let id: String
    /// The time of writing, in seconds since 1970.
    package let second: Int

    /// Throws ``MailFailure`` for a subject with a line break, which could inject a header field.
    package init(
        from: Mailbox,
        to: MailAddress,
        subject: String,
        text: String,
        html: String? = nil,
        id: String,
        second: Int = time(nil)
    ) throws(MailFailure) {
        guard !subject.isUnfitForHeaders else {
            throw MailFailure(.permanent, "The subject has a line break or another control character.")
        }
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.id = id
        self.second = second
    }

    /// The mail in the form of RFC 5322, with CRLF line ends.
    package var bytes: [UInt8] {
        var lines = [
            "From: \(from.name.map { "\(MailMessage.phrase($0)) <\(from.address)>" } ?? from.address.description)",
            "To: \(to)",
            "Subject: \(MailMessage.encodedWords(subject))",
            "Date: \(HTTPDate.text(second: second, zone: "+0000"))",
            "Message-ID: <\(id)@\(from.address.domain)>",
            "MIME-Version: 1.0",
            // RFC 3834: automatic responders do not respond to this mail.
            "Auto-Submitted: auto-generated",
        ]
        if let html {
            // No line of a body begins like this: bodies with other characters are base64, and ids are random.
            let boundary = "=_\(id)"
            lines += ["Content-Type: multipart/alternative; boundary=\"\(boundary)\"", ""]
            lines += ["--\(boundary)"] + MailMessage.part(text, "plain")
            lines += ["--\(boundary)"] + MailMessage.part(html, "html")
            lines += ["--\(boundary)--"]
        } else {
            lines += MailMessage.part(text, "plain")
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
    }

    /// Returns the header fields and lines of a body: unencoded if SMTP can carry it, otherwise base64.
    private static func part(_ text: String, _ subtype: String) -> [String] {
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let isPlain = lines.allSatisfy { line in
            line.utf8.count <= 990 && line.utf8.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
        }
        let head = ["Content-Type: text/\(subtype); charset=utf-8"]
        guard isPlain else {
            let bytes = Array(lines.joined(separator: "\r\n").utf8)
            // 57 bytes make a line of 76 characters.
            return head + ["Content-Transfer-Encoding: base64", ""]
                + stride(from: 0, to: bytes.count, by: 57).map { start in
                    encodeBase64(Array(bytes[start..<min(start + 57, bytes.count)]))
                }
        }
        return head + ["Content-Transfer-Encoding: 7bit", ""] + lines
    }

    /// Returns a display name in quotes, or encoded if it is not ASCII.
    private static func phrase(_ name: String) -> String {
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return encodedWords(name) }
        return "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Encodes text that is not ASCII, or resembles an encoded word, by RFC 2047, in words that fit a line of 76
    /// characters after the field's name.
    private static func encodedWords(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) || text.contains("=?") || text.utf8.count > 900 else { return text }
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if word.count + bytes.count > 39 {
                words.append(encodeBase64(word))
                word = []
            }
            word += bytes
        }
        words.append(encodeBase64(word))
        return words.map { "=?UTF-8?B?\($0)?=" }.joined(separator: "\r\n ")
    }
}
