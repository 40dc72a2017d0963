import CLibcurl
import Synchronization

/// Sends mails to an SMTP server with libcurl.
package final class SMTPTransport: MailTransport {
    private let server: SMTPServer
    /// An engine that no other server shares: libcurl ends an SMTP connection with QUIT, for whose response its thread waits.
    private let engine = TransferEngine(TransferEngine.Limits(connectionsOfServer: 1, idleTime: .zero))

    /// Throws ``MailFailure`` if libcurl cannot be loaded.
    package init(_ server: SMTPServer) throws(MailFailure) {
        if let fault = Libcurl.fault {
            throw MailFailure(
                .transient,
                "Sending mail needs libcurl (libcurl4 in Debian), which could not be loaded: \(fault)"
            )
        }
        self.server = server
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        let transfer = SMTPTransfer(message, to: server)
        do throws(CurlFault) {
            _ = try await engine.perform(transfer)
        } catch {
            throw transfer.failure(error)
        }
    }

    /// Connects and logs in without sending mail. Throws ``MailFailure`` if that fails.
    ///
    /// - Parameter domain: The client's domain in its greeting.
    package func probe(from domain: String) async throws(MailFailure) {
        do throws(CurlFault) {
            _ = try await engine.perform(SMTPProbe(server, domain))
        } catch {
            throw MailFailure(.transient, "\(server.name): \(error.text).\(error.said)")
        }
    }
}

extension SMTPServer {
    fileprivate var name: String { "\(host):\(port)" }

    /// Sets the options of every transfer.
    ///
    /// - Parameter domain: The client's domain in its greeting.
    fileprivate func setUp(_ handle: inout CurlHandle, for domain: String) throws(CurlFault) {
        let scheme = security == .implicit ? "smtps" : "smtp"
        // libcurl uses the path as the client's domain.
        try handle.setUp("\(scheme)://\(name)/\(domain)", scheme: scheme)
        // After a transfer, libcurl sends QUIT, and by default waits two minutes for the response.
        try handle.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(timeout / .seconds(1))))
        // Servers end idle connections, and a mail on such a one would fail.
        try handle.set(CURLOPT_FORBID_REUSE, 1)
        if let user { try handle.set(CURLOPT_USERNAME, user) }
        if let password { try handle.set(CURLOPT_PASSWORD, password) }
        if let certificates { try handle.set(CURLOPT_CAINFO, certificates) }
        let usesTLS = security == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        try handle.set(CURLOPT_USE_SSL, Int(usesTLS.rawValue))
    }
}

/// A connection with its login.
private final class SMTPProbe: Transfer {
    private let target: SMTPServer
    private let domain: String

    init(_ target: SMTPServer, _ domain: String) {
        self.target = target
        self.domain = domain
    }

    var server: String { target.name }
    var timeout: Duration { target.timeout }

    func setUp(_ handle: inout CurlHandle) throws(CurlFault) {
        try target.setUp(&handle, for: domain)
        try handle.set(CURLOPT_CONNECT_ONLY, 1)
    }
}

/// The transfer of one mail.
private final class SMTPTransfer: Transfer {
    private let target: SMTPServer
    private let message: MailMessage
    private let bytes: [UInt8]
    private let position = Mutex(0)

    init(_ message: MailMessage, to target: SMTPServer) {
        self.target = target
        self.message = message
        bytes = message.bytes
    }

    var server: String { target.name }
    var timeout: Duration { target.timeout }

    func setUp(_ handle: inout CurlHandle) throws(CurlFault) {
        try target.setUp(&handle, for: message.from.address.domain)
        try handle.set(CURLOPT_MAIL_FROM, "<\(message.from.address)>")
        try handle.set(CURLOPT_MAIL_RCPT, ["<\(message.to)>"])
        try handle.set(CURLOPT_UPLOAD, 1)
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> TransferSupply {
        position.withLock { position in
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            position += count
            return .bytes(count)
        }
    }

    /// Returns the failure. SMTP's permanent responses to this mail are permanent; errors of the connection or of the
    /// sending account can be fixed and are transient.
    func failure(_ fault: CurlFault) -> MailFailure {
        guard case .failed(let code, let response) = fault else { return MailFailure(.transient, fault.text) }
        let isOfAccount = [530, 534, 535, 538].contains(response) || code == CURLE_LOGIN_DENIED
        let isRefused = (500...599).contains(response ?? 0) && !isOfAccount && code != CURLE_USE_SSL_FAILED
        return MailFailure(
            isRefused ? .permanent : .transient,
            "The mail server \(server) did not accept mail: \(fault.text).\(fault.said)"
        )
    }
}

extension CurlFault {
    /// A sentence with the server's response code.
    fileprivate var said: String {
        guard case .failed(_, let response?) = self else { return "" }
        return " The server responded with \(response)."
    }
}
