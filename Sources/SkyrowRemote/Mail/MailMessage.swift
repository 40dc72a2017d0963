package import Foundation

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
    /// Makes `Message-ID` and file names: letters, digits, dots and hyphens.
    package let id: String
    package let date: Date

    /// Throws ``MailFailure`` for a subject with a line break, which could begin a header field of its own.
    package init(
        from: Mailbox,
        to: MailAddress,
        subject: String,
        text: String,
        html: String? = nil,
        id: String,
        date: Date = Date()
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
        self.date = date
    }

    /// The mail as RFC 5322 has it, every line of which ends with CR and LF.
    package var bytes: [UInt8] {
        var lines = [
            "From: \(from.name.map { "\(MailMessage.phrase($0)) <\(from.address)>" } ?? from.address.description)",
            "To: \(to)",
            "Subject: \(MailMessage.encodedWords(subject))",
            "Date: \(MailMessage.dateText(date))",
            "Message-ID: <\(id)@\(from.address.domain)>",
            "MIME-Version: 1.0",
            // RFC 3834: programs that respond to mail do not respond to this.
            "Auto-Submitted: auto-generated",
        ]
        if let html {
            // No line of a body begins so: bodies are base64 where they have other letters, and ids are drawn.
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

    /// The header fields and the lines of a body. One that SMTP carries as it is stays readable, others are base64.
    private static func part(_ text: String, _ subtype: String) -> [String] {
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let isPlain = lines.allSatisfy { line in
            line.utf8.count <= 990 && line.utf8.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
        }
        let head = ["Content-Type: text/\(subtype); charset=utf-8"]
        guard isPlain else {
            let bytes = Data(lines.joined(separator: "\r\n").utf8)
            let encoded = bytes.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
            return head + ["Content-Transfer-Encoding: base64", ""]
                + encoded.split(separator: "\n").map(String.init)
        }
        return head + ["Content-Transfer-Encoding: 7bit", ""] + lines
    }

    /// A name before an address: in quotes, or encoded where it is not ASCII.
    private static func phrase(_ name: String) -> String {
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return encodedWords(name) }
        return "\"" + name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// RFC 2047: what is not ASCII, or could be taken for an encoded word, in words for which there is room behind the name of the
    /// field, in a line of 76 letters.
    private static func encodedWords(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ $0 < 0x80 }) || text.contains("=?") || text.utf8.count > 900 else { return text }
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if word.count + bytes.count > 39 {
                words.append(Data(word).base64EncodedString())
                word = []
            }
            word += bytes
        }
        words.append(Data(word).base64EncodedString())
        return words.map { "=?UTF-8?B?\($0)?=" }.joined(separator: "\r\n ")
    }

    private static func dateText(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .weekday, .hour, .minute, .second], from: date)
        func two(_ value: Int?) -> String {
            let text = String(value ?? 0)
            return text.count < 2 ? "0" + text : text
        }
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) "
            + "\(parts.year ?? 1970) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) +0000"
    }
}
