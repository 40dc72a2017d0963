/// The device of a session, as its application names it.
public struct SessionDevice: Hashable, Sendable {
    /// Upper bound on the bytes of an id or a name.
    package static let maximumBytes = 255

    /// The id by which the application recognises the device.
    public var id: String?
    /// The name by which the user recognises the device, such as `Ann's phone`.
    public var name: String?

    public init(id: String? = nil, name: String? = nil) {
        self.id = id
        self.name = name
    }
}

/// The origin of a request.
package struct RequestOrigin: Hashable, Sendable {
    /// The IPv4 or IPv6 address of the client; nil when it came through a Unix socket.
    package var address: String?
    /// At most 255 bytes of the `User-Agent`, without control characters.
    package let userAgent: String?
    /// The id of the request in the log.
    package var requestID: String?

    package init(address: String? = nil, userAgent: String? = nil, requestID: String? = nil) {
        self.address = address
        self.requestID = requestID
        self.userAgent = userAgent.map(RequestOrigin.shortened)
    }

    private static func shortened(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
            count += UTF8.width(scalar)
            guard count <= SessionDevice.maximumBytes else { break }
            result.append(scalar)
        }
        return String(result)
    }
}

/// One of a user's sessions.
public struct AccountSession: Hashable, Sendable {
    /// The id by which `session:revoke` names the session; it is not a credential.
    public var id: String
    public var device: SessionDevice
    /// The address from which it was opened.
    public var address: String?
    /// The `User-Agent` with which it was opened.
    public var userAgent: String?
    public var createdAt: Timestamp
    /// When it was last used, to the minute.
    public var lastUsedAt: Timestamp
    /// When it expires by age; nil means never.
    public var expiresAt: Timestamp?
    /// What opened it: `signup`, `login`, `password`, `reset`, `provider`, `custom_token` or `master`.
    public var createdWith: String?
    /// 1 for a session that was opened with one proof, such as a password; 2 for one with a second factor as well.
    public var level: Int
    /// Whether it is the session of the request.
    public var isCurrent: Bool

    package init(
        id: String,
        device: SessionDevice = SessionDevice(),
        address: String? = nil,
        userAgent: String? = nil,
        createdAt: Timestamp,
        lastUsedAt: Timestamp,
        expiresAt: Timestamp? = nil,
        createdWith: String? = nil,
        level: Int = 1,
        isCurrent: Bool = false
    ) {
        self.id = id
        self.device = device
        self.address = address
        self.userAgent = userAgent
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.createdWith = createdWith
        self.level = level
        self.isCurrent = isCurrent
    }

    /// Upper bound on the listed sessions of a user, the most recently used ones.
    package static let maximumListed = 1000
}

/// How long a proof of identity is valid, and the error that asks for it.
package enum Elevation {
    /// In seconds.
    package static let lifetime: Int64 = 600

    /// `138 StepUpRequired`.
    ///
    /// - Parameter methods: the ways in which the user may prove their identity; empty for an account with only its session.
    package static func required(_ methods: [String]) -> SkyrowError {
        SkyrowError(
            .stepUpRequired,
            methods.isEmpty
                ? "This requires step-up authentication, and the account has no method for it."
                : "This requires step-up authentication: call auth:stepup first.",
            info: ["max_age": .integer(lifetime), "methods": .list(methods.map { .string($0) })]
        )
    }
}

/// A token that opens and resumes one event stream at `GET /live`, where headers cannot be set.
public struct LiveTicket: Hashable, Sendable {
    public var token: String
    /// A minute after it was issued.
    public var expiresAt: Timestamp

    public init(token: String, expiresAt: Timestamp) {
        self.token = token
        self.expiresAt = expiresAt
    }

    /// In seconds.
    package static let lifetime: Int64 = 60
}
