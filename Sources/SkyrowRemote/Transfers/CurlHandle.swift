import CLibcurl

/// An error of libcurl.
enum CurlFault: Error {
    /// An option was refused.
    case refused(CURLcode)
    /// The transfer failed; `response` is the server's last response code, if any.
    case failed(CURLcode, response: Int?)
    /// The task that waited for the transfer was cancelled.
    case cancelled
    /// Too many transfers wait, to this server or in all.
    case busy
    /// The system starts no thread.
    case noThread

    var text: String {
        switch self {
        case .refused(let code): "libcurl refused an option: \(Libcurl.text(code))"
        case .failed(let code, _): Libcurl.text(code)
        case .cancelled: "The transfer was cancelled"
        case .busy: "Too many transfers to it are under way"
        case .noThread: "The system started no thread for it"
        }
    }
}

/// A transfer of libcurl and its options, used by one thread at a time.
struct CurlHandle: ~Copyable {
    let pointer: UnsafeMutableRawPointer
    /// Lists that options refer to.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    init() throws(CurlFault) {
        guard let pointer = skyrow_curl_make() else { throw .refused(CURLE_OUT_OF_MEMORY) }
        self.pointer = pointer
    }

    deinit {
        skyrow_curl_free(pointer)
        for list in lists { skyrow_curl_free_list(list) }
    }

    /// Sets the options common to all transfers.
    ///
    /// - Parameters:
    ///   - scheme: The only allowed protocol.
    func setUp(_ url: String, scheme: String) throws(CurlFault) {
        try set(CURLOPT_URL, url)
        try set(CURLOPT_PROTOCOLS_STR, scheme)
        try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // Signal handling belongs to the process.
        try set(CURLOPT_NOSIGNAL, 1)
        // Without this the end of a transfer waits for its name resolution, and so do all other transfers.
        try set(CURLOPT_QUICK_EXIT, 1)
        // A proxy from the environment would be able to connect to any address.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOPROXY, "")
    }

    func set(_ option: CURLoption, _ text: String) throws(CurlFault) {
        try check(skyrow_curl_set_text(pointer, option, text))
    }

    func set(_ option: CURLoption, _ number: Int) throws(CurlFault) {
        try check(skyrow_curl_set_number(pointer, option, number))
    }

    mutating func set(_ option: CURLoption, _ texts: [String]) throws(CurlFault) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            guard let longer = skyrow_curl_append(list, text) else {
                skyrow_curl_free_list(list)
                throw .refused(CURLE_OUT_OF_MEMORY)
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        try check(skyrow_curl_set_list(pointer, option, list))
    }

    /// Makes the transfer a POST with this body, which libcurl copies.
    func set(body: [UInt8]) throws(CurlFault) {
        try set(CURLOPT_POSTFIELDSIZE, body.count)
        // Without an address there would be no body to copy.
        let bytes = body.isEmpty ? [0] : body
        let code = bytes.withUnsafeBytes { bytes in
            skyrow_curl_set_text(
                pointer,
                CURLOPT_COPYPOSTFIELDS,
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            )
        }
        try check(code)
    }

    /// Sets the callbacks, whose context must outlive the handle.
    func setCallbacks(_ callbacks: TransferCallbacks, _ context: UnsafeMutableRawPointer) throws(CurlFault) {
        try check(skyrow_curl_set_source(pointer, callbacks.read, context))
        try check(skyrow_curl_set_sink(pointer, callbacks.write, callbacks.header, context))
        try check(skyrow_curl_set_open_socket(pointer, callbacks.open, context))
        try check(skyrow_curl_set_prerequest(pointer, callbacks.prerequest, context))
    }

    /// Continues a transfer that has paused, for which libcurl may call its callbacks.
    func resume() throws(CurlFault) {
        let code = skyrow_curl_resume(pointer)
        guard code == CURLE_OK else { throw .failed(code, response: response) }
    }

    /// The last response code of the server, or of the proxy that does not connect to it, if any.
    var response: Int? { number(CURLINFO_RESPONSE_CODE) ?? number(CURLINFO_HTTP_CONNECTCODE) }

    private func number(_ info: CURLINFO) -> Int? {
        var number = 0
        return skyrow_curl_number(pointer, info, &number) == CURLE_OK && number > 0 ? number : nil
    }

    private func check(_ code: CURLcode) throws(CurlFault) {
        guard code == CURLE_OK else { throw .refused(code) }
    }
}
