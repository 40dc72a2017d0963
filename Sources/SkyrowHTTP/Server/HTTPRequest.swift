package import NIOCore
package import NIOHTTP1
package import SkyrowModel

/// A request that arrived whole.
package struct HTTPRequest: Sendable {
    package var head: HTTPRequestHead
    package var body: ByteBuffer
    package var id: RequestID
    /// The other end of the connection, perhaps a proxy.
    package var peer: Client
    /// When its last byte was read.
    package var arrival: NIODeadline

    package init(
        head: HTTPRequestHead,
        body: ByteBuffer,
        id: RequestID,
        peer: Client,
        arrival: NIODeadline = .now()
    ) {
        self.head = head
        self.body = body
        self.id = id
        self.peer = peer
        self.arrival = arrival
    }
}

/// A response whose bytes are ready.
package struct HTTPResponse: Sendable {
    package var status: HTTPResponseStatus
    /// Further header fields; length, type, date, server and connection are written by the channel.
    package var fields: [HTTPField]
    package var contentType: ContentType
    package var body: ByteBuffer
    /// Whether the connection ends with this response.
    package var endsConnection = false
    /// What counts the memory of the body until it is written; nil for a short one.
    package var account: ResponseAccount?

    package init(
        status: HTTPResponseStatus,
        fields: [HTTPField] = [],
        contentType: ContentType = .json,
        body: ByteBuffer = ByteBuffer()
    ) {
        self.status = status
        self.fields = fields
        self.contentType = contentType
        self.body = body
    }
}

/// One field of a response's head.
///
/// Its line breaks leave as spaces, so that a value can never begin a field of its own.
package struct HTTPField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The value without what could end its line, here or beyond a proxy.
    var plainValue: String {
        func ends(_ byte: UInt8) -> Bool { byte == 10 || byte == 13 || byte == 0 }
        guard value.utf8.contains(where: ends) else { return value }
        return String(decoding: value.utf8.map { ends($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }
}

/// What a response's body is.
package enum ContentType: Hashable, Sendable {
    case json
    case plainText
    /// The text format of Prometheus.
    case prometheus

    var name: String {
        switch self {
        case .json: "application/json"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .plainText: "text/plain; charset=utf-8"
        }
    }

    var field: StaticString {
        switch self {
        case .json: "content-type: application/json\r\n"
        case .prometheus: "content-type: text/plain; version=0.0.4; charset=utf-8\r\n"
        case .plainText: "content-type: text/plain; charset=utf-8\r\n"
        }
    }
}
