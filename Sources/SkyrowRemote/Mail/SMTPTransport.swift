import CLibcurl
import Dispatch
import Synchronization

/// Sends mail to an SMTP server with libcurl, one after the other, on a thread that nothing else waits for.
package final class SMTPTransport: MailTransport {
    private let server: SMTPServer
    private let thread = DispatchQueue(label: "skyrow.mail")

    /// Throws ``MailFailure`` where libcurl cannot be loaded.
    package init(_ server: SMTPServer) throws(MailFailure) {
        if let fault = Libcurl.fault {
            throw MailFailure(
                .transient,
                "Mail is sent with libcurl (libcurl4 in Debian), which could not be loaded: \(fault)"
            )
        }
        self.server = server
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        let transfer = SMTPTransfer(message, to: server)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, MailFailure>, Never>) in
                thread.async { continuation.resume(returning: transfer.run()) }
            }
        } onCancel: {
            transfer.cancel()
        }
        try result.get()
    }

    /// Connects to the server and logs in as for a mail, and sends none; throws ``MailFailure`` about what does not work.
    ///
    /// - Parameter domain: what the client calls itself.
    package func probe(from domain: String) async throws(MailFailure) {
        let server = server
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Void, MailFailure>, Never>) in
            thread.async { continuation.resume(returning: server.probe(from: domain)) }
        }
        try result.get()
    }
}

extension SMTPServer {
    /// Blocks for as long as the timeout of the server at most.
    fileprivate func probe(from domain: String) -> Result<Void, MailFailure> {
        guard let handle = skyrow_curl_make() else { return .failure(.noMemory) }
        defer { skyrow_curl_free(handle) }
        var failed = prepare(handle, domain: domain)
        if failed == CURLE_OK { failed = skyrow_curl_set_number(handle, CURLOPT_CONNECT_ONLY, 1) }
        guard failed == CURLE_OK else {
            return .failure(MailFailure(.transient, "libcurl refused an option: \(Libcurl.text(failed))"))
        }
        let outcome = skyrow_curl_perform(handle)
        guard outcome != CURLE_OK else { return .success(()) }
        var response = 0
        _ = skyrow_curl_response_code(handle, &response)
        let said = response > 0 ? " The server responded with \(response)." : ""
        return .failure(MailFailure(.transient, "\(host):\(port): \(Libcurl.text(outcome)).\(said)"))
    }

    /// Sets what any use of the server takes.
    ///
    /// - Parameter domain: what the client calls itself.
    fileprivate func prepare(_ handle: UnsafeMutableRawPointer, domain: String) -> CURLcode {
        let milliseconds = Int(timeout / .milliseconds(1))
        // When a transfer has failed, libcurl still takes leave of the server, and would wait two minutes for its response.
        let seconds = max(1, milliseconds / 1000)
        let scheme = security == .implicit ? "smtps" : "smtp"
        var texts: [(CURLoption, String)] = [
            // The path is what the client calls itself.
            (CURLOPT_URL, "\(scheme)://\(host):\(port)/\(domain)"),
            (CURLOPT_PROTOCOLS_STR, scheme),
            // Not by a proxy that the environment names for the web.
            (CURLOPT_NOPROXY, "*"),
        ]
        if let user { texts.append((CURLOPT_USERNAME, user)) }
        if let password { texts.append((CURLOPT_PASSWORD, password)) }
        if let certificates { texts.append((CURLOPT_CAINFO, certificates)) }
        let usesTLS = security == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_USE_SSL, Int(usesTLS.rawValue)),
            (CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
            // Signals are the process's.
            (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_TIMEOUT_MS, milliseconds),
            (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            (CURLOPT_SERVER_RESPONSE_TIMEOUT, seconds),
        ]
        for (option, text) in texts {
            let code = skyrow_curl_set_text(handle, option, text)
            guard code == CURLE_OK else { return code }
        }
        for (option, number) in numbers {
            let code = skyrow_curl_set_number(handle, option, number)
            guard code == CURLE_OK else { return code }
        }
        return CURLE_OK
    }
}

