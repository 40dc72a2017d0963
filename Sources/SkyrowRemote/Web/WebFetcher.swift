import CLibcurl
import Dispatch
import SkyrowJSON
package import SkyrowModel
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

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
    /// The fields of a form, sent with POST; nil for GET.
    package var form: [(name: String, value: String)]?

    package init(
        _ address: WebAddress,
        fields: [(name: String, value: String)] = [],
        form: [(name: String, value: String)]? = nil
    ) {
        self.address = address
        self.fields = fields
        self.form = form
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
}

/// Fetches documents with libcurl: without proxies, redirects, cookies and compression, from addresses that a gate admits.
///
/// ```swift
/// let document = try await WebFetcher(gate: AddressGate()).document(at: address)
/// ```
package struct WebFetcher: Sendable {
    /// Upper bound on a document's bytes.
    package static let maximumBytes = 262_144

    private let exceptions: [AddressRange]
    private let timeout: Duration
    /// Transfers block their threads. The queue is concurrent, so no transfer waits for a slow one.
    private static let threads = DispatchQueue(label: "skyrow.web", attributes: .concurrent)

    /// Throws ``WebFailure`` if libcurl cannot be loaded.
    ///
    /// - Parameters:
    ///   - exceptions: Private networks that documents may be fetched from.
    ///   - timeout: The time limit of a transfer.
    package init(exceptions: [AddressRange] = [], timeout: Duration = .seconds(5)) throws(WebFailure) {
        if let fault = Libcurl.fault {
            throw WebFailure(
                "Fetching documents of providers needs libcurl (libcurl4 in Debian), which could not be loaded: \(fault)"
            )
        }
        self.exceptions = exceptions
        self.timeout = timeout
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
        let transfer = WebTransfer(request, gate, timeout)
        return try await CurlCancellation.transfer(on: WebFetcher.threads) { transfer.run($0) }
    }
}

/// The transfer of one document; `run` blocks.
private final class WebTransfer: Sendable {
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
    private let timeout: Duration
    private let state = Mutex(State())

    private var address: WebAddress { request.address }

    init(_ request: WebRequest, _ gate: AddressGate, _ timeout: Duration) {
        self.request = request
        self.gate = gate
        self.timeout = timeout
    }

    func run(_ cancellation: CurlCancellation) -> Result<WebResponse, WebFailure> {
        var status: Int?
        var fault: CurlFault?
        do throws(CurlFault) {
            let handle = try handle(cancellation)
            // libcurl uses the pointers to these objects only during this call.
            try withExtendedLifetime((self, cancellation)) { () throws(CurlFault) in try handle.perform() }
            status = handle.response
        } catch {
            fault = error
        }
        let state = state.withLock { $0 }
        if let failure = failure(fault, state) { return .failure(failure) }
        guard let status else {
            return .failure(WebFailure("\(address.withoutQuery) responded without a status."))
        }
        return .success(
            WebResponse(
                status: status,
                bytes: state.bytes,
                maximumAge: state.maximumAge,
                date: state.date.map { $0 + state.age }
            )
        )
    }

    private func failure(_ fault: CurlFault?, _ state: State) -> WebFailure? {
        if let refused = state.refusedAddress {
            return WebFailure(
                "\(address.host) is at \(refused), which is not a public address; the setting provider-networks can allow it."
            )
        }
        if state.isTooLarge { return .tooLarge(address) }
        return switch fault {
        case nil: nil
        case .failed(CURLE_FILESIZE_EXCEEDED, _): .tooLarge(address)
        case .failed(let code, _): WebFailure("\(address.withoutQuery) could not be fetched: \(Libcurl.text(code)).")
        case .refused: fault.map { WebFailure($0.text) }
        }
    }

    private func handle(_ cancellation: CurlCancellation) throws(CurlFault) -> CurlHandle {
        var handle = try CurlHandle()
        try handle.setUp(address.description, scheme: address.isLoopback ? "http" : "https", timeout: timeout)
        try handle.set(CURLOPT_USERAGENT, "skyrow")
        // The other service would choose a redirect's target.
        try handle.set(CURLOPT_FOLLOWLOCATION, 0)
        try handle.set(CURLOPT_MAXFILESIZE, WebFetcher.maximumBytes)
        try handle.set(CURLOPT_HTTPHEADER, request.fields.map { "\($0.name): \($0.value)" })
        // libcurl copies the text.
        if let form = request.form { try handle.set(CURLOPT_COPYPOSTFIELDS, WebForm.encoded(form)) }
        try handle.setCancellation(cancellation)
        let context = Unmanaged.passUnretained(self).toOpaque()
        try handle.setSink(
            { buffer, size, count, context in
                guard let buffer, let context else { return 0 }
                let transfer = Unmanaged<WebTransfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.take(UnsafeRawBufferPointer(start: buffer, count: size * count))
            },
            header: { buffer, size, count, context in
                guard let buffer, let context else { return 0 }
                let transfer = Unmanaged<WebTransfer>.fromOpaque(context).takeUnretainedValue()
                transfer.takeHeader(UnsafeRawBufferPointer(start: buffer, count: size * count))
                return size * count
            },
            context
        )
        try handle.setOpenSocket(
            { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                let transfer = Unmanaged<WebTransfer>.fromOpaque(context).takeUnretainedValue()
                guard transfer.admits(address) else { return CURL_SOCKET_BAD }
                return socket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
            },
            context
        )
        return handle
    }

    private func take(_ part: UnsafeRawBufferPointer) -> Int {
        state.withLock { state in
            guard state.bytes.count + part.count <= WebFetcher.maximumBytes else {
                state.isTooLarge = true
                return 0
            }
            state.bytes += part
            return part.count
        }
    }

    private func takeHeader(_ line: UnsafeRawBufferPointer) {
        let line = String(decoding: line, as: UTF8.self)
        if let age = maximumAge(ofHeader: line) { state.withLock { $0.maximumAge = age } }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = String(line[line.index(after: colon)...].drop { $0.isWhitespace }.prefix { !$0.isNewline })
        switch line[..<colon].lowercased() {
        case "date": if let date = HTTPDate.seconds(value) { state.withLock { $0.date = date } }
        case "age":
            if let age = Int64(value), (0...31_536_000).contains(age) { state.withLock { $0.age = age } }
        default: break
        }
    }

    private func admits(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        let text = numericAddress(address)
        guard let text, let numeric = ClientAddress(text), gate.admits(numeric) else {
            state.withLock { $0.refusedAddress = text ?? "an unknown address" }
            return false
        }
        return true
    }
}

/// Returns the address that a socket is about to connect to; nil for another address family.
private func numericAddress(_ address: UnsafeMutablePointer<curl_sockaddr>) -> String? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    // libcurl allocates room for an address of any family after the common prefix.
    let place = UnsafeRawPointer(address).advanced(by: offset)
    // The maximum text length including the terminator (INET6_ADDRSTRLEN).
    var text = [CChar](repeating: 0, count: 46)
    let written: UnsafePointer<CChar>?
    switch address.pointee.family {
    case AF_INET:
        var four = place.loadUnaligned(as: sockaddr_in.self).sin_addr
        written = inet_ntop(AF_INET, &four, &text, socklen_t(text.count))
    case AF_INET6:
        var six = place.loadUnaligned(as: sockaddr_in6.self).sin6_addr
        written = inet_ntop(AF_INET6, &six, &text, socklen_t(text.count))
    default:
        return nil
    }
    guard written != nil else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
