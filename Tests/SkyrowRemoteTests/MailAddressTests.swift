import Testing

@testable import SkyrowRemote

@Suite struct MailAddressTests {
    @Test(arguments: [
        ("ann@example.org", true), ("a.b+c@example.org", true), ("o'neill@example.org", true),
        ("ann@localhost", true), ("Ann@EXAMPLE.org", true), ("a@xn--bcher-kva.example", true),
        (String(repeating: "a", count: 64) + "@example.org", true),
        (String(repeating: "a", count: 65) + "@example.org", false),
        ("a@" + String(repeating: "b", count: 64) + ".org", false),
        ("a@" + Array(repeating: "bbbbbbbbbb", count: 24).joined(separator: "."), false),
        ("", false), ("ann", false), ("@example.org", false), ("ann@", false), ("ann@.org", false),
        ("ann@example..org", false), ("ann@-a.org", false), (".ann@example.org", false), ("an..n@example.org", false),
        ("ann smith@example.org", false), ("\"ann\"@example.org", false), ("ann@exa mple.org", false),
        ("ann@b@example.org", false), ("<ann@example.org>", false), ("ann@[127.0.0.1]", false),
        ("änn@example.org", false), ("ann@bücher.example", false),
        // What would begin another field, another command or another recipient.
        ("ann@example.org\r\nBcc: eve@example.org", false), ("ann\r\n@example.org", false),
        ("ann@example.org\n", false), ("ann@example.org,eve@example.org", false), ("ann@example.org\0", false),
        ("ann@example.org> SIZE=1", false),
    ])
    func anAddressIsWhatEveryServerTakes(_ text: String, _ isAddress: Bool) {
        #expect((MailAddress(text) != nil) == isAddress, "\(text)")
    }

    @Test(
        arguments: [
            ("no-reply@example.org", "no-reply@example.org", nil),
            ("Example <no-reply@example.org>", "no-reply@example.org", "Example"),
            ("<no-reply@example.org>", "no-reply@example.org", nil),
            ("Bücher & Co <a@example.org>", "a@example.org", "Bücher & Co"),
            ("Example <no-reply>", nil, nil), ("Example", nil, nil), ("A\r\nBcc: x <a@example.org>", nil, nil),
            ("A <a@example.org> <b@example.org", nil, nil),
        ] as [(String, String?, String?)]
    )
    func aSenderIsAnAddressAndAName(_ text: String, _ address: String?, _ name: String?) {
        let mailbox = Mailbox(text)
        #expect(mailbox?.address.description == address)
        #expect(mailbox?.name == name)
    }

    @Test(
        arguments: [
            ("smtp://mail.example", "mail.example", 587, nil, .required),
            ("smtp://sender@mail.example:2525", "mail.example", 2525, "sender", .required),
            ("smtps://a@b@mail.example", "mail.example", 465, "a@b", .implicit),
            ("smtp://[::1]:25", "[::1]", 25, nil, .required),
        ] as [(String, String, Int, String?, SMTPServer.Security)]
    )
    func aServerIsRead(_ url: String, _ host: String, _ port: Int, _ user: String?, _ security: SMTPServer.Security) {
        let server = SMTPServer(url: url)
        #expect(server?.host == host)
        #expect(server?.port == port)
        #expect(server?.user == user)
        #expect(server?.security == security)
    }

    @Test(arguments: [
        "", "smtp://", "http://mail.example", "smtp://mail.example:0", "smtp://mail.example:65536",
        "smtp://mail.example/path", "smtp://user:password@mail.example", "smtp://@mail.example",
        "smtp://mail.example?x", "smtp://ma il.example", "smtp://mail.example\r\nQUIT",
    ])
    func anythingElseIsNoServer(_ url: String) {
        #expect(SMTPServer(url: url) == nil)
    }
}
