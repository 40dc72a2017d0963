import Foundation

/// An SMTP server on the loopback interface, based on aiosmtpd, which stores mails as files.
package struct TemporaryMailServer: Sendable {
    /// The server's protocol and behavior.
    package enum Mode: String, Sendable, CaseIterable {
        /// STARTTLS, and login with a password required.
        case starttls
        /// TLS from the first byte, with the same login.
        case implicit
        /// No TLS.
        case plain
        /// It defers the first mail (451).
        case busy
        /// It rejects every mail after its data (554).
        case refusing
        /// It does not respond to a mail.
        case silent
    }

    package static let user = "sender"
    package static let password = "a pass word"

    package let port: Int
    private let directory: String
    private let process: pid_t

    /// The server's certificate in PEM, which clients must trust.
    package var certificate: String { "\(directory)/certificate.pem" }

    /// The accepted mails, each with its envelope in the first two lines.
    package var mails: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".mail") }.sorted().compactMap {
            try? String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8)
        }
    }

    fileprivate init(_ mode: Mode) async throws {
        let directory = try TemporaryDirectory.make(named: "smtp")
        self.directory = directory
        try await Program.run(
            [
                "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", "\(directory)/key.pem", "-out", "\(directory)/certificate.pem",
            ]
        )
        try TemporaryMailServer.script.write(toFile: "\(directory)/server.py", atomically: false, encoding: .utf8)
        process = try Program.start(
            [
                "/usr/bin/python3", "\(directory)/server.py", directory, mode.rawValue, TemporaryMailServer.user,
                TemporaryMailServer.password,
            ],
            log: "\(directory)/log"
        )
        do {
            port = try await Program.numbers(1, in: "\(directory)/port", until: "the mail server listens")[0]
        } catch {
            let said = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
            TemporaryMailServer.stop(process, directory)
            throw TemporaryClusterError(description: "The mail server did not start: \(said)")
        }
    }

    fileprivate func stop() {
        TemporaryMailServer.stop(process, directory)
    }

    private static func stop(_ process: pid_t, _ directory: String) {
        Program.end(process)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = """
        import asyncio, os, ssl, sys
        from aiosmtpd.smtp import SMTP, AuthResult

        directory, mode, user, password = sys.argv[1:]
        taken = 0
        tried = 0


        class Handler:
            async def handle_RCPT(self, server, session, envelope, address, options):
                if address.startswith("unknown@"):
                    return "550 No such user"
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, server, session, envelope):
                global taken, tried
                tried += 1
                if mode == "silent":
                    await asyncio.sleep(3600)
                if mode == "refusing":
                    return "554 Not this one"
                if mode == "busy" and tried == 1:
                    return "451 Later"
                taken += 1
                path = f"{directory}/{taken:04}.mail"
                with open(path + ".part", "wb") as file:
                    file.write(f"{envelope.mail_from}\\n{','.join(envelope.rcpt_tos)}\\n".encode())
                    file.write(envelope.original_content)
                os.rename(path + ".part", path)
                return "250 Taken"


        def authenticate(server, session, envelope, mechanism, data):
            right = data.login == user.encode() and data.password == password.encode()
            return AuthResult(success=right, handled=False)


        def server():
            if mode in ("starttls", "implicit"):
                return SMTP(
                    Handler(), hostname="localhost", authenticator=authenticate, auth_required=True,
                    require_starttls=mode == "starttls", tls_context=context if mode == "starttls" else None,
                    auth_require_tls=mode == "starttls")
            return SMTP(Handler(), hostname="localhost")


        async def main():
            secure = context if mode == "implicit" else None
            listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0, ssl=secure)
            with open(f"{directory}/port.part", "w") as file:
                file.write(str(listener.sockets[0].getsockname()[1]))
            os.rename(f"{directory}/port.part", f"{directory}/port")
            await listener.serve_forever()


        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{directory}/certificate.pem", f"{directory}/key.pem")
        asyncio.run(main())
        """
}

/// Runs `body` with a mail server.
package func withMailServer<Success>(
    _ mode: TemporaryMailServer.Mode,
    _ body: (TemporaryMailServer) async throws -> Success
) async throws -> Success {
    let server = try await TemporaryMailServer(mode)
    defer { server.stop() }
    return try await body(server)
}
