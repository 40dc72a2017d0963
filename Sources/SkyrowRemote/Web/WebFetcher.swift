import CLibcurl
import SkyrowJSON
package import SkyrowModel
import Synchronization

/// A document of another service.
package struct WebDocument: Hashable, Sendable {
    package var bytes: [UInt8]
    /// The response's `max-age`, if any.
    package var maximumAge: Duration?
    /// The sender's time in whole seconds since 1970, if stated.
    package var date: Int64?
}

/// A request to another service.
package struct WebRequest: Sendable {
    package var address: WebAddress
    /// Header fields in addition to the usual ones, with values of visible ASCII.
    package var fields: [(name: String, value: String)]
    /// The fields of a form, sent with POST; nil for none.
    package var form: [(name: String, value: String)]?
    /// A JSON text, sent with POST; nil for none. Its type is one of the fields.
    package var json: String?

    package init(
        _ address: WebAddress,
        fields: [(name: String, value: String)] = [],
        form: [(name: String, value: String)]? = nil,
        json: String? = nil
    ) {
        self.address = address
        self.fields = fields
        self.form = form
        self.json = json
    }
}

/// A response of another service, with any status.
package struct WebResponse: Sendable {
    package var status: Int
    package var bytes: [UInt8]
    /// The response's `max-age`, if any.
    package var maximumAge: Duration?
    /// The sender's time in whole seconds since 1970, if stated.
    package var date: Int64?
}

/// Why a document was not fetched, for the operator.
package struct WebFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

extension WebFailure {
    fileprivate static func tooLarge(_ address: WebAddress) -> WebFailure {
        WebFailure("\(address.withoutQuery) is larger than \(WebFetcher.maximumBytes) bytes.")
    }

    fileprivate static func refused(_ address: WebAddress, _ place: String) -> WebFailure {
        WebFailure(
            "\(address.host) is at \(place), which is not a public address; the setting provider-networks can allow it."
        )
    }
}

/// Sends requests to other services: without redirects, cookies and compression, to addresses that a gate admits.
///
/// ```swift
/// let document = try await WebFetcher(timeout: .seconds(5)).document(at: address)
/// ```
package struct WebFetcher: Sendable {
    /// Upper bound on a document's bytes.
    package static let maximumBytes = 262_144

    private let exceptions: [AddressRange]
    private let proxy: WebProxy?
    private let certificates: String?
    private let timeout: Duration
    private let engine: TransferEngine

    private static let engine = TransferEngine()

    /// Throws ``WebFailure`` if libcurl cannot be loaded.
    ///
    /// - Parameters:
    ///   - exceptions: Private networks that requests may be sent to.
    ///   - proxy: The proxy for requests but those to the loopback interface.
    ///   - timeout: The time limit of a transfer.
    package init(exceptions: [AddressRange] = [], proxy: WebProxy? = nil, timeout: Duration) throws(WebFailure) {
        try self.init(exceptions, proxy, nil, timeout, WebFetcher.engine)
    }

    /// Makes a fetcher whose transfers another engine performs.
    ///
    /// - Parameter certificates: A file of certificates in PEM that replace the system's.
    init(
        _ exceptions: [AddressRange],
        _ proxy: WebProxy?,
        _ certificates: String?,
        _ timeout: Duration,
        _ engine: TransferEngine
    ) throws(WebFailure) {
        if let fault = Libcurl.fault {
            throw WebFailure(
                "Fetching documents of providers needs libcurl (libcurl4 in Debian), which could not be loaded: \(fault)"
            )
        }
        self.exceptions = exceptions
        self.proxy = proxy
        self.certificates = certificates
        self.timeout = timeout
        self.engine = engine
    }

    /// Fetches a document. Throws ``WebFailure`` for errors, and for any status but 200.
    package func document(at address: WebAddress) async throws(WebFailure) -> WebDocument {
        let response = try await response(to: WebRequest(address))
        guard response.status == 200 else {
            throw WebFailure("\(address.withoutQuery) responded with the status \(response.status).")
        }
        return WebDocument(bytes: response.bytes, maximumAge: response.maximumAge, date: response.date)
    }

    /// Sends a request, and returns the response with any status. Throws ``WebFailure`` if there is no response, or it
    /// exceeds ``maximumBytes``.
    package func response(to request: WebRequest) async throws(WebFailure) -> WebResponse {
        guard request.fields.allSatisfy({ $0.value.utf8.allSatisfy { (0x20...0x7e).contains($0) } }) else {
            throw WebFailure("A header field for \(request.address.withoutQuery) is not visible ASCII.")
        }
        let gate = AddressGate(exceptions: exceptions, admitsLoopback: request.address.isLoopback)
        let proxy = request.address.isLoopback ? nil : proxy
        // The proxy resolves names, so here only an address itself can be judged.
        if proxy != nil, let refused = request.address.refusal(by: gate) { throw refused }
        let transfer = WebTransfer(request, gate, proxy, certificates, timeout)
        do throws(CurlFault) {
            return try transfer.response(await engine.perform(transfer))
        } catch {
            throw transfer.failure(error)
        }
    }
}

