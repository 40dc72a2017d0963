import SkyrowTestSupport
import Testing

@testable import SkyrowRemote

/// Against a real server on the loopback interface.
@Suite struct SMTPTransportTests {
    private func message(to address: String = "ann@example.net") throws -> MailMessage {
        try MailMessage(
            from: #require(Mailbox("Example <no-reply@example.org>")),
            to: #require(MailAddress(address)),
            subject: "Hello",
            // A line that is a dot alone ends a mail, unless it is written as two.
            text: "One\n.\n..two\nThree ä",
            html: "<p>One</p>\n.\n",
            id: "abc123"
        )
    }

    private func server(
        _ mail: TemporaryMailServer,
        _ security: SMTPServer.Security,
        host: String = "127.0.0.1",
        password: String? = TemporaryMailServer.password
    ) -> SMTPServer {
        var server = SMTPServer(
            host: host,
            port: mail.port,
            user: password == nil ? nil : TemporaryMailServer.user,
            password: password,
            security: security,
            certificates: mail.certificate
        )
        server.timeout = .seconds(600)
        return server
    }

    private func failure(_ server: SMTPServer, to address: String = "ann@example.net") async throws -> MailFailure? {
        let message = try message(to: address)
        do throws(MailFailure) {
            try await SMTPTransport(server).send(message)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (.starttls, .required, true), (.implicit, .implicit, true), (.plain, .none, false),
        ] as [(TemporaryMailServer.Mode, SMTPServer.Security, Bool)]
    )
    func aMailArrivesAsItWasWritten(
        _ mode: TemporaryMailServer.Mode,
        _ security: SMTPServer.Security,
        _ logsIn: Bool
    ) async throws {
        try await withMailServer(mode) { mail in
            let transport = try SMTPTransport(
                server(mail, security, password: logsIn ? TemporaryMailServer.password : nil)
            )
            let message = try message()
            try await transport.send(message)
            try await transport.send(message)
            let expected = "no-reply@example.org\nann@example.net\n" + String(decoding: message.bytes, as: UTF8.self)
            #expect(mail.mails == [expected, expected])
        }
    }

    @Test(
        arguments: [
            (.starttls, .required, true, true), (.implicit, .implicit, true, true), (.plain, .none, false, true),
            (.starttls, .required, false, true), (.plain, .required, true, false), (.implicit, .required, true, false),
        ] as [(TemporaryMailServer.Mode, SMTPServer.Security, Bool, Bool)]
    )
    func aServerIsAskedWithoutAMail(
        _ mode: TemporaryMailServer.Mode,
        _ security: SMTPServer.Security,
        _ logsIn: Bool,
        _ isUsable: Bool
    ) async throws {
        try await withMailServer(mode) { mail in
            var server = server(mail, security, password: logsIn ? TemporaryMailServer.password : nil)
            // Each waits for the other to begin.
            if mode == .implicit, security == .required { server.timeout = .seconds(3) }
            do throws(MailFailure) {
                try await SMTPTransport(server).probe(from: "example.org")
                #expect(isUsable)
            } catch {
                #expect(!isUsable, "\(error)")
            }
            #expect(mail.mails.isEmpty)
        }
    }

    @Test func aWrongPasswordIsFoundOutWithoutAMail() async throws {
        try await withMailServer(.starttls) { mail in
            var failure: MailFailure?
            do throws(MailFailure) {
                try await SMTPTransport(server(mail, .required, password: "another")).probe(from: "example.org")
            } catch {
                failure = error
            }
            #expect(failure?.description.contains("Login denied") == true, "\(String(describing: failure))")
            #expect(failure?.description.contains("another") == false)
        }
    }

    /// A server without TLS gets nothing, not even the password.
    @Test func withoutTLSNothingIsSent() async throws {
        try await withMailServer(.plain) { mail in
            let failure = try await failure(server(mail, .required))
            #expect(failure?.kind == .transient)
            #expect(mail.mails.isEmpty)
        }
    }

    @Test func aServerThatIsNotTheOneMeantGetsNothing() async throws {
        try await withMailServer(.starttls) { mail in
            // A certificate that no one has signed whom we know.
            var stranger = server(mail, .required)
            stranger.certificates = nil
            let untrusted = try await failure(stranger)
            #expect(untrusted?.kind == .transient)
            // One for another name.
            let misnamed = try await failure(server(mail, .required, host: "127.0.0.2"))
            #expect(misnamed?.kind == .transient)
            #expect(mail.mails.isEmpty)
        }
    }

    @Test func aWrongPasswordOfOursIsNotTheMailsFault() async throws {
        try await withMailServer(.starttls) { mail in
            let failure = try await failure(server(mail, .required, password: "wrong"))
            #expect(failure?.kind == .transient)
            #expect(failure?.description.contains("wrong") == false)
        }
    }

    @Test func whatTheServerRefusesForGoodIsNotTriedAgain() async throws {
        try await withMailServer(.plain) { mail in
            let refusal = try await failure(server(mail, .none, password: nil), to: "unknown@example.net")
            #expect(refusal?.kind == .permanent)
            #expect(refusal?.description.contains("550") == true)
            // Logs name no addresses.
            #expect(refusal?.description.contains("unknown") == false)
        }
        try await withMailServer(.refusing) { mail in
            let refusal = try await failure(server(mail, .none, password: nil))
            #expect(refusal?.kind == .permanent)
        }
    }

    @Test func whatItPutsOffIs() async throws {
        try await withMailServer(.busy) { mail in
            let server = server(mail, .none, password: nil)
            let first = try await failure(server)
            #expect(first?.kind == .transient)
            let second = try await failure(server)
            #expect(second == nil)
            #expect(mail.mails.count == 1)
        }
    }

    @Test func aServerThatSaysNothingIsGivenUp() async throws {
        try await withMailServer(.silent) { mail in
            var server = server(mail, .none, password: nil)
            server.timeout = .milliseconds(500)
            // libcurl takes leave of the server, and would wait for two minutes.
            let failure = try await waiting(for: "the end of a mail", within: .seconds(100)) { [server] in
                try await self.failure(server)
            }
            #expect(failure?.kind == .transient)
            #expect(mail.mails.isEmpty)
        }
    }

    @Test func aCancelledTaskDoesNotWaitForTheServer() async throws {
        try await withMailServer(.silent) { mail in
            let server = server(mail, .none, password: nil)
            let transport = try SMTPTransport(server)
            let message = try message()
            let task = Task { () -> MailFailure? in
                do throws(MailFailure) {
                    try await transport.send(message)
                    return nil
                } catch {
                    return error
                }
            }
            task.cancel()
            let failure = try await waiting(for: "the end of a cancelled task") { await task.value }
            #expect(failure?.kind == .transient)
        }
    }

    @Test func noServerAtAllIsATransientFailure() async throws {
        let failure = try await failure(SMTPServer(host: "127.0.0.1", port: 1, security: .none))
        #expect(failure?.kind == .transient)
    }
}
