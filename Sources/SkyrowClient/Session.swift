public import SkyrowModel
import Synchronization

/// Who is logged in.
public struct Session: Hashable, Sendable {
    public var userID: UserID
    /// A secret: its holder has all rights of the user.
    public var accessToken: String

    public init(userID: UserID, accessToken: String) {
        self.userID = userID
        self.accessToken = accessToken
    }
}

extension Session: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "Session(userID: \(userID), accessToken: <redacted>)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["userID": userID]) }
}

/// Keeps the session of a client, such as in a keychain, so that a user stays logged in between runs.
///
/// Both functions may be called by several tasks at once.
public protocol SessionStorage: Sendable {
    /// The session that was stored last, nil when there is none.
    func load() -> Session?
    /// Stores a session, or takes the stored one away.
    func store(_ session: Session?)
}

/// Keeps the session as long as the program runs.
public final class MemorySessionStorage: SessionStorage {
    private let session: Mutex<Session?>

    public init(_ session: Session? = nil) {
        self.session = Mutex(session)
    }

    /// The session that was stored last.
    public func load() -> Session? {
        session.withLock { $0 }
    }

    /// Stores a session, or takes the stored one away.
    public func store(_ session: Session?) {
        self.session.withLock { $0 = session }
    }
}
