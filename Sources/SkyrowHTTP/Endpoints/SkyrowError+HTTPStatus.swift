import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

extension ErrorCode {
    /// The HTTP status of the v1 envelope: Skygear's table (its SDKs read the status before the body), and Skyrow's from 130.
    var httpStatus: HTTPResponseStatus {
        switch rawValue {
        case 107, 108, 120: .badRequest
        case 101, 103, 104, 105, 106, 137: .unauthorized
        case 102, 123, 124, 127, 128, 138: .forbidden
        case 110, 117: .notFound
        case 109, 113, 114, 115: .conflict
        case 111, 112: .notImplemented
        case 118, 121, 122, 125, 10002: .serviceUnavailable
        case 119: .gatewayTimeout
        case 116: .ok
        case 130, 133: .conflict
        case 131: .tooManyRequests
        case 129, 132: .payloadTooLarge
        case 134: .badRequest
        case 135: .serviceUnavailable
        // 136 must not be 503, for which proxies repeat a request.
        default: .internalServerError
        }
    }
}

extension SkyrowError {
    /// The HTTP status of the v1 envelope: that of the code, but for a full disk, which an operator has to mend (RFC 4918, 11.5), and
    /// for reasons to which tus gives another one.
    var httpStatus: HTTPResponseStatus {
        if let refusal = TusRefusal(self) { return HTTPResponseStatus(statusCode: refusal.status) }
        return isStorageFull ? .insufficientStorage : code.httpStatus
    }

    /// The error for a request that the server channel refuses.
    init(_ fault: HTTPFault, limits: HTTPLimits) {
        switch fault {
        case .malformed:
            self.init(.badRequest, "This is not a valid HTTP/1.1 request.")
        case .headerTooLarge:
            self.init(.badRequest, "The header fields of the request are too large.")
        case .bodyTooLarge:
            self.init(
                .payloadTooLarge,
                "A request body has at most \(limits.body) bytes.",
                info: ["limit": .integer(Int64(limits.body))]
            )
        case .expectationFailed: self.init(.badRequest, "The only supported expectation is 100-continue.")
        case .requestTimeout: self.init(.badRequest, "The request did not arrive completely in time.")
        case .responseTimeout: self = .responseTimedOut
        case .overloaded: self.init(.overloaded, "The service has too many connections; try again in a moment.")
        case .clientShareExceeded:
            self.init(
                .rateLimited,
                "This client has too many connections or too many bytes of requests in progress; finish some first.",
                info: ["retry_after": .integer(1)]
            )
        case .credentialsRequired:
            self.init(
                .notAuthenticated,
                "Send the API key in a header with a body of more than \(limits.smallBody) bytes."
            )
        case .unsupportedTransferCoding:
            self.init(.notSupported, "The only supported transfer coding is chunked.")
        case .unsupportedContentCoding:
            self.init(.notSupported, "Compressed request bodies are not supported: send no Content-Encoding.")
        }
    }
}
