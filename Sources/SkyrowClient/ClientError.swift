public import SkyrowModel

/// Why a call of the client failed.
///
/// ```swift
/// do {
///     try await database.save(draft)
/// } catch where error.serverCode == .conflict {
///     …
/// }
/// ```
public struct ClientError: Error, Sendable {
    /// The kind of failure. The set is open: later versions may add more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The server refused the call; `serverError` has the reason.
        public static let refused = Code(rawValue: "refused")
        /// No response arrived: no connection, a timeout, or a proxy without a server behind it.
        ///
        /// A call that changes data may still have been carried out.
        public static let noResponse = Code(rawValue: "noResponse")
        /// The response is not that of a Skyrow server.
        public static let invalidResponse = Code(rawValue: "invalidResponse")
        /// The calling task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The transport does not support the request.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A file of this device cannot be read or written.
        public static let localFile = Code(rawValue: "localFile")
        /// A file has more bytes than the call accepts.
        public static let tooLarge = Code(rawValue: "tooLarge")
    }

    public var code: Code
    /// One English sentence.
    public var message: String
    /// The error that the server returned, if any.
    public var serverError: SkyrowError?
    /// The error that the transport threw, if any.
    public var underlying: (any Error)?

    public init(_ code: Code, _ message: String, serverError: SkyrowError? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.serverError = serverError
        self.underlying = underlying
    }

    /// The error code when the server refused the call.
    public var serverCode: ErrorCode? { serverError?.code }

    static func refused(_ error: SkyrowError) -> ClientError {
        ClientError(.refused, error.message, serverError: error)
    }

    static func localFile(_ message: String, _ error: (any Error)?) -> ClientError {
        ClientError(.localFile, message, underlying: error)
    }
}

extension ClientError: CustomStringConvertible {
    public var description: String { serverError?.description ?? message }
}
