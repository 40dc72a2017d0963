import CLibcurl
import Dispatch
import SkyrowConcurrency
import Synchronization

/// Why libcurl did not do what was asked of it.
enum CurlFault: Error {
    /// An option was not taken.
    case refused(CURLcode)
    /// The transfer failed, after the other side had responded with a code or before it had.
    case failed(CURLcode, response: Int?)

    var text: String {
        switch self {
        case .refused(let code): "libcurl refused an option: \(Libcurl.text(code))"
        case .failed(let code, _): Libcurl.text(code)
        }
    }
}

/// One use of libcurl by one thread: options are set, and then it is performed.
struct CurlHandle: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    /// To which options refer.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    init() throws(CurlFault) {
        guard let handle = skyrow_curl_make() else { throw .refused(CURLE_OUT_OF_MEMORY) }
        self.handle = handle
    }

    deinit {
        skyrow_curl_free(handle)
        for list in lists { skyrow_curl_free_list(list) }
    }

    /// Sets what every use has in common.
    ///
    /// - Parameters:
    ///   - scheme: the only protocol that is spoken.
    ///   - timeout: after which it fails, whatever has come.
    func setUp(_ url: String, scheme: String, timeout: Duration) throws(CurlFault) {
        let milliseconds = Int(timeout / .milliseconds(1))
        try set(CURLOPT_URL, url)
        try set(CURLOPT_PROTOCOLS_STR, scheme)
        // No proxy that the environment names for the web, which would connect to whatever it likes.
        try set(CURLOPT_NOPROXY, "*")
        try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // Signals are the process's.
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_TIMEOUT_MS, milliseconds)
        try set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    }

    func set(_ option: CURLoption, _ text: String) throws(CurlFault) {
        try check(skyrow_curl_set_text(handle, option, text))
    }

    func set(_ option: CURLoption, _ number: Int) throws(CurlFault) {
        try check(skyrow_curl_set_number(handle, option, number))
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
        try check(skyrow_curl_set_list(handle, option, list))
    }

    /// Sets what reads the bytes to send; it gets the context, which has to last.
    func setSource(_ read: curl_read_callback, _ context: UnsafeMutableRawPointer) throws(CurlFault) {
        try check(skyrow_curl_set_source(handle, read, context))
    }

    /// Sets what takes the bytes and the lines of the head that come.
    func setSink(
        _ write: curl_write_callback,
        header: curl_write_callback,
        _ context: UnsafeMutableRawPointer
    ) throws(CurlFault) {
        try check(skyrow_curl_set_sink(handle, write, header, context))
    }

    /// Sets what opens the socket to an address, or refuses to.
    func setOpenSocket(_ open: curl_opensocket_callback, _ context: UnsafeMutableRawPointer) throws(CurlFault) {
        try check(skyrow_curl_set_open_socket(handle, open, context))
    }

    /// Has a cancellation end it, which has to last as long.
    func setCancellation(_ cancellation: CurlCancellation) throws(CurlFault) {
        try set(CURLOPT_NOPROGRESS, 0)
        let progress: curl_xferinfo_callback = { context, _, _, _, _ in
            guard let context else { return 1 }
            // Anything but zero ends the transfer.
            return Unmanaged<CurlCancellation>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }
        let context = Unmanaged.passUnretained(cancellation).toOpaque()
        try check(skyrow_curl_set_progress(handle, progress, context))
    }

    /// Connects and does what the options say, and blocks until that is done.
    func perform() throws(CurlFault) {
        let code = skyrow_curl_perform(handle)
        guard code == CURLE_OK else { throw .failed(code, response: response) }
    }

    /// The code that the other side has responded with last; nil where there is none.
    var response: Int? {
        var response = 0
        return skyrow_curl_response_code(handle, &response) == CURLE_OK && response > 0 ? response : nil
    }

    private func check(_ code: CURLcode) throws(CurlFault) {
        guard code == CURLE_OK else { throw .refused(code) }
    }
}

/// Ends a transfer with the task that waits for it.
final class CurlCancellation: Sendable {
    private let flag = Atomic(false)

    /// libcurl asks several times a second.
    var isCancelled: Bool { flag.load(ordering: .relaxed) }

    /// Makes a transfer on a queue, whose thread it blocks, and cancels it with the task that waits for it.
    static func transfer<Success: Sendable, Failure>(
        on queue: DispatchQueue,
        _ body: @escaping @Sendable (CurlCancellation) -> Result<Success, Failure>
    ) async throws(Failure) -> Success {
        let cancellation = CurlCancellation()
        let result = Deferred<Result<Success, Failure>>()
        queue.async { result.settle(body(cancellation)) }
        return try await result.value { _ in cancellation.flag.store(true, ordering: .relaxed) }.get()
    }
}
