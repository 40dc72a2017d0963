import CLibcurl
import Glibc
import SkyrowJSON
import Synchronization

/// Why a function server gave no response.
package enum FunctionFault: Error, Hashable, Sendable {
    /// Nothing was sent; the text says why.
    case unreachable(String)
    /// The connection ended before the response was complete, so what the server did is unknown.
    case lost(String)
    /// The time was over, so what the server did is unknown. The connection is closed.
    case late
    /// The response exceeds its bound.
    case tooLarge
    /// The response is not HTTP.
    case unreadable(String)
    case cancelled
}

/// Calls one function server: a POST for each call, on connections that are kept, without redirects and repetition.
///
/// ```swift
/// let body = try await client.response(to: envelope, within: .seconds(10))
/// ```
package struct FunctionServerClient: Sendable {
    package let address: FunctionAddress
    private let signer: WebhookSigner
    private let maximumResponse: Int

    /// Functions have an engine to themselves, so that slow ones take no places of mail and providers. Its bounds are above those of
    /// the calls that a server gets at once.
    private static let engine = TransferEngine(
        TransferEngine.Limits(
            transfers: 40_000,
            transfersOfServer: maximumConcurrency + 64,
            connections: 4096,
            connectionsOfServer: maximumConcurrency + 64
        )
    )

    /// Upper bound on the concurrent calls of a server.
    package static let maximumConcurrency = 1024

    /// Why there can be no calls: libcurl is missing; nil if it is there.
    package static var fault: String? { Libcurl.fault }

    /// - Parameter maximumResponse: Upper bound on the bytes of a response.
    package init(to address: FunctionAddress, signer: WebhookSigner, maximumResponse: Int) {
        self.address = address
        self.signer = signer
        self.maximumResponse = maximumResponse
    }

    /// Sends a body, and returns that of the response with any status.
    ///
    /// The connection is closed when the time is over and when the task is cancelled. Throws ``FunctionFault``.
    ///
    /// - Parameter traceParent: The span that the call belongs to, in the form of W3C Trace Context.
    package func response(
        to body: [UInt8],
        requestID: String? = nil,
        traceParent: String? = nil,
        within time: Duration
    ) async throws(FunctionFault) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let id = "msg_\(Hexadecimal.text(of: [generator.next(), generator.next()]))"
        var fields = signer.fields(id: id, timestamp: Int64(Glibc.time(nil)), body: body)
        if let requestID, requestID.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
            fields.append("x-skygear-request-id: \(requestID)")
        }
        if let traceParent { fields.append("traceparent: \(traceParent)") }
        let transfer = FunctionTransfer(to: address, fields, body, maximumResponse, time)
        do throws(CurlFault) {
            _ = try await Self.engine.perform(transfer)
        } catch {
            throw transfer.fault(error)
        }
        return transfer.response
    }
}

/// The transfer of one call.
private final class FunctionTransfer: Transfer {
    private struct State {
        var response: [UInt8] = []
        /// How many times a request of this transfer was about to be sent.
        var requests = 0
        var isTooLarge = false
    }

    let timeout: Duration
    private let address: FunctionAddress
    private let fields: [String]
    private let body: [UInt8]
    private let maximumResponse: Int
    private let state = Mutex(State())

    init(to address: FunctionAddress, _ fields: [String], _ body: [UInt8], _ maximumResponse: Int, _ timeout: Duration)
    {
        self.address = address
        // Without a wait for 100 Continue.
        self.fields = ["content-type: application/json", "Expect:"] + fields
        self.body = body
        self.maximumResponse = maximumResponse
        self.timeout = timeout
    }

    var response: [UInt8] { state.withLock(\.response) }

    func fault(_ fault: CurlFault) -> FunctionFault {
        let (requests, isTooLarge) = state.withLock { ($0.requests, $0.isTooLarge) }
        if isTooLarge { return .tooLarge }
        switch fault {
        case .cancelled: return .cancelled
        case .failed(CURLE_OPERATION_TIMEDOUT, _): return .late
        case _ where requests == 0: return .unreachable(fault.text)
        case .failed(CURLE_GOT_NOTHING, _), .failed(CURLE_SEND_ERROR, _), .failed(CURLE_RECV_ERROR, _),
            .failed(CURLE_PARTIAL_FILE, _), .failed(CURLE_COULDNT_CONNECT, _), .failed(CURLE_SSL_CONNECT_ERROR, _):
            // libcurl connects again for a request that a kept connection has lost.
            return .lost(fault.text)
        case .failed(CURLE_ABORTED_BY_CALLBACK, _): return .lost("The connection ended without a response")
        case .failed, .refused, .busy, .noThread: return .unreadable(fault.text)
        }
    }

    // MARK: Transfer

    var server: String { address.server }

    func setUp(_ handle: inout CurlHandle) throws(CurlFault) {
        try handle.setUp(address.url, scheme: address.url.hasPrefix("https:") ? "https" : "http")
        if let socket = address.socket { try handle.set(CURLOPT_UNIX_SOCKET_PATH, socket) }
        try handle.set(CURLOPT_USERAGENT, "skyrow")
        // Its connection is closed when a call ends early, which a stream of HTTP/2 would not do.
        try handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try handle.set(CURLOPT_FOLLOWLOCATION, 0)
        // Servers close connections that are idle for longer, 2 s (gunicorn) or 5 s (Node, uvicorn) at the earliest; a call on one that
        // is about to be closed would be lost.
        try handle.set(CURLOPT_MAXAGE_CONN, 1)
        try handle.set(CURLOPT_HTTPHEADER, fields)
        try handle.set(body: body)
    }

    func begins() -> Bool {
        state.withLock { state in
            state.requests += 1
            // A server may have done what the first request says.
            return state.requests == 1
        }
    }

    func receive(_ part: UnsafeRawBufferPointer) -> TransferReceipt {
        state.withLock { state in
            state.isTooLarge = state.response.count + part.count > maximumResponse
            if !state.isTooLarge { state.response += part }
            return state.isTooLarge ? .refused : .taken
        }
    }
}
