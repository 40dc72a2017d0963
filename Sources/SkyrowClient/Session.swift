public import SkyrowModel
import Synchronization

/// The logged-in user and their access token.
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

/// The storage of a client's session, such as a keychain, so that a user stays logged in between runs.
///
/// Several tasks may call both methods at once.
public protocol SessionStorage: Sendable {
    /// Returns the stored session; nil without one.
    func load() -> Session?
    /// Stores a session; nil removes the stored one.
    func store(_ session: Session?)
}

/// A storage that keeps the session until the process exits.
public final class MemorySessionStorage: SessionStorage {
    private let session: Mutex<Session?>

    public init(_ session: Session? = nil) {
        self.session = Mutex(session)
    }

    /// Returns the stored session; nil without one.
    public func load() -> Session? {
        session.withLock { $0 }
    }

    /// Stores a session; nil removes the stored one.
    public func store(_ session: Session?) {
        self.session.withLock { $0 = session }
    }
}
