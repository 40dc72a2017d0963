/// The device that a session belongs to, as its application calls it.
public struct SessionDevice: Hashable, Sendable {
    /// The longest id or name, in bytes.
    package static let maximumBytes = 255

    /// What the application recognises the device by.
    public var id: String?
    /// What its user recognises it by, such as `Ann's phone`.
    public var name: String?

    public init(id: String? = nil, name: String? = nil) {
        self.id = id
        self.name = name
    }
}

/// Where a request comes from.
package struct RequestOrigin: Hashable, Sendable {
    /// The IPv4 or IPv6 address of the client; nil when it came through a Unix socket.
    package var address: String?
    /// At most 255 bytes of the `User-Agent`, without control characters.
    package let userAgent: String?
    /// The id of the request, as in the log.
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
    /// By which `session:revoke` names it; it opens nothing.
    public var id: String
    public var device: SessionDevice
    /// The address that it was opened from.
    public var address: String?
    /// The `User-Agent` that it was opened with.
    public var userAgent: String?
    public var createdAt: Timestamp
    /// When it was last used, to the minute.
    public var lastUsedAt: Timestamp
    /// When it ends by its age; nil means never.
    public var expiresAt: Timestamp?
    /// What opened it: `signup`, `login`, `password`, `reset`, `provider`, `custom_token` or `master`.
    public var createdWith: String?
    /// 1 for a session that was opened with one proof, such as a password; 2 for one with a second factor besides.
    public var level: Int
    /// Whether it is the one of the request that asked.
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

    /// How many of a user's sessions are listed, those used last.
    package static let maximumListed = 1000
}

/// `session:revoke`, decoded.
package enum RevokeSessionsRequest: Hashable, Sendable {
    /// These; an id of no session of the user is passed over.
    case ids([String])
    case all(exceptCurrent: Bool)

    package var endsAll: Bool {
        switch self {
        case .ids: false
        case .all: true
        }
    }
}

/// `auth:become`, decoded.
package struct BecomeRequest: Hashable, Sendable {
    package var token: String

    package init(token: String) {
        self.token = token
    }
}

/// `auth:stepup`, decoded.
package enum StepUpRequest: Hashable, Sendable {
    case password(String)
    /// The id token of a provider by which the user logs in.
    case token(ProviderToken)
    /// Of the second factor.
    case code(String)

    package init(password: String) {
        self = .password(password)
    }

    package init(token: ProviderToken) {
        self = .token(token)
    }
}

/// How long what a user has proved counts, and how it is asked for.
package enum Elevation {
    /// In seconds.
    package static let lifetime: Int64 = 600

    /// `138 StepUpRequired`.
    ///
    /// - Parameter methods: by which the user may prove who it is; none for an account that has nothing but its session.
    package static func required(_ methods: [String]) -> SkyrowError {
        SkyrowError(
            .stepUpRequired,
            methods.isEmpty
                ? "This takes a proof of who you are, and the account has none to ask for."
                : "Prove first who you are: call auth:stepup.",
            info: ["max_age": .integer(lifetime), "methods": .list(methods.map { .string($0) })]
        )
    }
}

/// A token that opens one event stream at `GET /live`, and resumes it, where headers cannot be set.
public struct LiveTicket: Hashable, Sendable {
    public var token: String
    /// A minute after it was given out.
    public var expiresAt: Timestamp

    public init(token: String, expiresAt: Timestamp) {
        self.token = token
        self.expiresAt = expiresAt
    }

    /// In seconds.
    package static let lifetime: Int64 = 60
}
