import CLibcurl
import SkyrowConcurrency
import Synchronization

/// A response of a store.
struct S3Response: Sendable {
    var status = 0
    /// By names in lowercase.
    var fields: [String: String] = [:]
    /// Without those that were passed on.
    var bytes: [UInt8] = []
}

/// The transfer of one request.
///
/// It pauses while the task that reads the response has ``capacity`` unread bytes, and while the next bytes of the body are read.
/// HTTP/1.1 alone: on a connection of HTTP/2 libcurl goes on reading for other transfers, and keeps what arrives for a paused one.
final class S3Transfer: Transfer {
    /// Upper bound on the unread bytes of a response, apart from one buffer of libcurl.
    static let capacity = 128 * 1024
    /// Bytes of the body that are in memory at a time.
    private static let partLength = 128 * 1024
    /// Seconds without a byte after which a transfer fails. libcurl does not count those in which it is paused.
    private static let patience = 30

    private struct State {
        var response = S3Response()
        /// Whether the transfer is paused for its reader.
        var isFull = false
        /// The bytes of the body that are sent next.
        var part: [UInt8] = []
        /// How many of them have been sent.
        var sent = 0
        /// The bytes of the body that have been read.
        var read: Int64 = 0
        var isReading = false
        var hasFailed = false
        var resume: (@Sendable () -> Void)?
    }

    let server: String
    let timeout: Duration
    private let request: S3Request
    private let address: String
    private let fields: [String]
    private let state = Mutex(State())
    /// The bytes of a part of an object.
    private let parts = EventQueue<[UInt8]>()

    init(_ request: S3Request, to bucket: S3Bucket, payload: String, at time: SigningTime, timeout: Duration) {
        self.request = request
        self.timeout = timeout
        server = bucket.host
        let signed = request.signed(for: bucket, payload: payload, at: time)
        address = signed.address
        // Without a wait for 100 Continue, which not all stores send.
        fields = signed.fields.map { "\($0.name): \($0.value)" } + ["Expect:"]
    }

    // MARK: The reader

    /// Returns the next bytes of the response to a request with a range; nil at their end, and if the task is cancelled.
    func next() async -> [UInt8]? {
        guard var part = await parts.next() else { return nil }
        while part.count < Self.capacity, !parts.isEmpty, let more = await parts.next() { part += more }
        let resume = state.withLock { state in
            defer { state.isFull = false }
            return state.isFull ? state.resume : nil
        }
        resume?()
        return part
    }

    /// Ends the parts of the reader, and returns the response.
    func end() -> S3Response {
        parts.finish()
        return state.withLock(\.response)
    }

    // MARK: Transfer

    func setUp(_ handle: inout CurlHandle) throws(CurlFault) {
        try handle.setUp(address, scheme: address.hasPrefix("https:") ? "https" : "http")
        try handle.set(CURLOPT_USERAGENT, "skyrow")
        try handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try handle.set(CURLOPT_FOLLOWLOCATION, 0)
        try handle.set(CURLOPT_BUFFERSIZE, 65_536)
        try handle.set(CURLOPT_CONNECTTIMEOUT, 10)
        try handle.set(CURLOPT_LOW_SPEED_LIMIT, 1)
        try handle.set(CURLOPT_LOW_SPEED_TIME, Self.patience)
        try handle.set(CURLOPT_MAXLIFETIME_CONN, 300)
        try handle.set(CURLOPT_HTTPHEADER, fields)
        switch request.operation.method {
        case "GET": break
        case "HEAD": try handle.set(CURLOPT_NOBODY, 1)
        case "PUT", "POST":
            try handle.set(CURLOPT_UPLOAD, 1)
            try handle.set(CURLOPT_CUSTOMREQUEST, request.operation.method)
            try handle.set(CURLOPT_INFILESIZE_LARGE, Int(request.body?.length ?? 0))
        default: try handle.set(CURLOPT_CUSTOMREQUEST, request.operation.method)
        }
    }

    func prepare(resume: @escaping @Sendable () -> Void) {
        state.withLock { $0.resume = resume }
    }

    func receive(header line: UnsafeRawBufferPointer) {
        let line = String(decoding: line, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            let words = line.split(separator: " ")
            let status = words.count > 1 ? Int(words[1].prefix(3)) ?? 0 : 0
            return state.withLock { $0.response = S3Response(status: status) }
        }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0.isWhitespace }.prefix { !$0.isNewline }
        state.withLock { $0.response.fields[line[..<colon].lowercased()] = String(value) }
    }

    func receive(_ part: UnsafeRawBufferPointer) -> TransferReceipt {
        let isOfObject = request.range != nil && state.withLock { $0.response.status == 206 }
        guard isOfObject else { return collect(part) }
        let bytes = Array(part)
        let isTaken = parts.offer { events in
            guard events.weight < Self.capacity else {
                // While the reader cannot take the last of them, after which it resumes the transfer.
                state.withLock { $0.isFull = true }
                return false
            }
            events.append(bytes, weight: bytes.count)
            return true
        }
        return isTaken ? .taken : .paused
    }

    private func collect(_ part: UnsafeRawBufferPointer) -> TransferReceipt {
        state.withLock { state in
            guard state.response.bytes.count + part.count <= S3XML.maximumBytes else { return .refused }
            state.response.bytes += part
            return .taken
        }
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> TransferSupply {
        guard let body = request.body else { return .bytes(0) }
        let (supply, offset) = state.withLock { state -> (TransferSupply, Int64?) in
            if state.hasFailed { return (.failed, nil) }
            let count = min(buffer.count, state.part.count - state.sent)
            if count > 0 {
                buffer.copyBytes(from: state.part[state.sent..<state.sent + count])
                state.sent += count
                return (.bytes(count), nil)
            }
            if state.read == body.length { return (.bytes(0), nil) }
            if state.isReading { return (.paused, nil) }
            state.isReading = true
            return (.paused, state.read)
        }
        if let offset {
            let count = min(Int64(Self.partLength), body.length - offset)
            body.read(offset, Int(count)) { [weak self] part in self?.supply(part) }
        }
        return supply
    }

    private func supply(_ part: [UInt8]?) {
        let resume = state.withLock { state in
            state.isReading = false
            state.sent = 0
            state.part = part ?? []
            state.read += Int64(state.part.count)
            // A file that has become shorter ends the transfer, too.
            state.hasFailed = state.part.isEmpty
            return state.resume
        }
        resume?()
    }
}
