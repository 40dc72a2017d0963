package import NIOCore
package import NIOHTTP1
package import SkyrowModel
package import SkyrowProtocol

/// A request as its route receives it: with its complete body, or with a stream of the body.
package struct HTTPRequest: Sendable {
    package var head: HTTPRequestHead
    package var body: RequestBody
    package var id: RequestID
    /// The other end of the connection, which may be a proxy.
    package var peer: Client
    /// When the last byte of the request was read; with a streamed body, the last byte of its head.
    package var arrival: NIODeadline = .now()
}

/// A response: a head, and a body of bytes, a stream or a file.
package struct HTTPResponse: Sendable {
    package var status: HTTPResponseStatus
    /// Additional header fields; the channel writes length, type, date, server and connection.
    package var fields: [HTTPField]
    package var contentType: ContentType
    package var body: ResponseBody
    /// How caches may store the response, such as `public, max-age=300`; nil for not at all.
    package var cacheControl: String?
    /// Whether the connection ends with this response.
    package var endsConnection = false
    /// The account of the body's memory until the body is written; nil for a short body.
    package var account: ResponseAccount?
    /// What the connection becomes after this response, which is a 101.
    var upgrade: SocketUpgrade?

    package init(
        status: HTTPResponseStatus,
        fields: [HTTPField] = [],
        contentType: ContentType = .json,
        body: ByteBuffer = ByteBuffer()
    ) {
        self.init(status: status, fields: fields, contentType: contentType, body: .bytes(body))
    }

    package init(status: HTTPResponseStatus, fields: [HTTPField] = [], contentType: ContentType, body: ResponseBody) {
        self.status = status
        self.fields = fields
        self.contentType = contentType
        self.body = body
    }

    /// The body bytes to send for this method; nil when parts follow, for `HEAD`, and for statuses without a body.
    func bytes(for method: HTTPMethod?) -> ByteBuffer? {
        guard case .bytes(let bytes) = body, bytes.readableBytes > 0, hasBody(for: method) else { return nil }
        return bytes
    }

    /// The stream of the parts that follow the head; nil when none do.
    ///
    /// - Parameter sendsFiles: Whether the system may send files with `sendfile`.
    func stream(for method: HTTPMethod?, sendsFiles: Bool) -> ResponseStream? {
        guard hasBody(for: method) else { return nil }
        return switch body {
        case .bytes: nil
        case .stream(let stream): stream
        case .file(let file): file.stream(bySystem: sendsFiles)
        }
    }

    private func hasBody(for method: HTTPMethod?) -> Bool {
        method != .HEAD && status.mayHaveResponseBody
    }
}

/// One header field of a response.
///
/// Line breaks in the value are sent as spaces, so that a value can never start another field.
package struct HTTPField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The value without bytes that could end its line, here or behind a proxy.
    var plainValue: String {
        func ends(_ byte: UInt8) -> Bool { byte == 10 || byte == 13 || byte == 0 }
        guard value.withBytes({ $0.contains(where: ends) }) else { return value }
        return String(decoding: value.utf8.map { ends($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }
}

/// The media type of a response's body.
package enum ContentType: Hashable, Sendable {
    case json
    case plainText
    /// The text format of Prometheus.
    case prometheus
    /// Bytes of unknown type.
    case octets
    case other(String)

    var name: String {
        switch self {
        case .json: "application/json"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .plainText: "text/plain; charset=utf-8"
        case .octets: "application/octet-stream"
        case .other(let name): HTTPField("content-type", name).plainValue
        }
    }
}