extension WebAddress {
    /// Why a proxy is not asked to connect to the address; nil if it is, also for a host name.
    fileprivate func refusal(by gate: AddressGate) -> WebFailure? {
        if let numeric = ClientAddress(host) { return gate.admits(numeric) ? nil : .refused(self, host) }
        return host == "localhost" || host.hasSuffix(".localhost") ? .refused(self, "the loopback interface") : nil
    }
}

/// The transfer of one request and its response.
private final class WebTransfer: Transfer {
    private struct State {
        var bytes: [UInt8] = []
        var maximumAge: Duration?
        var date: Int64?
        /// The seconds that the response spent in caches.
        var age: Int64 = 0
        var isTooLarge = false
        var refusedAddress: String?
    }

    private let request: WebRequest
    private let gate: AddressGate
    private let proxy: WebProxy?
    private let certificates: String?
    let timeout: Duration
    private let state = Mutex(State())

    private var address: WebAddress { request.address }

    init(_ request: WebRequest, _ gate: AddressGate, _ proxy: WebProxy?, _ certificates: String?, _ timeout: Duration) {
        self.request = request
        self.gate = gate
        self.proxy = proxy
        self.certificates = certificates
        self.timeout = timeout
    }

    func response(_ status: Int?) throws(CurlFault) -> WebResponse {
        guard let status else { throw .failed(CURLE_WEIRD_SERVER_REPLY, response: nil) }
        return state.withLock { state in
            WebResponse(
                status: status,
                bytes: state.bytes,
                maximumAge: state.maximumAge,
                date: state.date.map { $0 + state.age }
            )
        }
    }

    func failure(_ fault: CurlFault) -> WebFailure {
        let (refusedAddress, isTooLarge) = state.withLock { ($0.refusedAddress, $0.isTooLarge) }
        if let refusedAddress { return .refused(address, refusedAddress) }
        if isTooLarge { return .tooLarge(address) }
        switch fault {
        case .failed(CURLE_FILESIZE_EXCEEDED, _): return .tooLarge(address)
        case .failed(_, let response?) where response >= 400:
            return WebFailure(
                "\(address.withoutQuery) could not be fetched: \(fault.text), after the status \(response)."
            )
        case .failed, .cancelled, .busy, .noThread, .refused:
            return WebFailure("\(address.withoutQuery) could not be fetched: \(fault.text).")
        }
    }

    // MARK: Transfer

    var server: String { address.server }

    func setUp(_ handle: inout CurlHandle) throws(CurlFault) {
        try handle.setUp(address.description, scheme: address.isLoopback ? "http" : "https")
        try handle.set(CURLOPT_USERAGENT, "skyrow")
        // The other service would choose a redirect's target.
        try handle.set(CURLOPT_FOLLOWLOCATION, 0)
        try handle.set(CURLOPT_MAXFILESIZE, WebFetcher.maximumBytes)
        try handle.set(CURLOPT_HTTPHEADER, request.fields.map { "\($0.name): \($0.value)" })
        // So a name that moves to another address is followed, however busy its connections are.
        try handle.set(CURLOPT_MAXLIFETIME_CONN, 300)
        // libcurl copies the text.
        if let posted = request.json ?? request.form.map({ WebForm.encoded($0) }) {
            try handle.set(CURLOPT_COPYPOSTFIELDS, posted)
        }
        if let certificates { try handle.set(CURLOPT_CAINFO, certificates) }
        if let proxy {
            try handle.set(CURLOPT_PROXY, proxy.description)
            try handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        }
    }

    func admits(_ address: ClientAddress?) -> Bool {
        if proxy != nil { return true }
        if let address, gate.admits(address) { return true }
        state.withLock { $0.refusedAddress = address?.description ?? "an unknown address" }
        return false
    }

    func receive(_ part: UnsafeRawBufferPointer) -> TransferReceipt {
        state.withLock { state in
            state.isTooLarge = state.bytes.count + part.count > WebFetcher.maximumBytes
            if !state.isTooLarge { state.bytes += part }
            return state.isTooLarge ? .refused : .taken
        }
    }

    func receive(header line: UnsafeRawBufferPointer) {
        let line = String(decoding: line, as: UTF8.self)
        if let age = maximumAge(ofHeader: line) { state.withLock { $0.maximumAge = age } }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = String(line[line.index(after: colon)...].drop { $0.isWhitespace }.prefix { !$0.isNewline })
        switch line[..<colon].lowercased() {
        case "date": if let date = HTTPDate.seconds(value) { state.withLock { $0.date = date } }
        case "age": if let age = Int64(value), (0...31_536_000).contains(age) { state.withLock { $0.age = age } }
        default: break
        }
    }
}

/// Returns the `max-age` of a `Cache-Control` line: zero if the document must not be cached, nil for any other line.
func maximumAge(ofHeader line: String) -> Duration? {
    guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "cache-control" else { return nil }
    var age: Duration?
    for directive in line[line.index(after: colon)...].split(separator: ",") {
        let parts = directive.split(separator: "=", maxSplits: 1).map {
            String($0.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed()).lowercased()
        }
        if parts.first == "no-store" || parts.first == "no-cache" { return .zero }
        if parts.count == 2, parts[0] == "max-age", let seconds = Int64(parts[1]), (0...1_000_000_000).contains(seconds)
        {
            age = .seconds(seconds)
        }
    }
    return age
}
