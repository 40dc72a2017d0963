import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The handshake of RFC 6455, 4.2, judged by the head of a request.
enum WebSocketHandshake {
    /// Why a request does not become a WebSocket.
    enum Refusal: Error, Hashable {
        /// The request is not for a WebSocket.
        case none
        /// The request is over HTTP/2, has a method other than GET, or has a body.
        case malformed
        /// The version is not 13, the only one.
        case version
        /// Pages of this origin may not call the service.
        case origin
    }

    /// Whether a request is for a WebSocket.
    static func isAsked(for head: HTTPRequestHead) -> Bool {
        head.headers.contains(name: "upgrade")
            && head.headers[canonicalForm: "upgrade"].contains { String($0).isSameHeader(as: "websocket") }
    }

    /// Checks the head, and returns the subprotocol to agree on, if any.
    static func examine(_ head: HTTPRequestHead, cors: CORSPolicy) throws(Refusal) -> String? {
        guard isAsked(for: head) else { throw .none }
        let headers = head.headers
        guard head.method == .GET, head.version == .http1_1,
            headers[canonicalForm: "connection"].contains(where: { String($0).isSameHeader(as: "upgrade") }),
            isKey(headers["sec-websocket-key"])
        else { throw .malformed }
        guard headers["sec-websocket-version"] == ["13"] else { throw .version }
        let origins = headers["origin"]
        guard origins.count <= 1 else { throw .malformed }
        if let origin = origins.first, !cors.admits(origin: origin, host: headers.first(name: "host")) { throw .origin }
        let offered = headers[canonicalForm: "sec-websocket-protocol"]
        return offered.contains { $0 == subprotocol } ? subprotocol : nil
    }

    /// The only supported subprotocol; a client that offers none gets none.
    static let subprotocol = "jsonrpc"

    /// Whether there is exactly one key, of 16 bytes in base64.
    private static func isKey(_ values: [String]) -> Bool {
        guard values.count == 1, let value = values.first, value.utf8.count == 24, value.hasSuffix("==") else {
            return false
        }
        return value.utf8.dropLast(2).allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
    }

    /// Computes the response to the key only; the head was checked before.
    static let upgrader = NIOWebSocketServerUpgrader(
        shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
        upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
    )
}

extension CORSPolicy {
    /// Whether a page of an origin may open a WebSocket. Browsers send no preflight request for WebSockets, so the server must
    /// check. The service's own pages may.
    func admits(origin: String, host: String?) -> Bool {
        switch self {
        case .anyOrigin: return true
        case .origins(let origins) where origins.contains(origin): return true
        case .off, .origins:
            guard let host, let scheme = origin.firstRange(of: "://") else { return false }
            return origin[scheme.upperBound...].lowercased() == host.lowercased()
        }
    }
}
