import Foundation
import Testing

@testable import SkyrowRemote

@Suite struct MailMessageTests {
    private func message(
        from: String = "Example <no-reply@example.org>",
        subject: String = "Hello",
        text: String = "Some text.\n",
        html: String? = nil
    ) throws -> MailMessage {
        try MailMessage(
            from: #require(Mailbox(from)),
            to: #require(MailAddress("ann@example.net")),
            subject: subject,
            text: text,
            html: html,
            id: "abc123",
            second: 1_772_355_600
        )
    }

    private func lines(_ message: MailMessage) -> [String] {
        String(decoding: message.bytes, as: UTF8.self).components(separatedBy: "\r\n")
    }

    @Test func aPlainMailIsReadable() throws {
        #expect(
            lines(try message()) == [
                "From: \"Example\" <no-reply@example.org>", "To: ann@example.net", "Subject: Hello",
                "Date: Sun, 01 Mar 2026 09:00:00 +0000", "Message-ID: <abc123@example.org>", "MIME-Version: 1.0",
                "Auto-Submitted: auto-generated", "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: 7bit", "", "Some text.", "", "",
            ]
        )
    }

    @Test func everyLineEndsWithBothCharacters() throws {
        for text in ["a\nb\r\nc\rd", "ä\nb\r\nc\rd"] {
            let bytes = try message(text: text, html: text).bytes
            for (index, byte) in bytes.enumerated() {
                if byte == 10 { #expect(index > 0 && bytes[index - 1] == 13) }
                if byte == 13 { #expect(index + 1 < bytes.count && bytes[index + 1] == 10) }
            }
        }
    }

    @Test func whatIsNotASCIIIsEncoded() throws {
        let mail = try message(
            from: "Bücher <a@example.org>",
            subject: "Passwort geändert " + String(repeating: "ü", count: 60),
            text: "Grüße\n" + String(repeating: "x", count: 2000)
        )
        #expect(mail.bytes.allSatisfy { $0 < 0x80 })
        let lines = lines(mail)
        #expect(lines.allSatisfy { $0.utf8.count <= 78 })
        #expect(lines[0] == "From: =?UTF-8?B?QsO8Y2hlcg==?= <a@example.org>")
        #expect(lines.contains("Content-Transfer-Encoding: base64"))
        let body = lines[((lines.firstIndex(of: "") ?? 0) + 1)...].joined()
        let decoded = try #require(Data(base64Encoded: body))
        #expect(String(decoding: decoded, as: UTF8.self) == "Grüße\r\n" + String(repeating: "x", count: 2000))
    }

    @Test func bothFormsAreParts() throws {
        let lines = lines(try message(html: "<p>Some text.</p>"))
        #expect(lines.filter { $0 == "--=_abc123" }.count == 2)
        #expect(lines.contains("--=_abc123--"))
        #expect(lines.contains("Content-Type: text/html; charset=utf-8"))
    }

    @Test(arguments: [
        "Hello\r\nBcc: eve@example.org", "Hello\nX: y", "Hello\rX: y", "a\u{0}b", "a\u{2028}b", "a\u{85}b",
    ])
    func aSubjectOfSeveralLinesIsRefused(_ subject: String) {
        let failure = #expect(throws: MailFailure.self) { try message(subject: subject) }
        #expect(failure?.kind == .permanent)
    }

    @Test func aFileHoldsAMail() async throws {
        let directory = "/tmp/skyrow-mail-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let transport = try FileMailTransport(directory: directory)
        let message = try message()
        try await transport.send(message)
        #expect(FileManager.default.contents(atPath: "\(directory)/abc123.eml").map { Array($0) } == message.bytes)
        for (path, mode) in [(directory, 0o700), ("\(directory)/abc123.eml", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
        }
        try FileManager.default.removeItem(atPath: directory)
        let failure = await #expect(throws: MailFailure.self) { try await transport.send(message) }
        #expect(failure?.kind == .transient)
    }
}
