import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

extension HTTPRequestHead {
    /// Converts a header block to the head that HTTP/1.1 would have; nil for a request without a path (`CONNECT`) and for one
    /// that names two hosts.
    init?(_ block: HPACKHeaders) {
        var method: String?
        var path: String?
        var authority: String?
        var hosts: [String] = []
        var fields: [(String, String)] = []
        fields.reserveCapacity(block.count)
        for (name, value, _) in block {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case ":authority": authority = value
            case "host": hosts.append(value)
            default: if !name.hasPrefix(":") { fields.append((name, value)) }
            }
        }
        guard let method, let path, hosts.count <= 1 else { return nil }
        if let host = authority ?? hosts.first { fields.append(("host", host)) }
        self.init(version: .http2, method: HTTPMethod(rawValue: method), uri: path, headers: HTTPHeaders(fields))
    }
}

extension HPACKHeaders {
    /// Whether the fields exceed the limits that the decoder does not check; it checks their total size.
    func exceed(_ limits: HTTPLimits) -> Bool {
        count > limits.headerCount
            || contains { name, value, _ in name.utf8.count + value.utf8.count > limits.headerField }
    }

    /// Creates the head of a response.
    ///
    /// - Parameter date: The whole `date` line of HTTP/1.1.
    init(_ response: HTTPResponse, date: [UInt8]) {
        self.init()
        reserveCapacity(response.fields.count + 7)
        add(name: ":status", value: String(response.status.code), indexing: .indexable)
        if response.status.mayHaveResponseBody {
            let length = response.body.length
            if length != 0 { add(name: "content-type", value: response.contentType.name) }
            if let length { add(name: "content-length", value: String(length), indexing: .nonIndexable) }
        }
        // Without "date: " and the line ending.
        add(name: "date", value: String(decoding: date.dropFirst(6).dropLast(2), as: UTF8.self))
        for field in response.commonFields { add(name: field.name, value: field.value) }
        for field in response.fields {
            add(name: field.name.lowercased(), value: field.plainValue, indexing: .nonIndexable)
        }
    }
}

extension NIOHTTP2Handler.Configuration {
    init(_ limits: HTTPLimits) {
        self.init()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headerList),
            HTTP2Setting(parameter: .initialWindowSize, value: 256 * 1024),
        ]
        connection.targetWindowSize = 1024 * 1024
        stream.targetWindowSize = 256 * 1024
        // A client that resets more of its requests than this is attacking (CVE-2023-44487).
        stream.streamResetFrameRateLimit.maximumCount = limits.resets
        stream.streamResetFrameRateLimit.windowLength = .seconds(30)
    }
}

extension NIOHTTP2Errors {
    /// Whether an error ended one stream only, so that the connection can continue.
    static func isOfOneStream(_ error: any Error) -> Bool {
        switch error {
        case is BadStreamStateTransition, is ContentLengthViolated, is ContentLengthHeadersMismatch,
            is ContentLengthHeaderMalformedValue, is ContentLengthHeaderNegative, is CreatedStreamAfterGoaway,
            is DuplicatePseudoHeader, is EmptyPathHeader, is ForbiddenHeaderField, is InvalidHTTP2HeaderFieldName,
            is InvalidHTTP2HeaderFieldValue, is InvalidPseudoHeaders, is InvalidPseudoHeaderValue,
            is PseudoHeaderAfterRegularHeader, is StreamClosed, is StreamError, is TrailersWithoutEndStream,
            is UnknownPseudoHeader, is UnsupportedPseudoHeader:
            true
        default:
            false
        }
    }
}
