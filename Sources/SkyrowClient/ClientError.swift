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
    /// What kind of failure it is; the set is open, later versions may have more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The server refused the call; `serverError` says why.
        public static let refused = Code(rawValue: "refused")
        /// No response arrived: no connection, a time-out, a proxy without a server behind it.
        ///
        /// A call that changes something may have been carried out all the same.
        public static let noResponse = Code(rawValue: "noResponse")
        /// What came was no response of a Skyrow server.
        public static let invalidResponse = Code(rawValue: "invalidResponse")
        /// The calling task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The transport cannot do what is asked of it.
        public static let unsupported = Code(rawValue: "unsupported")
    }

    public var code: Code
    /// One English sentence.
    public var message: String
    /// What the server said, when it said something.
    public var serverError: SkyrowError?
    /// What the transport reported, when it failed.
    public var underlying: (any Error)?

    public init(_ code: Code, _ message: String, serverError: SkyrowError? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.serverError = serverError
        self.underlying = underlying
    }

    /// The number of the registry when the server refused the call.
    public var serverCode: ErrorCode? { serverError?.code }

    static func refused(_ error: SkyrowError) -> ClientError {
        ClientError(.refused, error.message, serverError: error)
    }
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        serverError?.description ?? message
    }
}
