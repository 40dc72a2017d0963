import CLibcurl
import Dispatch
import Synchronization

/// Sends mails one at a time to an SMTP server with libcurl, on a dedicated thread.
package final class SMTPTransport: MailTransport {
    private let server: SMTPServer
    private let thread = DispatchQueue(label: "skyrow.mail")

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
        try await CurlCancellation.transfer(on: thread) { transfer.run($0) }
    }

    /// Connects and logs in without sending mail. Throws ``MailFailure`` if that fails.
    ///
    /// - Parameter domain: The client's domain in its greeting.
    package func probe(from domain: String) async throws(MailFailure) {
        let server = server
        try await CurlCancellation.transfer(on: thread) { server.probe(from: domain, $0) }
    }
}

extension SMTPServer {
    /// Probes the server; blocks for the server's timeout at most.
    fileprivate func probe(from domain: String, _ cancellation: CurlCancellation) -> Result<Void, MailFailure> {
        do throws(CurlFault) {
            let handle = try handle(for: domain, cancellation)
            try handle.set(CURLOPT_CONNECT_ONLY, 1)
            try withExtendedLifetime(cancellation) { () throws(CurlFault) in try handle.perform() }
            return .success(())
        } catch {
            return .failure(MailFailure(.transient, "\(host):\(port): \(error.text).\(error.said)"))
        }
    }

    /// Makes a handle with the options common to all transfers.
    ///
    /// - Parameter domain: The client's domain in its greeting.
    fileprivate func handle(
        for domain: String,
        _ cancellation: CurlCancellation
    ) throws(CurlFault) -> CurlHandle {
        let handle = try CurlHandle()
        let scheme = security == .implicit ? "smtps" : "smtp"
        // libcurl uses the path as the client's domain.
        try handle.setUp("\(scheme)://\(host):\(port)/\(domain)", scheme: scheme, timeout: timeout)
        // After a failed transfer, libcurl still sends QUIT, and by default waits two minutes for the response.
        try handle.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(timeout / .seconds(1))))
        if let user { try handle.set(CURLOPT_USERNAME, user) }
        if let password { try handle.set(CURLOPT_PASSWORD, password) }
        if let certificates { try handle.set(CURLOPT_CAINFO, certificates) }
        let usesTLS = security == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        try handle.set(CURLOPT_USE_SSL, Int(usesTLS.rawValue))
        try handle.setCancellation(cancellation)
        return handle
    }
}

/// The transfer of one mail; `run` blocks.
private final class SMTPTransfer: Sendable {
    private let server: SMTPServer
    private let message: MailMessage
    private let bytes: [UInt8]
    private let position = Mutex(0)

    init(_ message: MailMessage, to server: SMTPServer) {
        self.message = message
        self.server = server
        bytes = message.bytes
    }

    func run(_ cancellation: CurlCancellation) -> Result<Void, MailFailure> {
        do throws(CurlFault) {
            let handle = try handle(cancellation)
            // libcurl uses the pointers to these objects only during this call.
            try withExtendedLifetime((self, cancellation)) { () throws(CurlFault) in try handle.perform() }
            return .success(())
        } catch {
            return .failure(failure(error))
        }
    }

    private func handle(_ cancellation: CurlCancellation) throws(CurlFault) -> CurlHandle {
        var handle = try server.handle(for: message.from.address.domain, cancellation)
        try handle.set(CURLOPT_MAIL_FROM, "<\(message.from.address)>")
        try handle.set(CURLOPT_MAIL_RCPT, ["<\(message.to)>"])
        try handle.set(CURLOPT_UPLOAD, 1)
        try handle.setSource(
            { buffer, size, count, context in
                guard let buffer, let context else { return 0 }
                let transfer = Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        return handle
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        position.withLock { position in
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            position += count
            return count
        }
    }

    /// Returns the failure. SMTP's permanent responses to this mail are permanent; errors of the connection or of the
    /// sending account can be fixed and are transient.
    private func failure(_ fault: CurlFault) -> MailFailure {
        guard case .failed(let code, let response) = fault else { return MailFailure(.transient, fault.text) }
        let isOfAccount = [530, 534, 535, 538].contains(response) || code == CURLE_LOGIN_DENIED
        let isRefused = (500...599).contains(response ?? 0) && !isOfAccount && code != CURLE_USE_SSL_FAILED
        return MailFailure(
            isRefused ? .permanent : .transient,
            "The mail server \(server.host):\(server.port) did not accept mail: \(fault.text).\(fault.said)"
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
