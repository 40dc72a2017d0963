import CLibcurl
import Dispatch
import SkyrowConcurrency
import Synchronization

/// An error of libcurl.
enum CurlFault: Error {
    /// An option was refused.
    case refused(CURLcode)
    /// The transfer failed; `response` is the server's last response code, if any.
    case failed(CURLcode, response: Int?)

    var text: String {
        switch self {
        case .refused(let code): "libcurl refused an option: \(Libcurl.text(code))"
        case .failed(let code, _): Libcurl.text(code)
        }
    }
}

/// A transfer with libcurl, used by one thread: set options, then perform.
struct CurlHandle: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    /// Lists that options refer to.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []

    init() throws(CurlFault) {
        guard let handle = skyrow_curl_make() else { throw .refused(CURLE_OUT_OF_MEMORY) }
        self.handle = handle
    }

    deinit {
        skyrow_curl_free(handle)
        for list in lists { skyrow_curl_free_list(list) }
    }

    /// Sets the options common to all transfers.
    ///
    /// - Parameters:
    ///   - scheme: The only allowed protocol.
    ///   - timeout: The time limit of the whole transfer.
    func setUp(_ url: String, scheme: String, timeout: Duration) throws(CurlFault) {
        let milliseconds = Int(timeout / .milliseconds(1))
        try set(CURLOPT_URL, url)
        try set(CURLOPT_PROTOCOLS_STR, scheme)
        // A proxy from the environment would be able to connect to any address.
        try set(CURLOPT_NOPROXY, "*")
        try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // Signal handling belongs to the process.
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

    /// Sets the callback that supplies the bytes to send. Its context must outlive the transfer.
    func setSource(_ read: curl_read_callback, _ context: UnsafeMutableRawPointer) throws(CurlFault) {
        try check(skyrow_curl_set_source(handle, read, context))
    }

    /// Sets the callbacks that receive the body and the header lines.
    func setSink(
        _ write: curl_write_callback,
        header: curl_write_callback,
        _ context: UnsafeMutableRawPointer
    ) throws(CurlFault) {
        try check(skyrow_curl_set_sink(handle, write, header, context))
    }

    /// Sets the callback that opens the socket to an address, or refuses to.
    func setOpenSocket(_ open: curl_opensocket_callback, _ context: UnsafeMutableRawPointer) throws(CurlFault) {
        try check(skyrow_curl_set_open_socket(handle, open, context))
    }

    /// Sets the cancellation that ends the transfer. It must outlive the transfer.
    func setCancellation(_ cancellation: CurlCancellation) throws(CurlFault) {
        try set(CURLOPT_NOPROGRESS, 0)
        let progress: curl_xferinfo_callback = { context, _, _, _, _ in
            guard let context else { return 1 }
            // A nonzero result ends the transfer.
            return Unmanaged<CurlCancellation>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }
        let context = Unmanaged.passUnretained(cancellation).toOpaque()
        try check(skyrow_curl_set_progress(handle, progress, context))
    }

    /// Performs the transfer, and blocks until it ends.
    func perform() throws(CurlFault) {
        let code = skyrow_curl_perform(handle)
        guard code == CURLE_OK else { throw .failed(code, response: response) }
    }

    /// The last response code of the server, if any.
    var response: Int? {
        var response = 0
        return skyrow_curl_response_code(handle, &response) == CURLE_OK && response > 0 ? response : nil
    }

    private func check(_ code: CURLcode) throws(CurlFault) {
        guard code == CURLE_OK else { throw .refused(code) }
    }
}

/// The cancellation of a transfer by the task that waits for it.
final class CurlCancellation: Sendable {
    private let flag = Atomic(false)

    /// libcurl reads this several times a second.
    var isCancelled: Bool { flag.load(ordering: .relaxed) }

    /// Runs a transfer on a queue, whose thread it blocks, and cancels it if the waiting task is cancelled.
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