/// One mail on its way; `run` blocks.
private final class SMTPTransfer: Sendable {
    private let server: SMTPServer
    private let message: MailMessage
    private let bytes: [UInt8]
    private let position = Mutex(0)
    private let isCancelled = Atomic(false)

    init(_ message: MailMessage, to server: SMTPServer) {
        self.message = message
        self.server = server
        bytes = message.bytes
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
    }

    func run() -> Result<Void, MailFailure> {
        guard let recipients = skyrow_curl_append(nil, "<\(message.to)>") else { return .failure(.noMemory) }
        defer { skyrow_curl_free_list(recipients) }
        guard let handle = skyrow_curl_make() else { return .failure(.noMemory) }
        defer { skyrow_curl_free(handle) }
        let failed = setUp(handle, recipients)
        guard failed == CURLE_OK else {
            return .failure(MailFailure(.transient, "libcurl refused an option: \(Libcurl.text(failed))"))
        }
        // This object outlives the call, in which alone libcurl uses the pointers to it.
        let outcome = withExtendedLifetime(self) { skyrow_curl_perform(handle) }
        guard outcome != CURLE_OK else { return .success(()) }
        var response = 0
        _ = skyrow_curl_response_code(handle, &response)
        return .failure(failure(outcome, response: response))
    }

    private func setUp(_ handle: UnsafeMutableRawPointer, _ recipients: UnsafeMutablePointer<curl_slist>) -> CURLcode {
        var code = server.prepare(handle, domain: message.from.address.domain)
        guard code == CURLE_OK else { return code }
        code = skyrow_curl_set_text(handle, CURLOPT_MAIL_FROM, "<\(message.from.address)>")
        guard code == CURLE_OK else { return code }
        for (option, number) in [(CURLOPT_UPLOAD, 1), (CURLOPT_NOPROGRESS, 0)] {
            code = skyrow_curl_set_number(handle, option, number)
            guard code == CURLE_OK else { return code }
        }
        code = skyrow_curl_set_list(handle, CURLOPT_MAIL_RCPT, recipients)
        guard code == CURLE_OK else { return code }
        let context = Unmanaged.passUnretained(self).toOpaque()
        let source = skyrow_curl_set_source(
            handle,
            { buffer, size, count, context in
                guard let buffer, let context else { return 0 }
                let transfer = Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            },
            context
        )
        guard source == CURLE_OK else { return source }
        return skyrow_curl_set_progress(
            handle,
            { context, _, _, _, _ in
                guard let context else { return 1 }
                // Anything but zero ends the transfer.
                return Unmanaged<SMTPTransfer>.fromOpaque(context).takeUnretainedValue().hasToEnd ? 1 : 0
            },
            context
        )
    }

    private var hasToEnd: Bool { isCancelled.load(ordering: .relaxed) }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        position.withLock { position in
            let count = min(buffer.count, bytes.count - position)
            buffer.copyBytes(from: bytes[position..<position + count])
            position += count
            return count
        }
    }

    /// What the server said to this mail is for good where SMTP says so; what is wrong with the connection or with the
    /// account that mail is sent by may be mended.
    private func failure(_ code: CURLcode, response: Int) -> MailFailure {
        let isOfAccount = [530, 534, 535, 538].contains(response) || code == CURLE_LOGIN_DENIED
        let isRefused = (500...599).contains(response) && !isOfAccount && code != CURLE_USE_SSL_FAILED
        let said = response > 0 ? " The server responded with \(response)." : ""
        return MailFailure(
            isRefused ? .permanent : .transient,
            "Mail is not accepted by \(server.host):\(server.port): \(Libcurl.text(code)).\(said)"
        )
    }
}

extension MailFailure {
    fileprivate static let noMemory = MailFailure(.transient, "There is no memory for a mail.")
}
